"""pytest --tilecheck: an existing test suite with every Pallas TPU kernel run by Tilecheck.

A test in which a kernel has a finding fails, with the report. `[tool.tilecheck]` in pyproject.toml holds defaults for
target, schedule, seed and checks; the command line outranks it. JUnit files get tilecheck_kernels and tilecheck_findings
as properties of each test that ran a kernel."""

import pathlib
import tomllib

import pytest

OPTIONS = ("target", "schedule", "seed", "checks")


def pytest_addoption(parser):
    group = parser.getgroup("tilecheck", "Pallas TPU kernels in the Tilecheck simulator")
    group.addoption("--tilecheck", action="store_true", help="run every Pallas TPU kernel in Tilecheck; findings fail the test")
    group.addoption("--tilecheck-target", metavar="CHIP", help="v2 to v7x, default v5e")
    group.addoption("--tilecheck-schedule", metavar="SCHEDULE", help="lazy (default), eager, lifo, random:N, pct:N:D, torn, ...")
    group.addoption("--tilecheck-seed", metavar="N", type=int, help="what random schedules start from")
    group.addoption("--tilecheck-checks", metavar="LIST", help="of memory,init,race,sync,fit; default all")
    group.addoption("--tilecheck-sarif", metavar="FILE", help="write all findings as SARIF")


def project_defaults(root):
    """[tool.tilecheck] of the project's pyproject.toml. An unknown key is an error."""
    path = pathlib.Path(root) / "pyproject.toml"
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text()).get("tool", {}).get("tilecheck", {})
    for key in table:
        if key not in OPTIONS:
            raise pytest.UsageError(f"{path.name}: [tool.tilecheck] has no {key!r}; known: {', '.join(OPTIONS)}")
    return table


def pytest_configure(config):
    given = {name: config.getoption(f"tilecheck_{name}") for name in OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    if not config.getoption("tilecheck"):
        if given or config.getoption("tilecheck_sarif"):
            raise pytest.UsageError("--tilecheck-... options need --tilecheck")
        return
    config.pluginmanager.register(Plugin(project_defaults(config.rootpath) | given, config.getoption("tilecheck_sarif")))


class Plugin:
    def __init__(self, options, sarif):
        from tilecheck import _report
        from tilecheck import jax as door

        try:
            door.enable(**options, on_finding="collect")
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
        from tilecheck import _native

        write = terminalreporter.write_line
        terminalreporter.section("tilecheck")
        kernels = [kernel for _, kernel in self.kernels]
        write(f"{len(kernels)} kernels, {sum(k.calls for k in kernels)} calls, {sum(k.seconds for k in kernels):.2f} s in the simulator")
        kinds = {}
        for test, kernel in self.kernels:
            for finding in kernel.findings:
                kinds.setdefault((finding["severity"], finding["kind"]), []).append(test)
        for (severity, kind), tests in sorted(kinds.items()):
            write(f"{severity} {kind}: {len(tests)} in {len(set(tests))} tests, first {tests[0]}")
        if kernels:
            slowest = max(self.kernels, key=lambda k: k[1].seconds)
            write(f"slowest: {slowest[1].name}, {slowest[1].seconds:.2f} s in {slowest[0]}")
        sized = [k for k in kernels if k.fit and k.fit["limit_bytes"]]
        if sized:
            nearest = max(sized, key=lambda k: k.fit["need_bytes"] / k.fit["limit_bytes"])
            share = 100 * nearest.fit["need_bytes"] / nearest.fit["limit_bytes"]
            write(f"nearest to its VMEM limit: {nearest.name}, {share:.0f}% of {nearest.fit['limit_bytes']} bytes")
        for unused in _native.call("unused_suppressions"):
            write(f"{unused['file']}:{unused['line']}: suppression of {', '.join(unused['kinds'])} was not needed")
