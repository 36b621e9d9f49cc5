"""An answer that knew nothing gives way to one that a mechanism finds for the same failure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from doctor.catalogue.finding import Finding, Role
from doctor.catalogue.outcome import Crashed, crash_of


def in_place_of_unknown(
    findings: Sequence[Finding], unknown: Collection[str], name: str, answer_to: Callable[[Finding], Finding | None]
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings, the first one replaced where it knew nothing and an answer is found.

    Args:
        findings: root cause first.
        unknown: ids of the problems that say only that nothing is known.
        name: of the mechanism, for a crash of its own.
        answer_to: the answer instead of the first finding; None where there is none.

    """
    first = findings[0] if findings else None
    if first is None or first.problem.id not in unknown:
        return tuple(findings), ()
    try:
        answer = answer_to(first)
    except Exception as exc:  # noqa: BLE001 - that nothing is known is an answer, too
        return tuple(findings), (crash_of(name, exc),)
    if answer is None:
        return tuple(findings), ()
    rest = [each for each in findings[1:] if each.problem.id != answer.problem.id]
    return (replace(answer, role=Role.CAUSE), *rest), ()
