"""Understands what a program says of itself by the predicate of its sentence, where no signature knows the sentence.

A few dozen predicates carry most warnings and refusals of the stack ("will be ignored", "failed to decode", "longer
than", "is not registered"), whatever they are about: the sentence brings its subject along. The verbs are those of
public threads about the stack (`tests/logs/failures/test_spoken.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.problem import ERROR, INFO
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.spoken import Sense, Spoken
from doctor.logs.failures import bare, divisions, precisions, system_words, timeouts
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Raised
from doctor.logs.failures.replaced import in_place_of_unknown
from doctor.logs.failures.unrecognised import is_report
from doctor.logs.lines.nature import FOREIGN
from doctor.logs.lines.prefixes import strip
from doctor.logs.lines.prose import is_document, is_said_by_program
from doctor.logs.metrics.courses import settings_of
from doctor.logs.told import contrast

_AREA = "launch"
_SPEED = "perf"
#: lines that a person quotes of a run; in a whole log something is always skipped or falls back
_EXCERPT = 60
#: arguments that a program prints are no sentence
_DUMP = later(r"(?:\b\w{2,40}=[^\s,()]{1,80}, ){4}")
#: records below the level of warnings say what a program does, not what it fails to do
_NOTED = frozenset("ID")
#: what somebody asked for, and what a shell's program says of the terminal
_WANTED = later(
    r"(?i)\b(?:by|per|on) (?:the )?user(?:'s)? (?:settings?|request|configuration|choice)\b"
    r"|\bas (?:requested|configured)\b|\bno \w+(?: \w+)? (?:was|were) requested\b|^nohup: "
)
#: what is as it should be, by its own next line, or concerns what draws bars
_EXPECTED = later(r"\bnot used when initializing\b|\bIProgress not found\b")
#: a line of code, JSON or a configuration with its comment
_WRITTEN = later(r"^\s*(?:[\w.\[\]'\"]{1,60} = [\[{]|[\"'][\w.\- ]{1,60}[\"']: |[\w.\-]{1,60}: .{0,200} # )")
#: notes of torch's own private modules
_INTERNAL = later(r"\btorch/_\w+/\w+\.py:\d")
_LONGEST_LINE, _LONGEST_CLAUSE, _LONGEST_MESSAGE = 1_000, 140, 1_500


class _Predicate(NamedTuple):
    sense: Sense
    pattern: re.Pattern[str]


#: of a run that goes on, what spoils it most first
_OF_RUNS = (
    _Predicate("not_a_number", later(r"\b(?:NaNs?|nans?|Infs?|infs?)\b.{0,20}\b(?:detected|found|encountered|appear)"
                                     r"|\b(?:detected|found|encountered) (?:an? )?(?:NaN|nan|Inf|inf)s?\b")),
    _Predicate("no_gradient", later(r"\b[Gg]radients? (?:will be|is|are) (?:None|zero|not )")),
    _Predicate("not_learnt", later(r"\b(?:may|will|does|do) (?:not|never) (?:be )?(?:learn|train)(?:ed|t)?\b"
                                   r"|\bnot (?:\w+ ){0,8}in(?:cluded in)? the (?:loss|labels?)\b"
                                   r"|\b(?:targets?|labels?|supervised (?:tokens?|positions?))\b[^:=]{0,30}[:=] ?0$")),
    _Predicate("not_read", later(r"\b(?:[Ff]ailed|[Uu]nable|[Cc]ould not|[Cc]annot|[Cc]an't|[Cc]an not)(?: to)? "
                                 r"(?:decode|parse|extract|read|interpret)\b")),
    _Predicate("left_out", later(r"\(ignored\)|\b(?:will be|is|are|was|were|being|be) (?:\w+ly )?(?:ignored|skipped|"
                                 r"dropped|discarded|filtered out|masked out|left out)\b|\b(?:[Ii]gnoring|[Ss]kipping|"
                                 r"[Dd]ropping|[Dd]iscarding)\b|\b(?:using|keeping) (?:the )?remaining\b"
                                 r"|\b[Ss]etting [\w.]{2,40} to (?:all )?(?:0s?|zeros?|None|empty)\b"
                                 r"|\b[Nn]o (?:valid )?(?:labels?|tokens?|samples?)\b.{0,30}\b(?:left|found|remain)")),
    _Predicate("not_same", later(r"\bmay (?:\w+ ){1,3}(?:different|differ|inaccurate|incorrect|wrong|unexpected)\b"
                                 r"|\brounding errors?\b|\b[Mm]ismatch(?:es)? (?:between|of|in)\b"
                                 r"|\bmismatch: \S+ vs\.? ")),
    _Predicate("gone", later(r"\b(?:process|worker|server|backend|engine|service|actor)(?: process)? (?:has |was |is )?"
                             r"(?:shut ?down|died|dead|exited|terminated|crashed|gone|lost)\b")),
    _Predicate("absent", later(r"\b(?:compiled|built|installed) without\b|\bdoes not (?:contain|have|support|include|"
                               r"provide)\b|\b(?:is|are) (?:unavailable|not available|missing|not supported)\b"
                               r"|\b(?:[Cc]ould not|[Cc]annot|[Uu]nable to) find\b|\bnot found\b")),
    _Predicate("instead", later(r"\b[Ff]all(?:ing|s|en)? ?back\b|\b[Dd]isabling\b|\bwill be (?:disabled|overridden|"
                                r"overwritten|replaced|reset|truncated|clamped|set to)\b|\bhas no effect\b"
                                r"|\bnot (?:be )?(?:applied|used|honou?red)\b"
                                r"|\bpatch(?:ing)? (?:may have |has )?fail")),
    _Predicate("all_fail", later(r"(?i)(?:\b|_)(?:fail\w*|errors?|rejected|invalid|truncated|skipped|dropped)\b"
                                 r"\D{0,12}\b(?P<all>[1-9]\d{0,6})/(?P=all)\b")),
    _Predicate("none_of", later(r"\b0 (?:of (?:them|the|\d)|(?:batches|samples|rows|tokens|tensors|examples|labels"
                                r"|sequences|parameters|params|adapters|episodes)\b(?! (?:were |was )?(?:skipped"
                                r"|dropped|failed|filtered|truncated|rejected|ignored|lost|missing)))"
                                r"|[=:] ?(?:\[\]|\{\})(?:$|[\s,;])")),
    _Predicate("twice", later(r"(?P<token><[|\uff5c]?(?:s|bos|begin[\w\u2581]{0,20}|startoftext|eos|eot_id|im_end"
                              r"|im_start)[|\uff5c]?>)\s?(?P=token)")),
    _Predicate("not_known", later(r"(?:^|\] )(?:Invalid|Unknown|Unsupported|Unrecogni[sz]ed) \w+:")),
)  # fmt: skip
#: what a program says of its training that no metric shows
_SPOIL = frozenset({"not_a_number", "no_gradient", "not_learnt"})
#: of exceptions, the firmest first
_BEYOND = later(
    r"(?P<a>\d[\d,]*)\D{0,60}?(?:too long|too large|longer than|exceed\w*|larger than|greater than|more than"
    r"|beyond|does not fit)\D{0,90}?(?P<b>\d[\d,]*)"
)
_COMPARED = later(
    r"(?P<n1>[A-Za-z_][\w.]{1,40}(?: in \w+(?: \w+)?)?) (?P<a>-?\d[\d.]*) (?:is not equal to|must be equal to|!=|"
    r"differs? from|does not match|is not) (?P<n2>[A-Za-z_][\w.]{1,40} )?(?P<b>-?\d[\d.]*)"
)
_AT_ODDS = later(
    r"(?i)\bmismatch|\bmust (?:match|share|agree|equal|be equal|be the same)|\binconsisten|\bnot the same\b"
)
_PAIR = later(r"(?<![\w.])(?P<name>[A-Za-z_][\w.]{1,40})\s?[=:]\s?(?P<value>-?\d[\d.]*)(?![\w.]*\d*\s?:)")
_NOT_KNOWN = later(
    r"(?i)\bnot (?:been )?(?:registered|recogni[sz]ed|supported|implemented|a valid|among|one of|known)\b"
    r"|\b(?:unrecogni[sz]ed|unsupported|unknown|invalid|unexpected)\s+(?:\w+\s+){0,2}\w+"
)
_NOT_SET_UP = later(
    r"(?i)\b(?:is|was|are|has|have)(?: not|n't) (?:yet )?(?:been )?"
    r"(?:initiali[sz]ed|set up|started|created|built|loaded)"
)
_REQUIRED = later(
    r"(?i)\b(?:must|should|has to|have to|needs? to) (?:not )?"
    r"(?:be|have|equal|match|contain|divide|support|set|use|encode|include|provide|return|define|exist|come|start|end)\b"
    r"|\brequires?\b|\b(?:is|are) required\b|\bonly supports?\b"
    r"|\bplease (?:set|use|choose|pass|specify|enable|disable|provide|either|install)\b"
    r"|\b(?:make sure|ensure|be sure) (?:that |to |the |your |you )|\byou (?:may |might |will )?(?:need|have) to\b"
    r"|(?:^|\. )(?:Enable|Disable|Set|Use|Pass|Specify|Choose) [\w`'\"-]"
)
#: a tensor that lies elsewhere than what works on it: `to work on cuda:0, but the input tensor is on cpu`
_DEVICES = later(
    r"(?i)\b(?P<one>(?:cuda|xpu|npu)(?::\d{1,3})?|cpu|meta)\b[^\n]{0,40}?\b(?:but|while|and not|instead of|got|found)\b"
    r"[^\n]{0,60}?\b(?P<other>(?:cuda|xpu|npu)(?::\d{1,3})?|cpu|meta)\b"
)
#: of what there may be one only, or what is there already
_TAKEN = later(
    r"(?i)\bonly one\b.{0,90}\b(?:allowed|supported|permitted|possible|can be)\b|\balready (?:exists?|registered|"
    r"initiali[sz]ed|in use|running|started|taken|has an?|been (?:registered|initiali[sz]ed|added))\b"
    r"|\bcannot (?:be )?(?:add|create|register|initiali[sz]e|call)\w*\b.{0,40}\b(?:twice|again|more than once)\b"
)
#: of what a program, or a combination of settings, does not do
_CANNOT = later(
    r"(?i)\b(?:do|does)(?: not|n't) (?:yet |currently )?(?:support|allow|accept|permit|implement|provide|handle)\b"
    r"|\b(?:cannot|can ?not|can't) (?:be )?(?:used?|combined?|enabled?|merged?|mix(?:ed)?|train(?:ed)?|saved?|resumed?|"
    r"run)\b|\bnot (?:allowed|possible|compatible|permitted)\b|\bincompatible with\b"
)
#: of a step, a batch or a set that holds nothing any more
_NOTHING_LEFT = later(
    r"(?i)\b(?:consecutive )?empty (?:batch|step|group|sample|rollout|response|split|dataset)\w*"
    r"|\b(?:produced|returned|yielded|generated|collected|kept|left with|has|got) (?:0|no|zero) (?:\w+ )?"
    r"(?:samples?|rollouts?|groups?|examples?|rows?|batch(?:es)?|trajector\w+|prompts?|data)\b"
    r"|\bno (?:\w+ )?(?:samples?|rollouts?|groups?|examples?|rows?|batch(?:es)?|trajector\w+|prompts?) "
    r"(?:left|remain\w*|found|available|survived)\b"
    r"|\b(?:num_gen_batches|generation batches?)\b.{0,60}\b(?:max|exceed|generated too many)\w*"
)
#: a sentence that lists what may be the reason says nothing of what is
_PERHAPS = later(r"(?i)\b(?:could|can|may|might)(?: be| have been)? (?:because|due to|caused by)\b")
#: what a library calls so is its own affair: no setting is asked for
_PRIVATE = later(r"[`'\"]_[a-z]\w{2,60}[`'\"]")
#: parts of names of options that hundreds of sentences hold
_EVERYDAY = frozenset({
    "parallel", "training", "gradient", "checkpoint", "maximum", "learning", "precision", "sequence", "attention",
    "sampling", "completion", "completions", "generation", "generations", "optimizer", "distributed", "processing",
    "pipeline", "tokenizer", "embedding", "response", "position", "evaluation",
})  # fmt: skip
_LEAST_LETTERS = 8
_BY_ZERO = later(r"(?i)\b(?:division|modulo)\b.{0,20}\bzero\b")
_MOST_SETTINGS, _SHORTEST = 4, 6
_WORDS = later(r"[A-Za-z_][A-Za-z0-9_]{2,60}")
#: `assert` of C++, with the sentence that its author put in: `'false and "Unsupported hidden"'`
_IN_CODE = later(r"Assertion error (?P<path>[^\s:]{3,200}):\d{1,6} '[^'\n]{0,80}\"(?P<words>[^\"\n]{3,120})\"")
#: exceptions with which code refuses in words of its own
_REFUSALS = ("ValueError", "AssertionError", "RuntimeError", "NotImplementedError", "Exception", "TypeError")
#: kinds of failure that no sentence explains
_NO_REFUSAL = later(
    r"(?i)CUDA|NCCL|out of memory|undefined symbol|unexpected keyword|positional argument|HTTP|socket"
    r"|unsupported operand"
)

_WARNING = later(r"(?:^|: )(?:\w{0,40}Warning|WARNING|Warning|WARN|ERROR|(?:Error|Exception)(?=:))\b:?\s*")
_STATEMENT = later(r"^\s*(?:warnings\.warn|warn|logger\.\w+|print|raise)\(")
_CODE_PATH = later(r"^(?P<path>(?:[A-Za-z]:)?[\w./\\\-+@ ]{1,300}\.py):\d{1,6}: \w{0,40}Warning: ")
_LOGGER = later(r"^(?:\[[\w.:/ \-]{2,60}\]\s*)+|^(?:ERROR|WARNING|INFO|WARN)\b[:\s]\S{0,40}[:\s]\s*")
_STAMPS = later(r"^(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\s?[:|-]?\s*")
_SENTENCE = later(r"(?<=[a-z)`'\"\]])[.!] +(?=[A-Z`'])")
_INSTALLED = later(r"(?:site|dist)-packages[/\\](?P<name>\w{2,40})[/\\]")
_SPEAKER = later(r"^(?P<who>[A-Z]\w{3,40}): ")
_FOLDED = later(r" \[repeated (?P<times>\d{1,6})x across cluster\]")
_FIGURES = later(r"\d+|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"")


def told(
    findings: Sequence[Finding], case: Case, entries: Mapping[str, Entry], unknown: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings, an answer that knew nothing replaced by what the program itself says, where that is understood.

    Args:
        findings: root cause first.
        case: what the logs say.
        entries: the catalogue.
        unknown: ids of the problems that say only that nothing is known.

    """

    def answer_to(first: Finding) -> Finding | None:
        # what is only noted beside it may well be the answer, unless it is noted to be slow
        loud = (
            each
            for each in findings[1:]
            if each.severity is not INFO or each.problem.severity is ERROR or _area(each, entries) == _SPEED
        )
        known = {(one.origin.source, one.origin.line) for each in loud for one in each.evidence}
        spoken = _timed_out(first, case) or _said_by_exception(first, case) or bare.said_by(first, case)
        spoken = spoken or _said_by_lines(first, case, known) or _said_by_a_person(first, case)
        return _answer(spoken, entries.values()) if spoken is not None else None

    return in_place_of_unknown(findings, unknown, "spoken", answer_to)


