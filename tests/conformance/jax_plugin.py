"""pytest plugin of jax_tests.py: JAX's own TPU tests see a TPU, and each of their kernels runs in Tilecheck.

Environment: TILECHECK_JAX_CHECKOUT (two helpers of its tests are not in the wheel), TILECHECK_RESULTS (one JSON line a
test), TILECHECK_DONE (tests not to run again)."""

import importlib.util
import json
import os
import pathlib
import sys

import pytest

import jax  # noqa: E402

import tilecheck  # noqa: E402

CHECKOUT = pathlib.Path(os.environ["TILECHECK_JAX_CHECKOUT"])
RESULTS = open(os.environ["TILECHECK_RESULTS"], "a", buffering=1)
DONE = set(filter(None, os.environ.get("TILECHECK_DONE", "").split("\n")))

for name in ("jax._src.hypothesis_test_util", "jax._src.pallas.pallas_test_util"):
    if importlib.util.find_spec(name) is None:
        spec = importlib.util.spec_from_file_location(name, CHECKOUT / (name.replace(".", "/") + ".py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        parent, _, child = name.rpartition(".")
        setattr(importlib.import_module(parent), child, module)

from jax._src import test_util  # noqa: E402

test_util._TEST_DUT._set("tpu")
tilecheck.jax.enable(target=os.environ.get("TILECHECK_TARGET", "v5e"), on_finding="raise")


def write(test, outcome, cause=""):
    RESULTS.write(json.dumps({"test": test, "outcome": outcome, "cause": cause}) + "\n")


def pytest_collection_modifyitems(items):
    # Classes that ask for interpretation test JAX's interpreters, not TPU kernels.
    items[:] = [i for i in items if i.nodeid not in DONE and not getattr(i.cls, "INTERPRET", False)]


def pytest_runtest_logstart(nodeid):
    write(nodeid, "started")


def cause_of(error):
    """One line: what went wrong."""
    text = str(error).strip()
    kind = type(error).__name__
    lines = [l for l in text.splitlines() if l.strip()]
    return f"{kind}: {lines[0][:300] if lines else ''}"


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
        if report.when != "teardown":
            write(item.nodeid, result, cause)


def pytest_runtest_teardown():
    jax.clear_caches()
