"""A user's own kernels, outside this repository: installs the build tree into a prefix of its own, then builds and runs
what docs/first-kernel.md shows, block by block, and the example project beside this file.

Usage: check.py --build BUILD_DIR --compiler CXX (install|document|project)

In the document a code block ```LANGUAGE NAME is the file NAME; a console block's lines that begin with $ are run."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(command, cwd, env=None):
    print(f"$ {command}", flush=True)
    subprocess.run(command, shell=True, cwd=cwd, env=env, check=True)


def fresh(directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def code_blocks(markdown):
    """(language, name or '', text) of each fenced block."""
    return re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", markdown, re.M | re.S)


def check_document(work, prefix):
    blocks = code_blocks((ROOT / "docs/first-kernel.md").read_text())
    commands = []
    for language, name, text in blocks:
        if name:
            (work / name).write_text(text)
        elif language == "console":
            commands += [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    if len(commands) < 4:
        sys.exit(f"docs/first-kernel.md: expected at least 4 commands, found {len(commands)}")
    for command in commands:
        run(command.replace("~/tilecheck", str(prefix)), work)


def check_project(work, prefix):
    run(f"cmake -S {HERE} -B . -G Ninja -DCMAKE_PREFIX_PATH={prefix}", work)
    run("cmake --build .", work)
    run("ctest --output-on-failure --no-tests=error", work)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("what", choices=["install", "document", "project"])
    options = parser.parse_args()
    os.environ["CXX"] = options.compiler
    build = options.build.resolve()
    prefix = build / "installed"
    if options.what == "install":
        run(f"cmake --install {build} --prefix {prefix} > install.log", fresh(prefix).parent)
    elif options.what == "document":
        check_document(fresh(build / "first_kernel"), prefix)
    else:
        check_project(fresh(build / "example_project"), prefix)


if __name__ == "__main__":
    main()