def _area(finding: Finding, entries: Mapping[str, Entry]) -> str:
    entry = entries.get(finding.problem.id)
    return entry.area if entry is not None else ""


def _answer(spoken: Spoken, entries: Iterable[Entry]) -> Finding | None:
    for entry in entries:
        function = function_of(entry, "of_words") if entry.area == _AREA else None
        finding = function(spoken) if function is not None else None
        if isinstance(finding, Finding):
            return finding
    return None


def _timed_out(first: Finding, case: Case) -> Spoken | None:
    """What an unknown exception, or a line of an excerpt, says of a wait that has had its time."""
    at = (first.where.file, first.where.line)
    failure = next((each for each in case.failures if (each.cause.line.file, each.cause.line.number) == at), None)
    if failure is not None:
        raised = failure.cause
        message = redact_text(raised.message[:_LONGEST_MESSAGE], homes=False)
        known = None if raised.frames and raised.frames[-1].own else timeouts.read(message)
        return _wait(known, first.where, first.evidence, case, _library(raised), 1) if known else None
    if case.failures or case.exits or case.lines > _EXCERPT or is_report(case):
        return None
    for place in range(len(case.kept)):
        lines = list(_lines(case, place))
        for index, each in enumerate(lines):
            after = "\n".join(other.text for other in lines[index : index + 4])
            if known := timeouts.read(redact_text(each.text, homes=False), after):
                again = [other for other in lines if timeouts.read(other.text) is not None]
                path = case.sources[place].path
                quotes = (Observed.quoted(path, redact_text(each.text)[:500], each.number),)
                where = Where(file=path, line=each.number)
                times = sum(other.times for other in again)
                return _wait(known, where, quotes, case, _speaker(each.text, lines), times)
    return None


