"""Judges reward-does-not-judge (RLX5519), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
GARBAGE = TOML["garbage"]
NOTHING = TOML["nothing"]
ABSENT = TOML["absent"]
ONE_SCORE = TOML["one_score"]
PART = TOML["part"]
LINES = TOML["lines"]

#: kinds of worthless answers, and what they are called
_NAMES = TOML.phrases("worthless")
WORTHLESS = ("empty", "refusal", "repeated", "prompt")
_RIGHT = "right:"
#: answers that hold none at all, of the length of a short one
_NO_ANSWER = ("empty", "refusal")
#: tags without an answer, again and again: an attempt at the reward, which a right answer in tags must beat
_TAGS = "tags"
#: right answers in tags that stand on lines of their own
_ON_LINES = (f"{_RIGHT}tags", f"{_RIGHT}tags-ending")
#: right answers behind some sentences of reasoning
_WORKED = "worked:"
#: what the column holds, as it is
_WHOLE = f"{_RIGHT}whole"
_SAME = 1e-9


def of_rehearsal(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge what the reward functions of one trainer gave to answers of known worth; None where nothing is wrong.

    Args:
        functions: one entry a function: `function`, `weight`, `reads` (it reads the column of right answers), `column`,
            `tries` (kind of answer -> `values`, one a row).

    """
    judging = [each for each in functions if each["reads"]]
    if not judging or any(_unknown(each) for each in functions):
        return None
    rights = {kind: _total(functions, kind) for kind in judging[0]["tries"] if kind.startswith(_RIGHT)}
    known = {kind: total for kind, total in rights.items() if total is not None}
    worthless = {kind: total for kind in WORTHLESS if (total := _total(functions, kind)) is not None}
    if not known or not worthless:
        return None
    right, (kind, garbage) = max(known.values()), max(worthless.items(), key=lambda each: each[1])
    column, rows = judging[0]["column"], judging[0]["rows"]
    evidence = tuple(_told(each) for each in functions)
    whole = next(filter(None, map(_of_whole_solutions, judging)), None)
    if whole is not None:
        return whole
    lone = max(_total(judging, each) or 0.0 for each in known)
    least = max(_total(judging, each) or 0.0 for each in _NO_ANSWER)
    tags = _total(functions, _TAGS)
    if right <= garbage + _SAME and lone <= least + _SAME:
        return found(
            PROBLEM, NOTHING, confidence=LIKELY, evidence=evidence, column=column, rows=rows, forms=len(known),
            right=_number(right), garbage=_number(garbage),
        )  # fmt: skip
    if right > garbage + _SAME and tags is not None and tags > right + _SAME and lone > least + _SAME:
        kind, garbage = _TAGS, tags
    elif right > garbage + _SAME:
        return _of_silence(functions, judging[0], right)
    return found(
        PROBLEM, GARBAGE, confidence=LIKELY, evidence=evidence, worthless=_NAMES[kind],
        garbage=_number(garbage), right=_number(right), column=column, rows=rows,
    )  # fmt: skip


def _of_silence(functions: Sequence[Mapping[str, Any]], judging: Mapping[str, Any], right: float) -> Finding | None:
    """No answer at all that earns more than a right one behind a few sentences, in whatever form."""
    worked = [_total(functions, kind) for kind in judging["tries"] if kind.startswith(_WORKED)]
    nothing = _total(functions, _NO_ANSWER[0])
    if not worked or nothing is None or any(each is None or each >= nothing - _SAME for each in worked):
        return None
    best = max(each for each in worked if each is not None)
    return found(
        PROBLEM, TOML["silence"], confidence=LIKELY, evidence=tuple(_told(each) for each in functions),
        nothing=_number(nothing), worked=_number(best), right=_number(right),
    )  # fmt: skip


def _of_whole_solutions(function: Mapping[str, Any]) -> Finding | None:
    """A function that gives points to a copy of the column, and none to the result that the column ends with.

    The column holds worked solutions (`worked`): the result stands behind a mark in each of them.
    """
    means = {kind: _mean(tried["values"]) for kind, tried in function["tries"].items()}
    finals = [value for kind, value in means.items() if kind.startswith(_RIGHT) and kind != _WHOLE]
    whole, least = means.get(_WHOLE), [means.get(kind) for kind in _NO_ANSWER]
    if not function.get("worked") or whole is None or None in (*finals, *least):
        return None
    nothing = max(map(float, least)) + _SAME  # type: ignore[arg-type]
    if any(float(each) > nothing for each in finals if each is not None) or whole <= nothing:
        return None
    return found(
        PROBLEM, TOML["whole"], confidence=LIKELY, evidence=(_told(function),), function=function["function"],
        column=function["column"], value=_number(whole),
    )  # fmt: skip


