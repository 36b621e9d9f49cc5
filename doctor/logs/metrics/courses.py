"""Metrics of a run that is over, held against its settings and against what its owner says of another run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.evidence import UNKNOWN, Observed
from doctor.base.patterns import later
from doctor.catalogue.courses import PROGRAM, Compared, Course, Courses
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed, crash_of
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.series import ALIASES
from doctor.logs.failures.case import Case
from doctor.logs.failures.ends import end_of
from doctor.logs.metrics import loose, side_by_side
from doctor.logs.metrics.live import Live
from doctor.logs.read.context import settings_in
from doctor.logs.told.context import said_in
from doctor.logs.told.said import value_of

_AREAS = ("rl", "numerics", "data", "python", "checkpoint")
_NOT_SETTINGS = frozenset({"variable", "package", "python", "gpu", "command", "raised", "fact"})
_OPTION = later(r"(?:^|[\s(,])-{0,2}(?P<name>[A-Za-z][\w.\-]{1,60}?)\s?[=:]\s?(?P<value>[-+\w.]{1,30})")
_FLAG = later(r"--(?P<name>[A-Za-z][\w\-]{1,50}) (?P<value>[-+]?\d[\w.]{0,20})(?=\s|$)")
#: a word of a command that sets a part of a configuration, whatever program it is of
_OVERRIDE = later(r"(?<!\S)\+{0,2}(?P<name>[a-z]\w{1,40}(?:\.\w{1,60}){1,6})=(?P<value>[-+\w.]{1,60})(?=\s|$)")
#: a release as `pip freeze` lists it
_RELEASE = later(r"(?m)^\s*(?P<name>[A-Za-z][\w.\-]{1,60})==(?P<version>\d[\w.]{0,30})\s*$")
#: a line of metrics, in any notation
_MEASURED = later(
    r"(?i)\b(?:train_|eval_)?(?:loss|reward|score|grad_norm|kl|entropy|epoch|accuracy|lr)(?:/\w+)?['\"]?\s?[:=|]\s?['\"]?-?(?:\d|nan|inf)"
    r"|\bstep:\d+ - "
)
#: what starts a training of RL, by which it is told whose its settings are
_PROGRAMS = later(
    r"\b(?:train_async\.py|openrlhf\.cli\.\w{1,40}|swift rlhf|verl\.[\w.]{1,60}|AsyncGRPOConfig|GRPOConfig)"
)
#: lines of a log that may hold a sentence of its owner
_EXCERPT = 60
#: what the record of a pass of a rehearsal holds: its few steps are an excerpt of the run to come, whatever ended it
OF_REHEARSAL = "doctor_rehearsal"

_OTHER = later(
    r"(?i)\b(?:with|without|under|using|before|after|in|on)\s+(?P<other>(?!the same\b)[A-Za-z][^\s:,;]{1,60}"
    r"(?:\s(?!the\b|logs?\b|reads?\b|gives?\b|shows?\b|has\b|have\b|had\b|is\b|was\b|it\b|this\b)[^\s:,;]{1,30}){0,3})"
)
_SAME = later(
    r"(?i)\bthe same (?:run|data|seed|model|command|script|setup|config\w*)\b|\botherwise (?:identical|equal)\b"
)
_NAME = later(r"[A-Za-z][\w./@\-]{1,80}")
_FIGURE = later(r"(?<![\w.<>=])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?![\w.]*\d)")
_THE_ONE = later(r"(?i)\bthe metric\b|\bthis (?:metric|value)\b|\bthese values\b")
_TIMES = later(r"(?i)\b(?:(?P<twice>twice|double)|(?P<half>half)|(?P<n>\d{1,3}) times)\b")
#: two runs of one thing differ by chance; by this factor they do not
FACTOR = 1.5


def _total(case: Case, found: Mapping[str, Course]) -> int | None:
    """Steps of the run: by the bar that is full at the last step, even where one of a run before it counts to more."""
    if case.marks.full and any(each.last_step == case.marks.full for each in found.values()):
        return case.marks.full
    return (case.marks.steps or (0, None))[1]


def judged(
    case: Case, live: Live, total: int | None, entries: Mapping[str, Entry], laws: str = "of_courses"
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """What the laws over whole courses say, or those over what a few lines show; a bug of ours costs only that."""
    found = live.courses
    short = case.lines <= _EXCERPT and not (case.failures or case.exits)
    # whoever quotes lines to the end quotes a run that is over, unless words beside it say what ails it
    over = end_of(case) and not case.given.said and OF_REHEARSAL not in case.given.config
    excerpt = short and not over
    if not (found or short):
        return (), ()
    try:
        total = _total(case, found) if total is None else total
        words = _words(case) if short else ""
        courses = Courses(
            found, settings_of(case), total, tuple(compared(case, found)), excerpt, _versions(case), words, live.anew
        )
        answers = (
            function(courses)
            for entry in entries.values()
            if entry.has_code
            and entry.may_have(laws)
            and entry.area in _AREAS
            and (function := function_of(entry, laws)) is not None
        )
        return tuple(each for each in answers if isinstance(each, Finding)), ()
    except Exception as exc:  # noqa: BLE001 - what the rules found is worth more
        return (), (crash_of("courses", exc),)


def settings_of(case: Case) -> dict[str, object]:
    """Settings that logs and context tell, by their own names and by the last part of dotted ones.

    Of an excerpt every line may be a command or a configuration; `PROGRAM` holds the programs that it names.
    """
    told: dict[str, object] = {}
    quoted = _quoted(case)
    told |= {name: value_of(value) for name, value in settings_in(quoted).items()}
    told |= {match["name"]: value_of(match["value"]) for match in _OVERRIDE.finditer(quoted)}
    if programs := " ".join(dict.fromkeys(_PROGRAMS.findall(f"{quoted}\n{case.given.said[:20_000]}"))):
        told[PROGRAM] = programs
    for text in case.given.text.splitlines()[:5_000]:
        for pattern in (_OPTION, _FLAG):
            for match in pattern.finditer(text[:2_000]):
                told[match["name"].replace("-", "_")] = value_of(match["value"])
    told |= {name: value_of(str(value)) for name, value in {**case.config, **case.given.config}.items()}
    for each in (*case.told, *said_in(case.given)):
        if each.owner not in _NOT_SETTINGS:
            told[each.name] = each.value
    told = {name: value for name, value in told.items() if value is not UNKNOWN}
    ends: dict[str, list[object]] = {}
    for name, value in told.items():
        ends.setdefault(name.rpartition(".")[2], []).append(value)
    return {**{name: values[0] for name, values in ends.items() if len({repr(each) for each in values}) == 1}, **told}


def _quoted(case: Case) -> str:
    """The lines of an excerpt that are no metrics, whose names settings have, too."""
    if case.lines > _EXCERPT or case.failures:
        return ""
    told = (text[:2_000] for kept in case.kept for _, text in kept)
    return "\n".join(text for text in told if _is_command(text) or not _MEASURED.search(text))


def _words(case: Case) -> str:
    """All that a person quotes and says."""
    told = (text[:2_000] for kept in case.kept for _, text in kept)
    return "\n".join((*told, case.given.said[:20_000]))


def _is_command(text: str) -> bool:
    """Whether a line sets parts of a configuration, of which one may be called as a metric is: `optim.lr=1e-6`."""
    return len(_OVERRIDE.findall(text)) > 1


def _versions(case: Case) -> dict[str, str]:
    """Versions of logs and context, also of a list or a sentence that a person wrote."""
    stated = (each for each in said_in(case.given) if each.owner == "package")
    listed = {match["name"].lower(): match["version"] for match in _RELEASE.finditer(case.given.text[:20_000])}
    return {**listed, **{each.name: str(each.value) for each in stated}, **case.given.versions, **case.versions}


# the same metric elsewhere ----------------------------------------------------------------------------------------


def compared(case: Case, found: Mapping[str, Course]) -> Iterator[Compared]:
    """What context, or a note within a short log, says of the same metric in another run."""
    yield from _labelled(case, found)
    name = case.given.names[0] if case.given.names else ""
    for number, text in enumerate(case.given.said.splitlines()[:2_000], 1):
        yield from _of_sentence(text[:600], found, Observed.quoted(name, text.strip()[:300], number))
    if case.lines <= _EXCERPT:
        for source, kept in enumerate(case.kept):
            yield from side_by_side.compared(case.sources[source].path, kept)
            for number, text in kept:
                if _SAME.search(text):
                    quote = Observed.quoted(case.sources[source].path, text.strip()[:300], number)
                    yield from _of_sentence(text[:600], found, quote)


def _labelled(case: Case, found: Mapping[str, Course]) -> Iterator[Compared]:
    """Values of one metric that lines of an excerpt set side by side: `grad_norm: 0.31 (world size 8)`."""
    first: dict[str, tuple[str, float]] = {}
    for source, kept in enumerate(case.kept) if case.lines <= _EXCERPT else ():
        for number, text in kept:
            told = loose.LABELLED.match(text)
            name = _known(told["name"], found) if told else ""
            if told is None or not name:
                continue
            label, value = told["label"].strip(), float(told["value"])
            before, here = first.setdefault(name, (label, value))
            if before != label and _apart(here, value) >= FACTOR:
                quote = Observed.quoted(case.sources[source].path, text.strip()[:300], number)
                yield Compared(name, label, here, value, quote)


def _of_sentence(text: str, found: Mapping[str, Course], quote: Observed) -> Iterator[Compared]:
    other = _OTHER.search(text)
    if other is None:
        return
    label = _FIGURE.sub(lambda match: match[0], other["other"]).strip(" .")
    for course, values in _told(text, found, other.end()):
        there = next(iter(values), None)
        if there is None and (times := _TIMES.search(text)):
            there = course.first * (2.0 if times["twice"] else 0.5 if times["half"] else float(times["n"]))
        if there is None or not math.isfinite(there):
            continue
        here = max((course.first, course.last), key=lambda value: _apart(value, there))
        if _apart(here, there) >= FACTOR:
            yield Compared(course.name, label, here, there, quote)


def _told(text: str, found: Mapping[str, Course], behind: int) -> Iterator[tuple[Course, Sequence[float]]]:
    """Metrics that a sentence names behind the words that say what differs, each with the figures after it."""
    names = [(match, found[known]) for match in _NAME.finditer(text, behind) if (known := _known(match[0], found))]
    for place, (match, course) in enumerate(names):
        end = names[place + 1][0].start() if place + 1 < len(names) else len(text)
        yield course, [float(each[0]) for each in _FIGURE.finditer(text, match.end(), end)]
    if not names and len(found) == 1 and (one := _THE_ONE.search(text, behind)):
        yield next(iter(found.values())), [float(each[0]) for each in _FIGURE.finditer(text, one.end())]


def _known(word: str, found: Mapping[str, Course]) -> str:
    word = word.strip(".")
    name = ALIASES.get(word, word)
    if name in found:
        return name
    ends = {known for alias, known in ALIASES.items() if alias.endswith(f"/{word}") and known in found}
    ends |= {known for known in found if known.endswith(f"/{word}")}
    return ends.pop() if len(ends) == 1 else ""


def _apart(one: float, other: float) -> float:
    """Factor between two values; infinite where only one of them is 0 or their signs differ."""
    if one == other:
        return 1.0
    if one == 0 or other == 0 or (one < 0) != (other < 0):
        return math.inf
    small, large = sorted((abs(one), abs(other)))
    return large / small