def _wait(
    known: timeouts.TimedOut, where: Where, quotes: tuple[Observed, ...], case: Case, who: str, times: int
) -> Spoken:
    around = [text for kept in case.kept for _, text in kept[-_EXCERPT:] if timeouts.read(text) is None]
    shown = "\n".join([case.given.text, *around])
    limits = [f"{name}={value}" for name, value in settings_of(case).items() if "timeout" in name.lower()]
    seconds = "" if known.seconds is None else f"{known.seconds:g}"
    return Spoken(
        "timed_out", known.what, where, quotes, who, times, seconds, known.limit, tuple(limits[:_MOST_SETTINGS]),
        raised=bool(case.failures), slow=timeouts.slow_work(shown),
    )  # fmt: skip


# exceptions -------------------------------------------------------------------------------------------------------


def _said_by_exception(first: Finding, case: Case) -> Spoken | None:
    """What the message of an unknown exception says."""
    at = (first.where.file, first.where.line)
    failure = next((each for each in case.failures if (each.cause.line.file, each.cause.line.number) == at), None)
    if failure is None:
        return None
    raised = failure.cause
    if (system := system_words.of_chain([each.message for each in failure.chain])) is not None:
        sense, address, reason = system
        return Spoken(sense, reason, first.where, first.evidence, _library(raised), first=address, raised=True)
    if raised.frames and raised.frames[-1].own:
        return None  # what one's own code refuses is known to its author
    message = redact_text(raised.message[:_LONGEST_MESSAGE], homes=False)
    understood = of_message(raised.name or raised.type, message)
    if understood is None:
        return None
    made = settings_of(case)
    settings = _named(message, made, zero=understood.sense == "by_zero")
    if understood.sense == "indivisible":
        settings = divisions.settings(understood.first, understood.second, message, made)[:_MOST_SETTINGS]
    elif understood.sense == "precisions":
        settings = precisions.settings(made)[:_MOST_SETTINGS]
    if understood.sense == "devices":
        settings = (*settings, *_offloading(settings_of(case)))[:_MOST_SETTINGS]
    if understood.sense == "by_zero" and not settings:
        return None
    if understood.sense == "required" and _library(raised) == "torch" and not settings:
        return None  # what torch requires of tensors is the caller's to keep; no setting says it
    place = str(first.values.get("place", "")) if raised.frames else ""
    return Spoken(
        understood.sense, understood.what, first.where, first.evidence, understood.who or _library(raised), 1,
        understood.first, understood.second, settings, raised=True, place=place, callers=_callers(raised),
    )  # fmt: skip