def of_lookups(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge a function that looks its right answers up in a table of its own.

    Args:
        functions: as in `of_rehearsal`, with `lookup` (`name` of the table, a `key` and the `prompt` that holds it;
            what right answers earn with the run's `own` prompts and with such `cut` down to the key, and what `nothing`
            earns).

    """
    for each in functions:
        lookup = each.get("lookup")
        if lookup and lookup["cut"] > lookup["nothing"] + _SAME and lookup["own"] <= lookup["nothing"] + _SAME:
            seen = f"key {lookup['key']!r}, prompt {lookup['prompt']!r}"
            return found(
                PROBLEM, TOML["lookup"], confidence=LIKELY, function=each["function"], table=lookup["name"],
                own=_number(lookup["own"]), cut=_number(lookup["cut"]),
                evidence=(Observed.quoted(each["place"] or each["function"], seen),),
            )  # fmt: skip
    return None


def of_shown_form(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge a function that gives nothing to right answers as the prompt shows them, with tags on lines of their own.

    Args:
        functions: as in `of_rehearsal`, with `lines` (whether the prompts show the tags so, and no other ones).

    """
    for each in functions:
        means = {kind: _mean(tried["values"]) for kind, tried in each["tries"].items()}
        asked = [means[kind] for kind in _ON_LINES if kind in means]
        other = [value for kind, value in means.items() if kind.startswith(_RIGHT) and kind not in _ON_LINES]
        least = [means.get(kind) for kind in _NO_ANSWER]
        if not (each.get("lines") and each["reads"] and asked) or None in (*asked, *other, *least):
            continue
        shown, best = max(map(float, asked)), max(map(float, other), default=0.0)  # type: ignore[arg-type]
        nothing = max(map(float, least)) + _SAME  # type: ignore[arg-type]
        if shown <= nothing < best:
            return found(
                PROBLEM, LINES, confidence=LIKELY, evidence=(_told(each),), function=each["function"],
                shown=_number(shown), other=_number(best),
            )  # fmt: skip
    return None


def of_mixed_answers(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge a function that gives all answers of a batch one score, right ones and wrong ones in turns.

    Args:
        functions: as in `of_rehearsal`, with `mixed` (what such a batch earned, a value a row, where each row alone
            earned more for the right answer; None or empty where it was not tried).

    """
    for each in functions:
        values: Sequence[float] = each.get("mixed") or []
        if len(values) > 1 and max(values) - min(values) <= _SAME:
            return found(
                PROBLEM, ONE_SCORE, confidence=LIKELY, evidence=(_told(each),), function=each["function"],
                rows=len(values), value=_number(values[0]),
            )  # fmt: skip
    return None


def of_near_answers(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge a function that compares a part of the answer: it tells numbers apart by their end and not by their begin.

    Args:
        functions: as in `of_rehearsal`, with tries of wrong numbers in one form (`ends:...`, `begins:...`), and `near`
            (the right number of the first row and these two).

    """
    judging = [each for each in functions if each["reads"]]
    if len(judging) != 1:
        return None
    tries = {kind: _mean(each["values"]) for kind, each in judging[0]["tries"].items()}
    for kind, value in tries.items():
        name, _, form = kind.partition(":")
        right, ends = tries.get(_RIGHT + form), tries.get(f"ends:{form}")
        if name != "begins" or value is None or right is None or ends is None:
            continue
        if right > ends + _SAME and value >= right - _SAME:
            good, _, wrong = judging[0]["near"]
            return found(
                PROBLEM, PART, confidence=LIKELY, evidence=(_told(judging[0]),), function=judging[0]["function"],
                wrong=wrong, right=good, value=_number(value), ends=_number(ends),
            )  # fmt: skip
    return None


def _mean(values: Sequence[float | None] | None) -> float | None:
    known = [each for each in values or () if each is not None]
    return fmean(known) if known and len(known) == len(values or ()) else None


def of_absent_columns(functions: Sequence[Mapping[str, Any]]) -> Finding | None:
    """Judge a function that does without the column of right answers it asks for; None where none does.

    Args:
        functions: as in `of_rehearsal`, with `absent` (columns asked for that the rows lack) and `own` (what it gave to
            the run's own completions). One that told answers apart has other grounds; None says that it does not apply.

    """
    for each in functions:
        tried = [value for one in each["tries"].values() for value in one["values"] or ()]
        given = {*tried, *each["own"]}
        if each.get("absent") and tried and len(given) == 1 and None not in given:
            return found(
                PROBLEM, ABSENT, confidence=LIKELY, evidence=(_told(each),), function=each["function"],
                column=each["absent"][0], value=_number(given.pop()),
            )  # fmt: skip
    return None


def _unknown(function: Mapping[str, Any]) -> bool:
    """Whether a function could not be tried: what all of them together give is then not known."""
    return not any(each["values"] for each in function["tries"].values())


def _total(functions: Sequence[Mapping[str, Any]], kind: str) -> float | None:
    """What answers of one kind earn of all functions together, averaged over the rows; None where one is not known."""
    total = 0.0
    for each in functions:
        values = each["tries"].get(kind, {}).get("values")
        if not values:
            return None
        known = [value for value in values if value is not None]
        total += each["weight"] * (fmean(known) if known else 0.0)
    return total


def _told(function: Mapping[str, Any]) -> Observed:
    means = [
        f"{kind} {_number(fmean(known))}"
        for kind, each in function["tries"].items()
        if each["values"] and (known := [value for value in each["values"] if value is not None])
    ]
    return Observed.quoted(function["place"] or function["function"], f"{function['function']}: {', '.join(means)}")


def _number(value: float) -> str:
    return f"{value:.3g}"
