"""Says of an unknown failure what the source says: the condition that guards the raise, and whose values are in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Message, Phrase, Words, said
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.tracebacks import Raised
from doctor.logs.source.conditions import (
    Condition,
    condition_of,
    function_at,
    given,
    is_name,
    origin_of,
    settings_of,
)
from doctor.logs.source.files import Source, source_of

_MOST_STEPS, _MOST_TOLD = 8, 3
_LONGEST_HEAD = 160  # characters of a condition with its values


@record
class Operand:
    """A value in a condition.

    Args:
        name: as the condition has it.
        en, zh: where it comes from, one clause.
        place: file and line of that.
        value: what it is, "" where the source does not say.

    """

    name: str
    en: str
    zh: str
    place: str
    value: str = ""


def told(findings: Sequence[Finding], case: Case, unknown: Collection[str]) -> tuple[Finding, ...]:
    """The findings, the first with what the source of its raise says, where it is an unknown failure and at hand.

    Args:
        findings: in their order.
        case: what the logs say.
        unknown: ids of the problems that say only that nothing is known.

    """
    first = findings[0] if findings else None
    if first is None or first.problem.id not in unknown or "held" in first.values:
        return tuple(findings)
    raised = _raised(first, case)
    read = _Traced(case, raised.frames) if raised is not None and raised.frames else None
    condition = read.condition() if read is not None else None
    if read is None or condition is None:
        return tuple(findings)
    return (_with(first, condition, read), *findings[1:])


def _raised(finding: Finding, case: Case) -> Raised | None:
    """The exception that a finding is about."""
    where = finding.where
    for failure in case.failures:
        cause = failure.cause
        if (cause.line.file, cause.line.number) == (where.file, where.line) and cause.kind != "c++":
            return cause
    return None


class _Traced:
    """The frames of one traceback with the files that they name."""

    def __init__(self, case: Case, frames: Sequence[Frame]) -> None:
        self._case, self._frames = case, frames
        self._sources: dict[int, Source | None] = {}

    def condition(self) -> Condition | None:
        """The condition that guards the innermost frame's raise."""
        source, frame = self._source(len(self._frames) - 1), self._frames[-1]
        return condition_of(source.text, source.tree, frame.line) if source is not None else None

    @property
    def place(self) -> str:
        """Of the raise."""
        return self._at(len(self._frames) - 1, self._frames[-1].line)

    def operands(self, condition: Condition) -> list[Operand]:
        """Where the values of a condition come from, those that the user set first."""
        at = len(self._frames) - 1
        traced = [each for name in condition.operands if (each := self._trace(name, name, at, condition.line))]
        return sorted(traced, key=lambda each: not each.value)[:_MOST_TOLD]

    def _trace(self, name: str, expression: str, at: int, line: int) -> Operand | None:
        """Follow a value from expression to expression, and from a parameter to the caller."""
        last: Operand | None = None
        for _ in range(_MOST_STEPS):
            source = self._source(at)
            origin = origin_of(source.tree, line, expression) if source is not None else None
            if source is None or origin is None:
                break
            if origin.kind == "field":
                return self._setting(name, origin.text) or last
            if origin.kind == "parameter":
                passed = self._passed(at, line, expression)
                if passed is None:
                    return self._setting(name, expression) or last
                at -= 1
                expression, line = passed
            else:
                expression, line = origin.text, origin.line
            last = self._computed(name, expression, at, line) or last
            if not is_name(expression):
                break
        return last

    def _passed(self, at: int, line: int, name: str) -> tuple[str, int] | None:
        """What the caller of a frame's function gives for one of its parameters."""
        source, outer = self._source(at), self._source(at - 1) if at else None
        callee = function_at(source.tree, line) if source is not None else None
        if outer is None or callee is None:
            return None
        return given(outer.tree, self._frames[at - 1].line, callee, name)

    def _setting(self, name: str, setting: str) -> Operand | None:
        """What the user's own files, or else the log and its context, give a setting."""
        for at in range(len(self._frames) - 1, -1, -1):
            source = self._source(at) if self._frames[at].own else None
            for value, line in settings_of(source.tree, setting) if source is not None else ():
                place = self._at(at, line)
                traced = self._trace(setting, value, at, line) if is_name(value) else None
                known = traced.value.partition("=")[2] if traced is not None else ""
                told_ = f"{setting}={known or redact_text(value)}"
                return Operand(name, f"you set `{told_}` ({place})", f"你设置了 `{told_}`({place})", place, told_)
        known = self._case.config.get(setting, "")
        if not known:
            return None
        english, chinese = f"`{setting}` is {known} in what was given", f"给出的内容中 `{setting}` 为 {known}"
        return Operand(name, english, chinese, "", f"{setting}={known}")

    def _computed(self, name: str, expression: str, at: int, line: int) -> Operand | None:
        """A value that a line computes; one that the user's own code writes down is theirs."""
        if expression == name:
            return None
        expression, place = redact_text(expression), self._at(at, line)
        own = self._frames[at].own and not is_name(expression)
        english, chinese = f"`{name}` is `{expression}` ({place})", f"`{name}` 为 `{expression}`({place})"
        return Operand(name, english, chinese, place, f"{name}={expression}" if own else "")

    def _source(self, at: int) -> Source | None:
        if at not in self._sources:
            self._sources[at] = source_of(self._frames[at], self._case.versions)
        return self._sources[at]

    def _at(self, at: int, line: int) -> str:
        source = self._source(at)
        return f"{source.name if source is not None else self._frames[at].path}:{line}"


