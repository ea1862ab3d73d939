"""The Python package as a user gets it: a wheel of tools/python, installed into an environment of its own, and used there.

Usage: check.py --build BUILD_DIR --compiler CXX      (run by a Python that has what tools/python/requirements-test.txt names)

The wheel is made as `pip install ./tools/python` makes it, but of the library and the command that BUILD_DIR has already.
That the package can also build them is checked as far as the plan of such a build goes: nothing is compiled twice."""

import argparse
import os
import pathlib
import shutil
import site
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tools/python"

PROGRAM = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl

def relu(x_ref, o_ref):
    o_ref[...] = jnp.maximum(2 * x_ref[...] + 1, 0)

x = jnp.arange(-512.0, 512.0).reshape(8, 128)
y = pl.pallas_call(relu, out_shape=jax.ShapeDtypeStruct.like(x))(x)
assert (y == jnp.maximum(2 * x + 1, 0)).all()
print("ran on", jax.devices()[0].device_kind)
"""
SUITE = "def test_relu():\n" + "".join(f"    {line}\n" for line in PROGRAM.strip().splitlines())
CHECK = """
import importlib.metadata, pathlib, sys, tilecheck
assert pathlib.Path(tilecheck.__file__).is_relative_to(sys.prefix), tilecheck.__file__
assert importlib.metadata.version("tilecheck") == tilecheck.__version__
print(tilecheck.__version__)
"""


def run(command, cwd, **more):
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nexit code {done.returncode}")
    return done.stdout


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"expected {part!r} in:\n{text}")


def make_wheel(work, build):
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", work,
         "-C", f"build-dir={work / 'wheel_build'}", "-C", "build.targets=all", "-C", f"cmake.define.TILECHECK_BUILT={build}", PACKAGE], work)
    (wheel,) = work.glob("*.whl")
    return wheel


def check_contents(wheel):
    """The sources, the library and the command; nothing else."""
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    sources = {str(p.relative_to(PACKAGE / "src")) for p in (PACKAGE / "src").rglob("*.py")}
    scripts = {n for n in names if n.endswith(".data/scripts/tilecheck")}
    if len(scripts) != 1 or names - scripts != sources | {"tilecheck/libtilecheck_python.so"}:
        sys.exit(f"{wheel.name} holds {sorted(names)}")


def check_plan(work, compiler):
    """What `pip install ./tools/python` configures has the targets that pyproject.toml asks for."""
    plan = work / "plan"
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", plan, "-DSKBUILD=ON", "-DSKBUILD_SCRIPTS_DIR=scripts", f"-DCMAKE_CXX_COMPILER={compiler}",
         "-DCMAKE_BUILD_TYPE=Release", "-DTILECHECK_TESTS=OFF", "-DTILECHECK_BENCHMARKS=OFF", f"-DPython3_EXECUTABLE={sys.executable}"], work)
    steps = run(["ninja", "-C", plan, "-t", "commands", "tilecheck_python", "tilecheck_command"], work)
    expect(steps, "ffi_handler.cc", "lib/libtilecheck_python.so", "bin/tilecheck")
    if "/tests/" in steps:
        sys.exit("the package's build compiles tests")


def environment(work, wheel):
    """A fresh environment with the wheel; what it depends on is lent by this Python's."""
    run([sys.executable, "-m", "venv", "--without-pip", work / "venv"], work)
    python = work / "venv/bin/python"
    (packages,) = (work / "venv").glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel], work)
    return python


def check_use(work, python):
    (work / "program.py").write_text(PROGRAM)
    (work / "test_suite.py").write_text(SUITE)
    command = python.with_name("tilecheck")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TILECHECK_", "PYTHON"))}
    clean |= {"JAX_PLATFORMS": "cpu", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    version = run([python, "-c", CHECK], work, env=clean).strip()
    expect(run([command, "--version"], work, env=clean), version)
    expect(run([command, "exec", "--target", "v6e", "--", "python", "program.py"], work, env=clean),
           "ran on TPU v6 lite", "tilecheck: 1 kernels, 1 calls")
    expect(run([python, "-m", "pytest", "-q", "--tilecheck", "--tilecheck-target", "v5p", "test_suite.py"], work, env=clean),
           "1 passed", "1 kernels, 1 calls")
    # The package's own tests, of those that start where a user does; all of them run on the sources (CTest's `python`).
    tests = PACKAGE / "tests"
    print(run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests / "test_analysis.py",
               f"{tests / 'test_exec.py'}::test_the_command_finds_the_package"], work, env=clean).strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="c++")
    options = parser.parse_args()
    build = options.build.resolve()
    work = build / "python_package"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    wheel = make_wheel(work, build)
    check_contents(wheel)
    check_use(work, environment(work, wheel))
    check_plan(work, options.compiler)


if __name__ == "__main__":
    main()
