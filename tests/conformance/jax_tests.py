"""Runs JAX's own TPU-only Pallas tests on this CPU, each kernel through Tilecheck, and counts them by cause.

  git clone --branch jax-v0.10.2 --depth 1 URL_OF_JAX checkout        (the version that is installed)
  python tests/conformance/jax_tests.py checkout [--only FILE,...] [-k EXPRESSION] [--every N] [--out results.json]

The Python must have jax, pytest, absl-py, hypothesis and tilecheck (or PYTHONPATH and TILECHECK_LIBRARY set). One process
per file, with bounded memory and time; when one dies, the test that killed it is counted and the rest go on.

refused: the test expects an error of the TPU compiler, and Tilecheck has a finding, in other words. rounding: a result is
off by a few roundings, more than the test allows: XLA's own sum, which it compares with, adds in another order."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FILES = """tpu_pallas_test tpu_pallas_pipeline_test tpu_pallas_async_test tpu_pallas_distributed_test tpu_ops_test ops_test
pallas_test indexing_test tpu_pallas_memory_space_test tpu_pallas_state_test tpu_all_gather_test tpu_gmm_test
tpu_paged_attention_kernel_test tpu_ragged_paged_attention_test tpu_splash_attention_kernel_test
tpu_splash_attention_kernel_sharded_test tpu_fusible_matmul_test tpu_fusible_matmul_with_stateful_fusions_test
tpu_side_effects_test pallas_vmap_test""".split()
DEVICES = {"tpu_pallas_async_test": 8, "tpu_pallas_distributed_test": 4, "tpu_all_gather_test": 4, "tpu_splash_attention_kernel_sharded_test": 4}


def read_results(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def limit_memory(gib):
    def set_limit():
        resource.setrlimit(resource.RLIMIT_AS, (gib << 30, gib << 30))

    return set_limit


def run_file(name, shard, options):
    """All results of one test file (or of each SHARDS-th test in it), restarting after a test that killed the process or
    hung."""
    test = options.checkout / "tests/pallas" / f"{name}.py"
    with tempfile.TemporaryDirectory() as scratch:
        results, done_list = pathlib.Path(scratch) / "results", pathlib.Path(scratch) / "done"
        kept = {e["test"] for e in options.kept.get(name, [])}
        done = {}
        for _ in range(options.restarts):
            left = options.deadline - time.monotonic()
            if left <= 0:
                break
            done_list.write_text("\n".join(kept | set(done)))
            environment = os.environ | {
                "JAX_PLATFORMS": "cpu",
                # Each operation rounds, as it does in a kernel.
                "XLA_FLAGS": f"--xla_allow_excess_precision=false --xla_force_host_platform_device_count={DEVICES.get(name, 1)}",
                "TILECHECK_JAX_CHECKOUT": str(options.checkout),
                "TILECHECK_RESULTS": str(results),
                "TILECHECK_DONE": str(done_list),
                "TILECHECK_EVERY": str(options.every),
                "TILECHECK_SHARD": f"{shard}/{options.shards}",
                "TILECHECK_TEST_SECONDS": str(options.test_seconds),
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            command = [sys.executable, "-m", "pytest", "-q", "-p", "jax_plugin", "-p", "no:cacheprovider", "--no-header",
                       "--rootdir", str(options.checkout), "-W", "ignore", str(test)]
            if options.expression:
                command += ["-k", options.expression]
            try:
                run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     timeout=min(options.timeout, left), preexec_fn=limit_memory(options.memory_gib))
                ended, output = f"exit {run.returncode}", run.stdout
            except subprocess.TimeoutExpired as expired:
                ended, output = "hang", (expired.stdout or b"").decode(errors="replace")
            before = len(done)
            started = None
            for entry in read_results(results):
                if entry["outcome"] == "started":
                    started = entry["test"]
                else:
                    done[entry["test"]] = entry
                    started = None if started == entry["test"] else started
            if ended in ("exit 0", "exit 1", "exit 5") or time.monotonic() >= options.deadline:
                break
            if started is not None:
                cause = f"over {options.test_seconds} s" if ended == "exit 3" else f"process ended: {ended}"
                done[started] = {"test": started, "outcome": "failed", "cause": cause}
            elif len(done) == before:
                done[name] = {"test": name, "outcome": "failed", "cause": f"{ended}: {output.strip().splitlines()[-1:]}"}
                break
        return list(done.values())


def group_of(cause):
    """Causes that differ in numbers alone are one."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", cause)[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--only", help="files, separated by commas")
    parser.add_argument("-k", dest="expression", default="", help="as pytest's -k")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of cases that differ in numbers alone, each N-th")
    parser.add_argument("--memory-gib", type=int, default=16, help="address space of each process")
    parser.add_argument("--test-seconds", type=int, default=120, help="for one test")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one process")
    parser.add_argument("--shards", type=int, default=1, metavar="N", help="processes that share one file's tests")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for everything; what has not run by then is left out")
    parser.add_argument("--restarts", type=int, default=50, help="processes at most for one file")
    parser.add_argument("--resume", type=pathlib.Path, help="results of an earlier run: what passed or was skipped there is kept")
    parser.add_argument("--out", type=pathlib.Path, help="all results as JSON")
    options = parser.parse_args()
    options.checkout = options.checkout.resolve()
    options.deadline = time.monotonic() + options.seconds
    files = options.only.split(",") if options.only else FILES
    options.kept = {}
    if options.resume:
        for name, results in json.loads(options.resume.read_text()).items():
            options.kept[name] = [e for e in results if e["outcome"] not in ("failed", "incomplete")]
    everything = {name: list(options.kept.get(name, [])) for name in files}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(run_file, name, shard, options): name for shard in range(options.shards) for name in files}
        running = collections.Counter(waiting.values())
        for future in concurrent.futures.as_completed(waiting):
            name = waiting[future]
            everything[name].extend(future.result())
            running[name] -= 1
            if running[name]:
                continue
            counts = collections.Counter(e["outcome"] for e in everything[name])
            print(f"{name}: {', '.join(f'{n} {o}' for o, n in sorted(counts.items()))}", flush=True)
    entries = [e for results in everything.values() for e in results]
    counts = collections.Counter(e["outcome"] for e in entries)
    for outcome in ("failed", "incomplete", "refused", "rounding", "skipped"):
        groups = collections.defaultdict(list)
        for entry in entries:
            if entry["outcome"] == outcome:
                groups[group_of(entry["cause"])].append(entry["test"])
        if groups:
            print(f"\n{outcome}:")
        for cause, tests in sorted(groups.items(), key=lambda g: -len(g[1])):
            print(f"{len(tests):6} {cause}\n       {tests[0].rpartition('/')[2]}")
    good = counts["passed"] + counts["refused"] + counts["rounding"]
    ran = good + counts["failed"] + counts["incomplete"]
    print(f"\n{good} of {ran} pass" + (f" ({100 * good / ran:.1f} %)" if ran else "")
          + f", of these {counts['refused']} refused in other words and {counts['rounding']} equal but for rounding; "
          + f"{counts['failed']} failed, {counts['incomplete']} incomplete; {counts['skipped']} skipped")
    if options.out:
        options.out.write_text(json.dumps(everything, indent=1))
    return 0 if ran and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