def _with(finding: Finding, condition: Condition, read: _Traced) -> Finding:
    """The finding with a sentence on the condition and one on its values, and the condition in its headline."""
    operands = read.operands(condition)
    english, chinese = _conditions(condition)
    values = {
        **finding.values, "raised_at": read.place, "condition": said(english, chinese),
        "raised_when": _sentence(english, chinese, operands),
    }  # fmt: skip
    known = ", ".join(each.value for each in operands if each.value)
    values["set"] = f": {known}" if known else ""
    short = len(english) + len(known) <= _LONGEST_HEAD
    message = Message(
        *(_worded(finding.message.words(each), _HEADS[each] if short else "", each) for each in ("en", "zh"))
    )
    evidence = tuple(_quotes(condition, operands, read))
    return replace(finding, message=message, values=values, evidence=(*finding.evidence, *evidence))


_HEADS = {
    "en": "[?said|{said} · ?]{who}: `{type}` raised in `{raised_at}`, {condition}{set}",
    "zh": "[?said|{said} · ?]{who}:`{raised_at}` 抛出 `{type}`,{condition}{set}",
}


def _conditions(condition: Condition) -> tuple[str, str]:
    """Which expressions hold and which do not, in English and Chinese."""
    told_ = [(redact_text(text), holds) for text, holds in condition.parts]
    english = (f"`{text}` {'holds' if holds else 'does not hold'}" for text, holds in told_)
    chinese = (f"`{text}` {'成立' if holds else '不成立'}" for text, holds in told_)
    return " and ".join(english), "且".join(chinese)


def _sentence(english: str, chinese: str, operands: Sequence[Operand]) -> Phrase:
    return said(
        f"{'; '.join((f'It is raised when {english}', *(each.en for each in operands)))}.",
        f"{';'.join((f'当 {chinese}时抛出', *(each.zh for each in operands)))}。",
    )


def _worded(words: Words, headline: str, language: str) -> Words:
    between = " " if language == "en" else ""
    return Words(headline or words.headline, "{raised_when}" + between + words.explanation, words.remedy)


def _quotes(condition: Condition, operands: Sequence[Operand], read: _Traced) -> Iterator[Observed]:
    file, _, _ = read.place.rpartition(":")
    yield Observed.quoted(file, redact_text("; ".join(text for text, _ in condition.parts)), condition.line)
    for each in operands:
        file, _, line = each.place.rpartition(":")
        if file and each.value:
            yield Observed.quoted(file, each.value, int(line))
