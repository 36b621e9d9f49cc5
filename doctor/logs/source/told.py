"""Says of an unknown failure what the source says: the condition that guards the raise, and whose values are in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from doctor.base.evidence import Observed, Origin, Violation
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Message, Phrase, Words, said
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Raised
from doctor.logs.source.conditions import (
    condition_of,
    definition_of,
    function_at,
    given,
    is_name,
    settings_of,
)
from doctor.logs.source.files import RunSource, source_of

_MOST_STEPS, _MOST_TOLD = 8, 3
_LONGEST_HEAD = 160  # characters of a condition with its values


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
    violation = read.violation() if read is not None else None
    if read is None or violation is None:
        return tuple(findings)
    return (_with(first, violation, read.place), *findings[1:])


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
        self._sources: dict[int, RunSource | None] = {}

    def violation(self) -> Violation | None:
        """The condition that guards the innermost frame's raise, with its values, those that the user set first."""
        at, frame = len(self._frames) - 1, self._frames[-1]
        source = self._source(at)
        condition = condition_of(source.text, source.tree, frame.line) if source is not None else None
        if condition is None:
            return None
        traced = [each for name in condition.operands if (each := self._trace(name, name, at, condition.line))]
        parts = tuple((redact_text(text), holds) for text, holds in condition.parts)
        asked = replace(self._at(at, condition.line), frame=frame.function)
        return Violation(parts, tuple(sorted(traced, key=lambda each: not each.text)[:_MOST_TOLD]), asked)

    @property
    def place(self) -> str:
        """Of the raise."""
        return _place(self._at(len(self._frames) - 1, self._frames[-1].line))

    def _trace(self, name: str, expression: str, at: int, line: int) -> Observed | None:
        """Follow a value from expression to expression, and from a parameter to the caller."""
        last: Observed | None = None
        for _ in range(_MOST_STEPS):
            source = self._source(at)
            defined = definition_of(source.tree, line, expression) if source is not None else None
            if source is None or defined is None:
                break
            if defined.kind == "field":
                return self._setting(defined.text) or last
            if defined.kind == "parameter":
                passed = self._passed(at, line, expression)
                if passed is None:
                    return self._setting(expression) or last
                at -= 1
                expression, line = passed
            else:
                expression, line = defined.text, defined.line
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

    def _setting(self, setting: str) -> Observed | None:
        """What the user's own files, or else the log and its context, give a setting."""
        for at in range(len(self._frames) - 1, -1, -1):
            source = self._source(at) if self._frames[at].own else None
            for value, line in settings_of(source.tree, setting) if source is not None else ():
                traced = self._trace(setting, value, at, line) if is_name(value) else None
                known = traced.text.partition("=")[2] if traced is not None else ""
                written = known or redact_text(value)
                return Observed(setting, written, self._at(at, line), text=f"{setting}={written}")
        known = self._case.config.get(setting, "")
        return Observed(setting, known, Origin("pasted"), text=f"{setting}={known}") if known else None

    def _computed(self, name: str, expression: str, at: int, line: int) -> Observed | None:
        """A value that a line computes; one that the user's own code writes down is theirs."""
        if expression == name:
            return None
        expression = redact_text(expression)
        own = self._frames[at].own and not is_name(expression)
        text = f"{name}={expression}" if own else ""
        return Observed(name, expression, self._at(at, line), exact=False, text=text)

    def _source(self, at: int) -> RunSource | None:
        if at not in self._sources:
            self._sources[at] = source_of(self._frames[at], self._case.versions)
        return self._sources[at]

    def _at(self, at: int, line: int) -> Origin:
        source = self._source(at)
        return Origin("file", source.name if source is not None else self._frames[at].path, line)


def _with(finding: Finding, violation: Violation, place: str) -> Finding:
    """The finding with a sentence on the condition and one on its values, and the condition in its headline."""
    english, chinese = violation.said("en"), violation.said("zh")
    values = {
        **finding.values, "raised_at": place, "condition": said(english, chinese),
        "raised_when": _sentence(violation),
    }  # fmt: skip
    known = ", ".join(each.text for each in violation.operands if each.text)
    values["set"] = f": {known}" if known else ""
    short = len(english) + len(known) <= _LONGEST_HEAD
    message = Message(
        *(_worded(finding.message.words(each), _HEADS[each] if short else "", each) for each in ("en", "zh"))
    )
    evidence = tuple(_quotes(violation))
    return replace(finding, message=message, values=values, evidence=(*finding.evidence, *evidence))


_HEADS = {
    "en": "[?said|{said} · ?]{who}: `{type}` raised in `{raised_at}`, {condition}{set}",
    "zh": "[?said|{said} · ?]{who}:`{raised_at}` 抛出 `{type}`,{condition}{set}",
}


def _place(origin: Origin) -> str:
    return f"{origin.source}:{origin.line}"


def _clause(operand: Observed, language: str) -> str:
    """Where a value comes from."""
    name, value, place = operand.name, operand.value, _place(operand.origin)
    english = language == "en"
    if not operand.exact:
        return f"`{name}` is `{value}` ({place})" if english else f"`{name}` 为 `{value}`({place})"
    if operand.origin.kind == "file":
        return f"you set `{operand.text}` ({place})" if english else f"你设置了 `{operand.text}`({place})"
    return f"`{name}` is {value} in what was given" if english else f"给出的内容中 `{name}` 为 {value}"


def _sentence(violation: Violation) -> Phrase:
    english = [f"It is raised when {violation.said('en')}", *(_clause(each, "en") for each in violation.operands)]
    chinese = [f"当 {violation.said('zh')}时抛出", *(_clause(each, "zh") for each in violation.operands)]
    return said(f"{'; '.join(english)}.", f"{';'.join(chinese)}。")


def _worded(words: Words, headline: str, language: str) -> Words:
    between = " " if language == "en" else ""
    return Words(headline or words.headline, "{raised_when}" + between + words.explanation, words.remedy)


def _quotes(violation: Violation) -> Iterator[Observed]:
    asked = violation.frame
    yield Observed.quoted(asked.source, "; ".join(text for text, _ in violation.condition), asked.line)
    for each in violation.operands:
        if each.place is not None and each.text:
            yield Observed.quoted(each.place.file, each.text, each.place.line)
