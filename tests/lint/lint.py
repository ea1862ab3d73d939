"""Holds the repository to its own rules. Usage: lint.py [ROOT]

Checked on every file that git would commit: includes follow the layers of CMakeLists.txt, a comment opens each source
file, no absolute path, no registry host, no generated or binary file that is not named here, clang-format (when it is
installed). Long files are only warned about. Standard library only.
"""

import pathlib
import re
import shutil
import subprocess
import sys

MAX_FILE_BYTES = 512 * 1024
LONG_FILE_LINES = 400

# Folders that stand above all layers: they may include anything.
UNLAYERED = ("tools/", "tests/")
CPP = (".h", ".cc", ".inc")
# A path outside the repository on somebody's machine. System headers and /dev, /proc, /usr/bin/env are not.
ABSOLUTE_PATH = re.compile(r"(?<![\w./$}~-])/(?:work|root|home|tmp|opt|Users|mnt|srv)/[\w.-]")
REGISTRY_HOST = re.compile(r"\b(?:[\w-]+\.)*(?:pypi\.org|pythonhosted\.org|deb\.debian\.org|debian\.org/debian|conda\.anaconda\.org|registry\.npmjs\.org)\b")
GENERATED = re.compile(r"(^|/)(build[^/]*|__pycache__|CMakeFiles|\.cache)/|\.(o|a|so|pyc|gcda|gcno|log)$|(^|/)(CMakeCache\.txt|compile_commands\.json)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
FOLDER = re.compile(r"tilecheck_folder\(([^)]*)\)", re.S)


def layers(cmake_text):
    """{folder: folders it may include}, from the tilecheck_folder lines; names are in order, lowest first."""
    allowed = {}
    for body in FOLDER.findall(cmake_text):
        words = body.split()
        deps = []
        for word in words[words.index("DEPS") + 1:] if "DEPS" in words else []:
            if word == "PRIVATE":
                break
            deps.append(word)
        allowed[words[0]] = deps
    return allowed


def check_layers(allowed):
    """The list itself: each folder names only folders above it."""
    seen = set()
    for folder, deps in allowed.items():
        for dep in deps:
            if dep not in seen:
                yield f"CMakeLists.txt: {folder} names {dep}, which does not stand above it"
        seen.add(folder)


def folder_of(path, allowed):
    return next((f for f in sorted(allowed, key=len, reverse=True) if path.startswith(f + "/")), None)


def check_includes(path, text, allowed):
    folder = folder_of(path, allowed)
    if folder is None:
        if not path.startswith(UNLAYERED):
            yield f"{path}: its folder is not in CMakeLists.txt"
        return
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        target = folder_of(match[1], allowed)
        if target is None:
            yield f'{path}:{line}: "{match[1]}" is not a path from the root into a folder of CMakeLists.txt'
        elif target != folder and target not in allowed[folder]:
            yield f"{path}:{line}: {folder} may not include {target} (CMakeLists.txt gives it {', '.join(allowed[folder]) or 'nothing'})"


def check_header(path, text, has_header):
    """A .h, .inc or .py says what it is; so does a .cc whose header does not, tests aside."""
    lines = text.splitlines()
    if path.endswith(".py"):
        first = next((l for l in lines if not l.startswith("#!")), "")
        if not first.startswith(('"""', 'r"""', "#")):
            yield f"{path}:1: does not begin with a docstring that says what it is"
    elif path.endswith(CPP):
        excused = path.endswith(".cc") and (has_header or path.endswith("_test.cc"))
        if not excused and not (lines and lines[0].startswith("//")):
            yield f"{path}:1: does not begin with a comment that says what it is"
        # Highway's per-target headers are read once for each instruction set.
        if path.endswith(".h") and "#pragma once" not in lines and "HWY_TARGET_TOGGLE" not in text and "foreach_target.h" not in text:
            yield f"{path}:1: no #pragma once"


def check_text(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if match := ABSOLUTE_PATH.search(line):
            yield f"{path}:{number}: absolute path {match[0]}..."
        if match := REGISTRY_HOST.search(line):
            yield f"{path}:{number}: names a package registry's host ({match[0]})"
        if "\t" in line and path.endswith(CPP + (".py",)):
            yield f"{path}:{number}: tab"


def check_file(path, data, allowed, has_header=False):
    """Every fault of one file, as 'path:line: what'. has_header: a .h of the same name stands beside it."""
    if GENERATED.search(path):
        yield f"{path}: a generated file"
        return
    if len(data) > MAX_FILE_BYTES:
        yield f"{path}: {len(data)} bytes; at most {MAX_FILE_BYTES}"
    if path.startswith("tests/fuzz/corpus/"):
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if not path.startswith("tests/fixtures/"):
            yield f"{path}: not text (binary fixtures belong in tests/fixtures)"
        return
    yield from check_text(path, text)
    yield from check_header(path, text, has_header)
    if path.endswith(CPP):
        yield from check_includes(path, text, allowed)


def clang_format_faults(root, paths):
    tool = next((t for t in ("clang-format-14", "clang-format") if shutil.which(t)), None)
    if tool is None:
        print("lint: clang-format is not installed: formatting not checked")
        return
    if " 14." not in subprocess.run([tool, "--version"], capture_output=True, text=True).stdout:
        print(f"lint: {tool} is not version 14: formatting not checked")
        return
    run = subprocess.run([tool, "--dry-run", "--Werror", *paths], cwd=root, capture_output=True, text=True)
    for path in sorted({l.split(":")[0] for l in run.stderr.splitlines() if "error:" in l}):
        yield f"{path}: not formatted (clang-format -i {path})"


def repository_files(root):
    """What git would commit; without git, in an unpacked archive, whatever does not look generated."""
    if shutil.which("git"):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if listed.returncode == 0:
            return [p for p in listed.stdout.split("\0") if p and (root / p).is_file()]
    found = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return [p for p in found if not GENERATED.search(p) and not p.startswith(".git/")]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    paths = repository_files(root)
    allowed = layers((root / "CMakeLists.txt").read_text())
    faults = list(check_layers(allowed))
    for path in paths:
        data = (root / path).read_bytes()
        faults += check_file(path, data, allowed, has_header=(root / path).with_suffix(".h").exists())
        if path.endswith(CPP) and not path.endswith(".inc") and (lines := data.count(b"\n")) > LONG_FILE_LINES:
            print(f"lint: warning: {path} has {lines} lines: is it one noun?")
    faults += clang_format_faults(root, [p for p in paths if p.endswith((".h", ".cc"))])
    for fault in faults:
        print(fault)
    print(f"lint: {len(paths)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