class Understood(NamedTuple):
    """A sentence: what it says, its clause, who says it, and two figures that it compares."""

    sense: Sense
    what: str
    who: str = ""
    first: str = ""
    second: str = ""


def of_message(kind: str, message: str) -> Understood | None:
    """What the message of an exception says; None where its predicate is none that is known.

    Args:
        kind: type of the exception, without its module.
        message: its words, without secrets.

    """
    if kind == "ZeroDivisionError" and _BY_ZERO.search(message):
        return Understood("by_zero", _clause(message))
    if kind not in _REFUSALS:
        return None
    if code := _IN_CODE.search(message):
        folders = [each for each in code["path"].split("/") if each not in {"", "csrc", "src", "kernels", "workspace"}]
        who = next((each for each in folders if any(letter.isupper() for letter in each)), folders[0])
        return Understood("not_known", code["words"], who)
    devices = _DEVICES.search(message)
    if devices is not None and devices["one"].partition(":")[0].lower() != devices["other"].partition(":")[0].lower():
        return Understood("devices", _clause(message), "", devices["one"], devices["other"])
    if _NO_REFUSAL.search(message):
        return None
    lines = " ".join(message.split())
    understood = _compared(lines) or _refused(lines)
    return None if understood is None or _PERHAPS.search(understood.what) else understood


