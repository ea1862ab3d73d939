"""tilecheck exec: a program that knows nothing of Tilecheck."""

import json
import os
import subprocess
import sys

import pytest

from package import INSTALLED_COMMAND, ROOT, environment

PROGRAM = """
import os, sys
sys.path.insert(0, os.environ["FIXTURES"])
import jax
jax.config.update("jax_num_cpu_devices", 2)      # refused once a backend has started
import defects, kernels
from fixture import FIXTURES
for name in sys.argv[1:]:
    f = FIXTURES[name]
    jax.block_until_ready(f.call(*f.operands))
print("ran on", jax.devices()[0].device_kind, len(jax.devices()))
"""


def run(tmp_path, *words, command=(sys.executable, "-m", "tilecheck._exec"), **more):
    (tmp_path / "program.py").write_text(PROGRAM)
    own = environment(FIXTURES=str(ROOT / "tests/fixtures"), **more)
    own.pop("XLA_FLAGS", None)
    return subprocess.run([*command, *words], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=200)


def program(*fixtures):
    return "--", sys.executable, "program.py", *fixtures


def test_a_clean_program(tmp_path):
    done = run(tmp_path, "--target", "v6e", *program("relu_2x_plus_1"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran on TPU v6 lite 2\n"
    assert "tilecheck: 1 kernels, 1 calls" in done.stderr


def test_a_finding_ends_the_program_or_is_collected(tmp_path):
    done = run(tmp_path, *program("store_into_source"))
    assert done.returncode == 1 and "JaxRuntimeError" in done.stderr and "defects.py" in done.stderr
    done = run(tmp_path, "--on-finding", "collect", "--json", "out.json", "--sarif", "out.sarif",
               *program("store_into_source", "relu_2x_plus_1"))
    assert done.returncode == 1 and done.stdout == "ran on TPU v5 lite 2\n"
    assert "tilecheck: error race: 1 in 1 kernels, first store_into_source" in done.stderr
    runs = json.loads((tmp_path / "out.json").read_text())["runs"]
    assert [r["verdict"] for r in runs] == ["findings", "clean"]
    assert [r["ruleId"] for r in json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]] == ["race"]


def test_the_environment_and_the_project_file_hold_defaults(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.tilecheck]\ntarget = "v4"\n')
    assert run(tmp_path, "-q", *program()).stdout == "ran on TPU v4 2\n"
    assert run(tmp_path, "-q", "--target", "v5p", *program()).stdout == "ran on TPU v5 2\n"
    assert run(tmp_path, "-q", *program(), TILECHECK_TARGET="v6e").stdout == "ran on TPU v6 lite 2\n"
    (tmp_path / "pyproject.toml").unlink()
    assert run(tmp_path, "-q", *program(), TILECHECK_TARGET="v6e").stdout == "ran on TPU v6 lite 2\n"


def test_exploring_schedules(tmp_path):
    done = run(tmp_path, "--schedule", "explore", "--budget", "2s", "--on-finding", "collect", "--json", "out.json",
               *program("store_into_source", "dma_double_buffer"))
    assert done.returncode == 1, done.stderr
    broken, right = json.loads((tmp_path / "out.json").read_text())["runs"]
    assert broken["verdict"] == "findings" and broken["exploration"]["runs"] >= 1
    assert right["verdict"] == "clean" and right["exploration"]["runs"] >= 1


@pytest.mark.parametrize("words, message", [
    (["--target", "v99", "--", "true"], "v99"),
    (["--seed", "x", "--", "true"], "whole number"),
    (["--budget", "soon", "--", "true"], "10s"),
    (["--threads", "0", "--", "true"], "at least 1"),
    (["--", "no-such-program"], "no-such-program"),
    (["--target", "v5e"], "expected `--`"),
])
def test_bad_input(tmp_path, words, message):
    done = run(tmp_path, *words)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_command_finds_the_package(tmp_path):
    command = os.environ.get("TILECHECK_COMMAND") or INSTALLED_COMMAND
    if not os.path.exists(command):
        pytest.skip("TILECHECK_COMMAND does not say where the command is")
    done = run(tmp_path, "exec", "--target", "v6e", *program("relu_2x_plus_1"), command=(command,))
    assert done.returncode == 0 and done.stdout == "ran on TPU v6 lite 2\n", done.stderr
    done = run(tmp_path, "exec", "--targt", "v6e", *program(), command=(command,))
    assert done.returncode == 2 and "did you mean '--target'" in done.stderr
