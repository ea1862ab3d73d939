"""What Tilecheck said about kernels: objects around the command's own JSON and text."""

import dataclasses
import html

VERDICTS = ("clean", "findings", "incomplete", "error")  # from good to bad


class TilecheckError(Exception):
    """A kernel's run or analysis did not end clean. `report` says more, where there is one."""

    def __init__(self, message, report=None):
        super().__init__(message)
        self.report = report


class FindingError(TilecheckError, AssertionError):
    """Something is wrong with a kernel."""


class IncompleteError(TilecheckError, NotImplementedError):
    """A kernel needs what Tilecheck does not model."""


class InputError(TilecheckError, ValueError):
    """A kernel or its operands cannot be used."""


def raise_for(status, message, report=None):
    if status != "ok":
        kind = {"findings": FindingError, "incomplete": IncompleteError, "cancelled": KeyboardInterrupt}.get(status, InputError)
        raise kind(message, report) if issubclass(kind, TilecheckError) else kind(message)


@dataclasses.dataclass
class KernelReport:
    """One kernel's: `data` is the command's JSON, `text` its text."""

    data: dict
    text: str
    calls: int = 1
    seconds: float = 0.0

    @property
    def name(self):
        return self.data["subject"]

    @property
    def verdict(self):
        return self.data["verdict"]

    @property
    def findings(self):
        return self.data["findings"]

    @property
    def fit(self):
        return self.data.get("fit")

    @property
    def time(self):
        return self.data.get("time")

    def __str__(self):
        return self.text


@dataclasses.dataclass
class Report:
    """All kernels of a check, in the order of their first call."""

    kernels: list[KernelReport]

    @property
    def verdict(self):
        return max((k.verdict for k in self.kernels), key=VERDICTS.index, default="clean")

    @property
    def findings(self):
        return [f for k in self.kernels for f in k.findings]

    def kinds(self):
        """How often each kind was found."""
        counts = {}
        for finding in self.findings:
            counts[finding["kind"]] = counts.get(finding["kind"], 0) + 1
        return counts

    def assert_clean(self):
        """Raises FindingError (or IncompleteError) unless every kernel is clean. No kernel at all is not clean either."""
        if not self.kernels:
            raise FindingError("no Pallas kernel ran", self)
        if self.verdict == "incomplete":
            raise IncompleteError(str(self), self)
        if self.verdict != "clean":
            raise FindingError(str(self), self)

    def __str__(self):
        return "\n".join(k.text.rstrip("\n") for k in self.kernels) or "no Pallas kernel ran"

    def _repr_html_(self):
        color = {"clean": "#2a7", "findings": "#c33"}.get(self.verdict, "#b70")
        return f'<b style="color:{color}">{self.verdict}</b><pre style="line-height:1.2">{html.escape(str(self))}</pre>'


def report_of(reply):
    """From the native log."""
    return Report([KernelReport(e["report"], e["text"], e["calls"], e["seconds"]) for e in reply["entries"]])