def _compared(message: str) -> Understood | None:
    """Two figures that do not fit together."""
    if (uneven := divisions.read(message)) is not None:
        return Understood("indivisible", _clause(message, divisions.PREDICATE), "", uneven.whole, uneven.part)
    if (types := precisions.read(message)) is not None:
        return Understood("precisions", _clause(message, precisions.TYPE), "", *types)
    if match := _COMPARED.search(message):
        second = (match["n2"] or "").strip()
        return Understood(
            "disagree", _clause(message), "", f"{match['n1']} = {match['a']}", f"{second} = {match['b']}".strip(" =")
        )
    if match := _BEYOND.search(message):
        return Understood("beyond", _clause(message), "", match["a"], match["b"])
    pairs = [(each["name"], each["value"].rstrip(".")) for each in _PAIR.finditer(message)]
    unequal = len(pairs) >= 2 and len({value for _, value in pairs[:2]}) > 1
    if unequal and _AT_ODDS.search(message):
        (one, a), (other, b) = pairs[:2]
        return Understood("disagree", _clause(message), "", f"{one} = {a}", f"{other} = {b}")
    return None


def _refused(message: str) -> Understood | None:
    """Something that is not known, not there yet, there already, or not there any more."""
    for sense, pattern in (("nothing_left", _NOTHING_LEFT), ("taken", _TAKEN)):
        if pattern.search(message):
            return Understood(sense, _clause(message, pattern))  # type: ignore[arg-type]
    if _NOT_SET_UP.search(message):
        return Understood("not_set_up", _clause(message, _NOT_SET_UP))
    if next(each for each in _OF_RUNS if each.sense == "gone").pattern.search(message):
        return Understood("gone", _clause(message))
    if _NOT_KNOWN.search(message):
        return Understood("not_known", _clause(message, _NOT_KNOWN))
    if _CANNOT.search(message):
        return Understood("cannot", _clause(message, _CANNOT))
    if _REQUIRED.search(message) and not _PRIVATE.search(message):
        return Understood("required", _clause(message, _REQUIRED))
    return None


