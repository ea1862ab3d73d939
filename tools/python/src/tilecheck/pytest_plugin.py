"""pytest --tilecheck: an existing test suite with every Pallas TPU kernel run by Tilecheck.

A test in which a kernel has a finding fails, with the report. `[tool.tilecheck]` in pyproject.toml holds defaults for
what tilecheck.jax.enable takes; the command line outranks it. JUnit files get tilecheck_kernels and tilecheck_findings
as properties of each test that ran a kernel."""

import pathlib

import pytest

OPTIONS = ("target", "schedule", "budget", "seed", "checks")


def pytest_addoption(parser):
    group = parser.getgroup("tilecheck", "Pallas TPU kernels in the Tilecheck simulator")
    group.addoption("--tilecheck", action="store_true", help="run every Pallas TPU kernel in Tilecheck; findings fail the test")
    group.addoption("--tilecheck-target", metavar="CHIP", help="v2 to v7x, default v5e")
    group.addoption("--tilecheck-schedule", metavar="SCHEDULE", help="as `tilecheck run --schedule` takes it")
    group.addoption("--tilecheck-budget", metavar="TIME", help="for explore and exhaustive, per kernel: 10s (default), 500ms, 2m")
    group.addoption("--tilecheck-seed", metavar="N", type=int, help="what random schedules start from")
    group.addoption("--tilecheck-checks", metavar="LIST", help="of memory,init,race,sync,fit; default all")
    group.addoption("--tilecheck-sarif", metavar="FILE", help="write all findings as SARIF")


def pytest_configure(config):
    given = {name: config.getoption(f"tilecheck_{name}") for name in OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    if not config.getoption("tilecheck"):
        if given or config.getoption("tilecheck_sarif"):
            raise pytest.UsageError("--tilecheck-... options need --tilecheck")
        return
    config.pluginmanager.register(Plugin(config.rootpath, given, config.getoption("tilecheck_sarif")))


class Plugin:
    def __init__(self, root, given, sarif):
        from tilecheck import _options, _report
        from tilecheck import jax as door

        try:
            # A finding is the test's, and is told after it.
            door.enable(**(_options.with_project_defaults(root, given) | {"on_finding": "collect"}))
        except (_report.InputError, ValueError) as error:
            raise pytest.UsageError(f"tilecheck: {error}") from error
        self.sarif = sarif
        self.kernels = []  # (test, KernelReport)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        from tilecheck import _native, _report

        import jax

        mark = _native.library().tilecheck_mark()
        outcome = yield
        jax.effects_barrier()
        try:
            jax.block_until_ready(jax.live_arrays())
        except jax.errors.JaxRuntimeError as error:  # a kernel that could not be run, and whose result nobody read
            if not outcome.excinfo:
                outcome.force_exception(error)
        report = _report.report_of(_native.call("reports", mark))
        self.kernels += [(item.nodeid, kernel) for kernel in report.kernels]
        if report.kernels:
            item.user_properties.append(("tilecheck_kernels", sum(k.calls for k in report.kernels)))
            item.user_properties.append(("tilecheck_findings", ",".join(sorted(report.kinds()))))
        if report.verdict != "clean" and not outcome.excinfo:
            outcome.force_exception(_report.FindingError(str(report), report))

    def pytest_sessionfinish(self):
        from tilecheck import _native

        if self.sarif:
            pathlib.Path(self.sarif).write_text(_native.text("sarif", 0))

    def pytest_terminal_summary(self, terminalreporter):
        from tilecheck import _native, _summary

        terminalreporter.section("tilecheck")
        for line in _summary.lines(self.kernels, _native.call("unused_suppressions")):
            terminalreporter.write_line(line)
