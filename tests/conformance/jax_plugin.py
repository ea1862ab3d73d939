"""pytest plugin of jax_tests.py: JAX's own TPU tests see a TPU, and each of their kernels runs in Tilecheck.

Environment: TILECHECK_JAX_CHECKOUT (two helpers of its tests are not in the wheel), TILECHECK_RESULTS (one JSON line a
test), TILECHECK_DONE (a file with tests not to run again, one a line), TILECHECK_EVERY (of the cases that differ in
numbers alone, the first and each N-th after it), TILECHECK_SHARD (I/N: of what is left each N-th, from the I-th),
TILECHECK_TEST_SECONDS (a test that takes longer ends the process)."""

import importlib.util
import json
import os
import pathlib
import re
import sys
import threading
import unittest.case

import numpy as np
import pytest

import jax  # noqa: E402

import tilecheck  # noqa: E402

CHECKOUT = pathlib.Path(os.environ["TILECHECK_JAX_CHECKOUT"])
RESULTS = open(os.environ["TILECHECK_RESULTS"], "a", buffering=1)
DONE = set(pathlib.Path(os.environ["TILECHECK_DONE"]).read_text().splitlines())
EVERY = int(os.environ["TILECHECK_EVERY"])
SHARD, SHARDS = map(int, os.environ["TILECHECK_SHARD"].split("/"))
TEST_SECONDS = float(os.environ["TILECHECK_TEST_SECONDS"])

for name in ("jax._src.hypothesis_test_util", "jax._src.pallas.pallas_test_util"):
    if importlib.util.find_spec(name) is None:
        spec = importlib.util.spec_from_file_location(name, CHECKOUT / (name.replace(".", "/") + ".py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        parent, _, child = name.rpartition(".")
        setattr(importlib.import_module(parent), child, module)

from jax._src import hypothesis_test_util, test_util  # noqa: E402

if EVERY > 1:  # of generated cases too
    setup_hypothesis = hypothesis_test_util.setup_hypothesis
    hypothesis_test_util.setup_hypothesis = lambda max_examples=30: setup_hypothesis(max(2, max_examples // EVERY))

test_util._TEST_DUT._set("tpu")
tilecheck.jax.enable(target=os.environ.get("TILECHECK_TARGET", "v5e"), on_finding="raise")


def write(test, outcome, cause=""):
    RESULTS.write(json.dumps({"test": test, "outcome": outcome, "cause": cause}) + "\n")


def sampled(items):
    """Each EVERY-th of the cases of one test."""
    seen = {}
    for item in items:
        case = re.sub(r"\d+", "", item.nodeid)
        seen[case] = seen.get(case, -1) + 1
        if seen[case] % EVERY == 0:
            yield item


def pytest_collection_modifyitems(items):
    # Classes that ask for interpretation test JAX's interpreters, not TPU kernels.
    kernels = [i for i in items if not getattr(i.cls, "INTERPRET", False)]
    items[:] = [i for i in list(sampled(kernels))[SHARD::SHARDS] if i.nodeid not in DONE]


def give_up():
    # Nothing gentler ends a test that waits inside XLA. The parent counts it and goes on with the next.
    os._exit(3)


watchdog = None


def pytest_runtest_logstart(nodeid):
    global watchdog, refusal
    refusal = None
    write(nodeid, "started")
    watchdog = threading.Timer(TEST_SECONDS, give_up)
    watchdog.daemon = True
    watchdog.start()


def pytest_runtest_logfinish():
    watchdog.cancel()


FINDING = re.compile(r"(FAILED_PRECONDITION: )?error\[")
expects_error = unittest.case._AssertRaisesContext
expects_error_exit = expects_error.__exit__
refusal = None  # where a test expects an error of the TPU compiler, and got a finding of Tilecheck


def expect_error(self, kind, error, trace):
    """A test that expects the TPU compiler to refuse a kernel gets a finding, which says it in other words."""
    global refusal
    if error is None or not FINDING.match(str(error)):
        return expects_error_exit(self, kind, error, trace)
    expected = self.expected_regex.pattern if getattr(self, "expected_regex", None) else self._base_type_str
    refusal = f"expected {expected!r:.100}, got {str(error).splitlines()[0]:.200}"
    self.exception = error.with_traceback(None)
    return True


expects_error.__exit__ = expect_error


COMPARISONS = ("assert_allclose", "assert_array_equal", "assertArraysEqual")


def is_rounding(trace):
    """Whether a comparison failed over roundings alone: no element is off by more than 16 units in the last place of the
    largest value (f32), or by one (narrower types). The sum of a kernel's blocks and XLA's own sum differ by so much."""
    for entry in trace:
        values = entry.frame.f_locals
        if entry.frame.code.name in COMPARISONS and "actual" in values:
            try:
                actual, desired = np.asarray(values["actual"]), np.asarray(values["desired"])
            except jax.errors.JaxRuntimeError:  # the kernel itself failed
                return False
            if not np.issubdtype(actual.dtype, np.floating) and actual.dtype.name != "bfloat16" or actual.shape != desired.shape:
                return False
            allowed = (16 if actual.dtype == np.float32 else 1) * float(jax.numpy.finfo(actual.dtype).eps)
            actual, desired = actual.astype(np.float64), desired.astype(np.float64)
            if not np.array_equal(np.isfinite(actual), np.isfinite(desired)):
                return False
            return bool(np.nanmax(np.abs(actual - desired)) <= allowed * np.nanmax(np.abs(desired[np.isfinite(desired)])))
    return False


def cause_of(error):
    """One line: what went wrong."""
    text = str(error).strip()
    kind = type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # numpy says what differs in the lines after its first.
    return f"{kind}: {' / '.join(lines[: 5 if lines and lines[0].startswith('Not equal') else 1])[:400]}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.outcome != "passed":
        cause = ""
        if call.excinfo is not None:
            cause = cause_of(call.excinfo.value)
        result = report.outcome
        if result == "failed" and "UNIMPLEMENTED: " in cause and "not modelled" in cause:
            result = "incomplete"
        elif result == "failed" and is_rounding(call.excinfo.traceback):
            result = "rounding"
        elif refusal and (result == "passed" or result == "failed" and "error[" in cause and "not found in" in cause):
            result, cause = "refused", refusal
        if report.when != "teardown":
            write(item.nodeid, result, cause)


def pytest_runtest_teardown():
    jax.clear_caches()
