"""What came of a run of checks: found, skipped with a reason, crashed, or ok and therefore silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record
from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import ERROR, WARNING


@record
class Skipped:
    """A check that could not see what it needs, or was told to keep quiet."""

    id: str
    reason: str
    ignored: bool = False  # the user's wish, not a blind spot


@record
class Crashed:
    """A bug of ours in one check; the others went on."""

    id: str
    error: str
    traceback: str


def crash_of(name: str, exc: BaseException) -> Crashed:
    """A bug of ours, as it is told in a report."""
    import traceback

    return Crashed(name, f"{type(exc).__name__}: {exc}", "".join(traceback.format_exception(exc)))


@record
class Outcome:
    """Result of a diagnosis. `findings` are ordered, most important first."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    crashed: tuple[Crashed, ...]
    checks_run: int
    seconds: float
    areas: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # -> checks that judged, problems not judged

    @property
    def errors(self) -> int:
        """How many findings say that the run will fail."""
        return sum(finding.severity is ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings say that the run may go wrong."""
        return sum(finding.severity is WARNING for finding in self.findings)

    def exit_code(self, *, strict: bool) -> int:
        """0 nothing of severity error found (nor warning, when strict), 1 found, 3 only our own crashes."""
        if self.errors or (strict and self.warnings):
            return 1
        return 3 if self.crashed and not self.checks_run else 0
