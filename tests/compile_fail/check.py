"""Misuse that must not compile. Each NAME.cc here compiles as it stands (CASE=0); with CASE=N the lines of case N are
added and the compiler must refuse them, with an error that matches the case's 'must not compile: REGEX'."""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def compile_errors(compiler, source, case):
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-DCASE={case}", f"-I{HERE.parents[1]}", str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    return None if run.returncode == 0 else "\n".join(l for l in run.stderr.splitlines() if "error:" in l)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="c++")
    compiler = parser.parse_args().compiler
    failures = checked = 0
    for source in sorted(HERE.glob("*.cc")):
        cases = re.findall(r"CASE == (\d+)\s*// must not compile: (.+)", source.read_text())
        if not cases:
            print(f"{source.name}: names no case")
            failures += 1
        if (errors := compile_errors(compiler, source, 0)) is not None:
            print(f"{source.name}: does not compile as it stands:\n{errors}")
            failures += 1
        for number, expected in cases:
            errors = compile_errors(compiler, source, number)
            checked += 1
            if errors is None:
                print(f"{source.name} case {number}: compiles, but must not")
                failures += 1
            elif not re.search(expected, errors):
                print(f"{source.name} case {number}: refused, but not for '{expected}':\n{errors}")
                failures += 1
    print(f"compile_fail: {checked} cases, {failures} failures")
    return 1 if failures or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
