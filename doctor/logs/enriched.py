"""What is known besides of findings whose order stands: what a process held, how it looked, what its source says.

None of this moves a finding; each says more about the first, or about the standstill.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from doctor.catalogue.finding import Finding
from doctor.catalogue.outcome import Crashed, crash_of
from doctor.logs.capsules import killed, looks
from doctor.logs.capsules import told as capsules
from doctor.logs.capsules.read import Capsules
from doctor.logs.failures.case import Case
from doctor.logs.source import told as source


def enriched(
    findings: Sequence[Finding],
    case: Case,
    held: Capsules,
    folders: Sequence[str],
    still: Collection[str],
    unknown: Collection[str],
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings with what else is known of them, and with remedies that fit what was told.

    Args:
        findings: in their order.
        case: what the logs say.
        held: capsules of the same run.
        folders: run folders among them hold samples and looks.
        still: ids of the problems that say that a run stands still.
        unknown: ids of the problems that say only that nothing is known.

    """
    found = capsules.told(findings, held, unknown)
    found = killed.told(found, case, folders)
    found = looks.told(found, folders, still)
    found = source.told(found, case, unknown)
    return _reviewed(found, case)


def _reviewed(findings: tuple[Finding, ...], case: Case) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings whose remedies fit what logs and context say; a bug of ours costs only that."""
    if not findings:
        return findings, ()
    from doctor.diagnosis.remedies import reviewed
    from doctor.logs.failures.situation import situation_of

    try:
        return reviewed(findings, situation_of(case))[0], ()
    except Exception as exc:  # noqa: BLE001 - the diagnosis is worth more than the check of its remedies
        return findings, (crash_of("remedies", exc),)
