"""Runs every example that `tilecheck --help` and `tilecheck COMMAND --help` show. Usage: examples.py TILECHECK

The files that the examples name are made beforehand in a temporary folder. An example that is bad input (exit code 2) is a
wrong example. Standard library only.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")
MIN_EXAMPLES = 35  # fewer: they are no longer found


def write_npy(path, shape):
    count = 1
    for extent in shape:
        count *= extent
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s)}" % "".join(f"{d}," for d in shape)
    header = header.ljust(117) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<f", 0.25) * count)


def make_files(tilecheck, folder):
    module = os.path.join(FIXTURES, "relu_2x_plus_1", "module.mlir")
    for name in ("module.mlir", "before.mlir", "after.mlir"):
        shutil.copy(module, os.path.join(folder, name))
    os.makedirs(os.path.join(folder, "kernels"))
    shutil.copy(module, os.path.join(folder, "kernels", "relu.mlir"))
    os.makedirs(os.path.join(folder, "captures"))
    shutil.copytree(os.path.join(FIXTURES, "relu_2x_plus_1"), os.path.join(folder, "captures", "dma_in_out"))
    os.makedirs(os.path.join(folder, ".zfunc"))
    os.makedirs(os.path.join(folder, ".config", "fish", "completions"))
    with open(os.path.join(folder, "my-chip.json"), "w") as out:
        out.write('{"name": "my-chip", "based_on": "v6e"}\n')
    write_npy(os.path.join(folder, "x.npy"), (1024,))
    for name in "qkv":
        write_npy(os.path.join(folder, name + ".npy"), (1, 2, 1024, 128))
    with open(os.path.join(folder, "body.mlirbc"), "wb") as out:
        out.write(subprocess.run([tilecheck, "inspect", module, "--raw"], stdout=subprocess.PIPE, check=True).stdout)


def examples(text):
    """The commands below `Example:` or `Examples:`, without the comments beside them."""
    found = re.search(r"^Examples?:\n((?:  .*\n?)+)", text, re.M)
    return [re.split(r" {3,}", line.strip())[0] for line in found[1].splitlines()] if found else []


def main():
    tilecheck = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp()
    try:
        make_files(tilecheck, folder)
        bin_folder = os.path.join(folder, "bin")
        os.makedirs(bin_folder)
        os.symlink(tilecheck, os.path.join(bin_folder, "tilecheck"))
        environment = dict(os.environ, HOME=folder, NO_COLOR="1", PATH=bin_folder + ":" + os.environ["PATH"])

        def run(command):
            return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)

        top = run("tilecheck --help").stdout
        names = re.findall(r"^  (\w+) ", top.split("Subcommands:")[1].split("Examples:")[0], re.M)
        tried, failed = 0, 0
        for text in [top] + [run(f"tilecheck {name} --help").stdout for name in names]:
            for command in examples(text):
                if command.startswith("tilecheck exec "):  # the Python package's own tests run those
                    continue
                tried += 1
                done = run(command)
                if done.returncode in (0, 1, 3):
                    continue
                failed += 1
                print(f"FAIL {command}\nexit {done.returncode}\n{done.stdout}")
        print(f"{tried} examples, {failed} failed")
        return 1 if failed or tried < MIN_EXAMPLES else 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