def settings_that_name(words: str, settings: Mapping[str, object]) -> tuple[str, ...]:
    """Settings, as `name=value`, whose names share a rare word with those of a message, or that it writes."""
    return _named(words, settings, zero=False)


def _named(message: str, settings: Mapping[str, object], *, zero: bool) -> tuple[str, ...]:
    """Settings that a message names, whole or by the end of a dotted name; or those that are 0."""
    words = {each.lower() for each in _WORDS.findall(message)}
    found = []
    for name, value in settings.items():
        if not isinstance(value, bool | int | float | str) or (
            "." not in name and any(other.endswith(f".{name}") for other in settings)
        ):
            continue
        own = name.rpartition(".")[2].lower()
        meant = (
            value == 0 and not isinstance(value, bool) if zero else _is_meant(own, words) or _shares_a_word(own, words)
        )
        if meant:
            found.append(f"{name}={value}")
    return tuple(found[:_MOST_SETTINGS])


def _offloading(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Settings that leave tensors on the CPU."""
    known = ((name, value) for name, value in settings.items() if "offload" in name.lower() or name.endswith("use_cpu"))
    return tuple(f"{name}={value}" for name, value in known if value is True or str(value).lower() in {"true", "cpu"})


def _shares_a_word(name: str, words: Collection[str]) -> bool:
    """Whether a rare word of a setting's name stands in a message by itself: `reasoning_parser` and "reasoning"."""
    parts = {each for each in name.split("_") if len(each) >= _LEAST_LETTERS and each not in _EVERYDAY}
    return bool(parts & set(words))


def _is_meant(name: str, words: Collection[str]) -> bool:
    """Whether a message writes a setting, in full or cut short: `training_batch_size`, `ppo_mini_batch`."""
    if len(name) < _SHORTEST:
        return False
    return any(
        word == name
        or (len(word) >= _SHORTEST and (name.startswith(word) or name.split("_", 1)[-1] == word.split("_", 1)[-1]))
        for word in words
        if "_" in word
    )


def _callers(raised: Raised) -> tuple[str, ...]:
    """Libraries on the way to the one that raised, nearest first; through torch everything is called."""
    own = _library(raised)
    others = (each.package for each in reversed(raised.frames) if each.package not in {"", own, "torch"})
    return tuple(dict.fromkeys(others))[:2]


def _library(raised: Raised) -> str:
    frames: list[Frame] = [each for each in raised.frames if each.package]
    return frames[-1].package if frames else ""


def _said_by_a_person(first: Finding, case: Case) -> Spoken | None:
    """Where it works, as the text beside an excerpt says that shows no failure and no end."""
    if case.failures or case.exits or case.lines > _EXCERPT or first.where.rank is not None:
        return None
    told = contrast.read(case.given.said)
    if told is None:
        return None
    name = case.given.names[0] if case.given.names else ""
    quote = Observed.quoted(name, redact_text(told.text)[:300], told.line)
    what = redact_text(told.well, homes=False)
    return Spoken("contrast", what, Where(file=name or None, line=told.line), (quote,), first=told.kind)


# lines of a run ---------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    source: int
    number: int
    text: str
    times: int


def _said_by_lines(first: Finding, case: Case, known: Collection[tuple[str, int | None]]) -> Spoken | None:
    """What lines of an excerpt say that shows no failure, no end and no steps; not what a problem knows already."""
    if first.where.rank is not None or case.failures or case.exits or case.marks.steps is not None:
        return None
    if case.lines > _EXCERPT or is_report(case) or {*case.natures.values()} - {"", FOREIGN}:
        return None
    lines = [
        each
        for place in range(len(case.kept))
        for each in _lines(case, place)
        if (case.sources[place].path, each.number) not in known
    ]
    # where figures of a living run were judged, only what spoils a training that looks well
    predicates = [each for each in _OF_RUNS if each.sense in _SPOIL] if first.values.get("judged") else _OF_RUNS
    for predicate in predicates:
        hits = [each for each in lines if predicate.pattern.search(each.text) and not _clause(each.text).isalpha()]
        if hits:
            return _of_lines(predicate.sense, hits, lines, case)
    return None


def _lines(case: Case, source: int) -> Iterator[_Line]:
    in_document = is_document(case.sources[source].path, case.kept[source])
    for number, whole in case.kept[source]:
        if number in case.pasted_lines or _WRITTEN.match(whole):
            continue  # code and configuration, which say nothing of a run
        if not whole.strip() or _STATEMENT.match(whole) or _DUMP.search(whole):
            continue
        if not is_said_by_program(whole[:_LONGEST_LINE], in_document=in_document):
            continue
        stripped = strip(whole[:_LONGEST_LINE])
        folded = _FOLDED.search(stripped.text)
        text = stripped.text[: folded.start()] if folded else stripped.text
        if stripped.level in _NOTED or _WANTED.search(text) or _INTERNAL.search(whole) or _EXPECTED.search(text):
            continue
        yield _Line(source, number, text, 1 + stripped.repeated + (int(folded["times"]) if folded else 0))


def _of_lines(sense: Sense, hits: Sequence[_Line], lines: Sequence[_Line], case: Case) -> Spoken:
    one = hits[0]
    shape = _FIGURES.sub("#", _clause(one.text))[:40]
    alike = [each for each in hits if _FIGURES.sub("#", _clause(each.text))[:40] == shape]
    file = case.sources[one.source].path
    text = redact_text(one.text, homes=False)
    quotes = tuple(
        Observed.quoted(case.sources[each.source].path, redact_text(each.text)[:500], each.number) for each in alike[:3]
    )
    return Spoken(
        sense, _clause(text), Where(file=file, line=one.number), quotes, _speaker(one.text, lines),
        sum(each.times for each in alike),
    )  # fmt: skip


def _speaker(text: str, lines: Sequence[_Line]) -> str:
    """The library, or the class, that says a line."""
    if path := _CODE_PATH.match(text):
        installed = _INSTALLED.search(path["path"])
        inner = path["path"].replace("\\", "/").rpartition("site-packages/")[2].rpartition("dist-packages/")[2]
        name = (inner or path["path"]).removesuffix(".py").replace("/", ".")
        return name if installed else name.rpartition(".")[2]
    bare = _WARNING.sub("", text, count=1)
    if who := _SPEAKER.match(bare.strip()):
        return who["who"]
    nearby = (_INSTALLED.search(each.text) for each in lines)
    return next((each["name"] for each in nearby if each), "")


def _clause(text: str, predicate: re.Pattern[str] | None = None) -> str:
    """The sentence that carries the predicate, or one of those of runs, without level, logger, stamps and path."""
    text = _CODE_PATH.sub("", text.strip())
    for head in (_LOGGER, _STAMPS, _WARNING, _LOGGER):
        text = head.sub("", text, count=1).strip()
    parts = _SENTENCE.split(" ".join(text.split()))
    patterns = [predicate] if predicate is not None else [each.pattern for each in _OF_RUNS]
    with_predicate = (part for part in parts if any(each.search(part) for each in patterns))
    clause = next(with_predicate, parts[0]) if parts else text
    clause = _SPEAKER.sub("", clause.replace("`", "'").rstrip(".!: "))
    return clause if len(clause) <= _LONGEST_CLAUSE else clause[: _LONGEST_CLAUSE - 1].rsplit(" ", 1)[0] + " …"
