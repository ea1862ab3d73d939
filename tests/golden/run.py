#!/usr/bin/env python3
"""Golden tests of the command: each folder here has `cmd` (lines of arguments) and `expected` (what they print).

  run.py TILECHECK [--update] [CASE...]

A line may end in `> FILE`: what it prints then goes to that file of the temporary folder. Times, thread counts, the
repository's own place and its line numbers are made the same before comparing. stdout and stderr are one text, exit codes stand
after it. Commands run in a temporary folder with the case's other files in it, beside `fixtures`. Without CASE the example in
README.md is checked too.
"""
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
LIMIT_S = 60

REPLACED = [
    (re.compile(r"\d+\.\d\d s\b"), "T s"),
    (re.compile(r"\b\d+ threads?\b"), "N threads"),
    (re.compile(r'"seconds": [0-9.e+-]+'), '"seconds": T'),
    (re.compile(r'"threads": \d+'), '"threads": N'),
    (re.compile(r'time="[0-9.]+"'), 'time="T"'),
    # Kernels move in their files; what is said about them should not.
    (re.compile(r"(?:\.\./)*(kernels/\w+\.\w+):\d+:\d+"), r"\1:L:C"),
    (re.compile(r"^( *)(\d+)(?= \|)", re.MULTILINE), lambda m: m[1] + "L" * len(m[2])),
]


def normalised(text, folder):
    text = text.replace(REPOSITORY + "/", "").replace(folder, ".")
    for pattern, to in REPLACED:
        text = pattern.sub(to, text)
    return text


def run_case(tilecheck, case):
    top = tempfile.mkdtemp()
    folder = os.path.join(top, "case")
    try:
        # A compiler may have been given relative paths; then they are relative to a folder in the repository.
        os.symlink(os.path.join(REPOSITORY, "kernels"), os.path.join(top, "kernels"))
        os.symlink(os.path.join(REPOSITORY, "tests", "fixtures"), os.path.join(top, "fixtures"))
        os.mkdir(folder)
        for name in os.listdir(case):
            if name not in ("cmd", "expected"):
                shutil.copy(os.path.join(case, name), folder)
        out = ""
        environment = dict(os.environ, NO_COLOR="1", LC_ALL="C")
        for line in open(os.path.join(case, "cmd")):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("cat "):
                out += f"$ {line}\n" + open(os.path.join(folder, line[4:])).read()
                continue
            words = shlex.split(line)
            target = words.pop() if len(words) > 1 and words[-2] == ">" else None
            if target:
                words.pop()
            done = subprocess.run([tilecheck] + words, cwd=folder, env=environment, timeout=LIMIT_S, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE if target else subprocess.STDOUT)
            if target:
                open(os.path.join(folder, target), "wb").write(done.stdout)
            printed = (done.stderr if target else done.stdout).decode(errors="replace")
            out += f"$ tilecheck {line}\n{printed}exit {done.returncode}\n"
        return normalised(out, folder)
    finally:
        shutil.rmtree(top)


def readme_faults(tilecheck):
    """Where the first block of README.md differs from what its commands print; a line `...` there stands for any lines."""
    block = open(os.path.join(REPOSITORY, "README.md")).read().split("```\n")[1]
    for part in block.split("$ tilecheck ")[1:]:
        command, shown = part.split("\n", 1)
        words = shlex.split(command, comments=True)
        done = subprocess.run([tilecheck] + words, cwd=REPOSITORY, env=dict(os.environ, NO_COLOR="1"), text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        got = normalised(done.stdout, REPOSITORY)
        pieces = [p.strip("\n") for p in re.split(r"^\.\.\.$", normalised(shown, REPOSITORY), flags=re.M)]
        if not re.fullmatch(r"(?:.*\n)*".join(re.escape(p + "\n") if p else "" for p in pieces), got):
            yield f"FAIL README.md: `tilecheck {command}` prints\n{done.stdout}"


def main():
    update = "--update" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if not arguments:
        sys.exit(__doc__)
    tilecheck = os.path.abspath(arguments[0])
    cases = arguments[1:] or sorted(n for n in os.listdir(HERE) if os.path.exists(os.path.join(HERE, n, "cmd")))
    failed = 0
    for name in cases:
        case = os.path.join(HERE, name)
        got = run_case(tilecheck, case)
        path = os.path.join(case, "expected")
        expected = open(path).read() if os.path.exists(path) else ""
        if got == expected:
            continue
        if update:
            open(path, "w").write(got)
            print("written", name)
            continue
        failed += 1
        print(f"FAIL {name}   (tests/golden/run.py {arguments[0]} --update {name} takes the new text)")
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), "expected", "got"))
    if not arguments[1:]:
        for fault in readme_faults(tilecheck):
            failed += 1
            print(fault)
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
