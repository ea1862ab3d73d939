"""tilecheck exec [OPTION]... -- PROGRAM [ARGUMENT]...: a program whose Pallas kernels run in the simulator, unchanged.

The program is started with TILECHECK_* variables and a sitecustomize of ours in front; each Python in it writes what its
kernels reported when it ends, and the parent sums up."""

import argparse
import atexit
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tilecheck import _native, _options, _report, _summary

FOLDER = "TILECHECK_EXEC"  # where each process writes its reports
SEVERITIES = ("note", "warning", "error")


def parse(arguments):
    dashes = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser("tilecheck exec", usage="tilecheck exec [OPTION]... -- PROGRAM [ARGUMENT]...")
    for name in _options.DEFAULTS:
        parser.add_argument("--" + name.replace("_", "-"))
    parser.add_argument("--take-over-interpret", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--sarif", type=pathlib.Path)
    parser.add_argument("-q", "--quiet", action="store_true")
    options = parser.parse_args(arguments[:dashes])
    if not arguments[dashes + 1:]:
        parser.error("expected `--` and a program, such as: -- python train.py")
    return options, arguments[dashes + 1:]


def main(arguments):
    options, program = parse(arguments)
    try:
        given = _options.with_project_defaults(".", {n: v for n in _options.DEFAULTS if (v := getattr(options, n)) is not None})
        if options.take_over_interpret:
            given[_options.TAKE_OVER] = True
        _options.take_over_interpret(given.get(_options.TAKE_OVER))
        resolved = _options.resolve({n: v for n, v in given.items() if n in _options.DEFAULTS})
        reply = _native.call("check_options", json.dumps(resolved).encode())
        _report.raise_for(reply["status"], reply["message"])
    except (ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory(prefix="tilecheck-") as folder:
        environment = os.environ | {f"TILECHECK_{name.upper()}": str(value) for name, value in given.items()}
        environment[FOLDER] = folder
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(here / "_autostart"), os.environ.get("PYTHONPATH")]))
        environment.setdefault("JAX_PLATFORMS", "cpu")
        try:
            process = subprocess.Popen(program, env=environment)
        except OSError as error:
            print(f"error: {program[0]}: {error.strerror}", file=sys.stderr)
            return 2
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:  # the program got it too, and ends as it likes
                pass
        told = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
    return finish(options, resolved, code, told)


def finish(options, resolved, code, told):
    """Prints and writes what the processes told; the exit code."""
    kernels = [(None, kernel) for one in told for kernel in _report.report_of(one["reports"]).kernels]
    if not options.quiet:
        # A suppression is needed if any process needed it.
        unused = [u for u in told[0]["unused"] if all(u in one["unused"] for one in told)] if told else []
        for line in _summary.lines(kernels, unused):
            print(f"tilecheck: {line}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps({"schema": 1, "runs": [k.data for _, k in kernels]}, indent=1) + "\n")
    if options.sarif:
        options.sarif.write_text(merged_sarif([one["sarif"] for one in told]))
    if code != 0:
        return 128 - code if code < 0 else code
    worst = max((SEVERITIES.index(f["severity"]) for _, k in kernels for f in k.findings), default=-1)
    if any(k.verdict == "incomplete" for _, k in kernels):
        return 3
    return int(worst >= SEVERITIES.index(resolved["error_on"]))


def merged_sarif(texts):
    logs = [json.loads(text) for text in texts]
    if not logs:
        return _native.text("sarif", 0)
    for other in logs[1:]:
        logs[0]["runs"] += other["runs"]
    return json.dumps(logs[0], indent=1) + "\n"


def start():
    """In the program, once JAX is there."""
    from tilecheck import jax as door

    door.enable()
    atexit.register(tell, pathlib.Path(os.environ[FOLDER]) / f"{os.getpid()}.json")


def tell(path):
    told = {"reports": _native.call("reports", 0), "unused": _native.call("unused_suppressions"), "sarif": _native.text("sarif", 0)}
    path.write_text(json.dumps(told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
