"""pytest --tilecheck on a small suite of its own."""

import json
import re
import subprocess
import sys

from package import IS_INSTALLED, ROOT, environment

SUITE = '''
import sys
sys.path.insert(0, {fixtures!r})
import defects, kernels
from fixture import FIXTURES

def test_right():
    f = FIXTURES["relu_2x_plus_1"]
    assert (f.call(*f.operands) == f.expected(*f.operands)).all()

def test_race():
    f = FIXTURES["store_into_source"]
    f.call(*f.operands)

# The comment below is read because a kernel has a line in this file.
def test_suppression_that_is_not_needed():
    import jax
    from jax.experimental import pallas as pl

    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]  # tilecheck: ignore[race] there is none

    pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct((8, 128), "float32"))(jax.numpy.zeros((8, 128)))
'''


def run(tmp_path, *options, pyproject=""):
    (tmp_path / "test_suite.py").write_text(SUITE.format(fixtures=str(ROOT / "tests/fixtures")))
    (tmp_path / "pyproject.toml").write_text(pyproject)
    plugin = [] if IS_INSTALLED else ["-p", "tilecheck.pytest_plugin"]  # an entry point brings it
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q", *options, "."]
    return subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=200)


def test_findings_fail_the_test_they_belong_to(tmp_path):
    done = run(tmp_path, "--tilecheck", "--tilecheck-sarif", "out.sarif", "--junitxml", "out.xml")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"test_suite\.py:\d+: suppression of race was not needed", done.stdout)
    assert "error race: 1 in 1 tests, first test_suite.py::test_race" in done.stdout
    assert "nearest to its VMEM limit" in done.stdout
    assert 'name="tilecheck_findings" value="race"' in (tmp_path / "out.xml").read_text()
    sarif = json.loads((tmp_path / "out.sarif").read_text())
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]] == ["race"]


def test_project_file_and_bad_options(tmp_path):
    done = run(tmp_path, "--tilecheck", "--tilecheck-schedule", "explore", "--tilecheck-budget", "1s", pyproject='[tool.tilecheck]\nchecks = "memory,init"\n')
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    done = run(tmp_path, "--tilecheck", pyproject='[tool.tilecheck]\nchecks = ["memory", "fit"]\ntake_over_interpret = true\n')
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert "has no 'chekcs'" in run(tmp_path, "--tilecheck", pyproject='[tool.tilecheck]\nchekcs = "memory"\n').stderr
    assert "need --tilecheck" in run(tmp_path, "--tilecheck-target", "v6e").stderr
    assert "expected a time" in run(tmp_path, "--tilecheck", "--tilecheck-budget", "soon").stderr
    assert "unknown target" in run(tmp_path, "--tilecheck", "--tilecheck-target", "v99").stderr
