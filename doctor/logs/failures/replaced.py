"""An answer that knew nothing gives way to one that a mechanism finds for the same failure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from doctor.base.record import replace
from doctor.catalogue.finding import Finding, Phrase, Role, Words
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
    return (replace(_with_others(answer, first), role=Role.CAUSE), *rest), ()


def _with_others(answer: Finding, unknown: Finding) -> Finding:
    """The answer, which tells as well what was known without it: which ranks failed only because of this one."""
    others = unknown.values.get("others")
    if not isinstance(others, Phrase) or "others" in answer.values:
        return answer
    message = answer.message
    told = replace(
        message,
        en=_longer(message.en, " {others}"),
        zh=_longer(message.zh, "{others}") if message.zh is not None else None,
    )
    return replace(answer, message=told, values={**answer.values, "others": others})


def _longer(words: Words, more: str) -> Words:
    return replace(words, explanation=words.explanation + more)
