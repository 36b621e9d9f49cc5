"""What a detector says: a problem at a place, in words, with its evidence and its remedy.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re
from dataclasses import asdict, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Union

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.base.redact import hide
from doctor.catalogue.problem import Problem, Severity


class Confidence(str, Enum):
    """Confirmed: the evidence proves it. Likely: it fits, and something else could too."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"


class Role(str, Enum):
    """Where a finding stands in the chain from cause to symptom."""

    CAUSE = "cause"
    SYMPTOM = "symptom"
    CONTRIBUTING = "contributing"


CONFIRMED, LIKELY = Confidence.CONFIRMED, Confidence.LIKELY


@record
class Words:
    """One language's text of a finding; ``{name}`` is replaced by what was observed.

    ``[?name|text?]`` stands only where there is a ``name``: "more wanted[?total| on a card of {total}?]";
    ``[!name|text?]`` only where there is none.

    Args:
        headline: the observed fact with number and place; no advice, no period, names in backticks, 80 columns.
        explanation: what it does to the run, in whole sentences.
        remedy: what to do, imperative, in whole sentences.

    """

    headline: str
    explanation: str
    remedy: str


@record
class Message:
    """The text of a finding in English and, where written, in Chinese."""

    en: Words
    zh: Optional[Words] = field(default_factory=lambda: None)  # not of the class: `later` leaves it open

    @classmethod
    def later(cls, make: Callable[[], Message]) -> Message:
        """The message that `make` gives, made when its words are asked for: most checks find nothing to say."""
        later = object.__new__(cls)
        vars(later)["make"] = make
        return later

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make it: this is asked only for what is not there yet."""
            if name not in ("en", "zh"):
                raise AttributeError(name)
            made = vars(self)["make"]()
            vars(self).update(en=made.en, zh=made.zh)
            return getattr(made, name)

    def words(self, language: str) -> Words:
        """Words in `language` ("en" or "zh"); English where the other is missing."""
        return self.zh if language == "zh" and self.zh is not None else self.en


@record
class Phrase:
    """Words that stand where a brace of a message names them, in both languages: ``[phrase]`` of a TOML.

    Braces and `[?name|text?]` in it are filled as those of a message are, from its own `values`.
    """

    en: str
    zh: Optional[str] = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.en)

    def filled(self, **values: Any) -> Phrase:
        """The same with what its braces stand for."""
        return replace(self, values={**self.values, **values})

    def text(self, language: str) -> str:
        """The words in `language` ("en" or "zh"); English where the other is missing."""
        return _filled(self.zh if language == "zh" and self.zh is not None else self.en, _said(self.values, language))


def joined(phrases: Iterable[Union[Phrase, str]], en: str = " ", zh: str = "") -> Phrase:
    """Phrases one after the other, with what stands between two of them in each language."""
    values = {f"part_{number}": each for number, each in enumerate(phrases)}
    names = [f"{{{name}}}" for name in values]
    return Phrase(en.join(names), zh.join(names), values)


def said(en: str, zh: str) -> Phrase:
    """What code put together in both languages, taken as it is: a brace in it stands for itself."""
    return Phrase("{en}", "{zh}", {"en": en, "zh": zh})


@record
class Where:
    """Place of a finding; only what applies is set. Lines and columns count from 1."""

    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    rank: Optional[int] = None
    gpu: Optional[int] = None
    host: Optional[str] = None
    step: Optional[int] = None
    module: Optional[str] = None

    def as_dict(self) -> dict[str, Any]:
        """Only the parts that are set."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@record
class Finding:
    """A problem found. Built by `found`; renderers read it and judge nothing.

    `changes` has what each of `commands` orders, as data (doctor.catalogue.changes), once the remedies were judged.
    """

    problem: Problem
    message: Message
    values: Mapping[str, Any] = field(default_factory=dict)
    where: Where = field(default_factory=Where)
    commands: tuple[str, ...] = ()
    evidence: tuple[Observed, ...] = ()
    links: tuple[str, ...] = ()
    confidence: Confidence = CONFIRMED
    role: Role = Role.CAUSE
    severity: Severity = Severity.ERROR
    nodes: tuple[str, ...] = ()  # host names, where several machines were judged and these have it
    foremost: bool = False  # says which environment all other findings are about: it is told before them
    changes: tuple[tuple[Any, ...], ...] = ()
    detectors: tuple[str, ...] = ()  # who found it, where several looked

    def words(self, language: str = "en") -> Words:
        """Headline, explanation and remedy in `language`, filled with what was observed."""
        words = self.message.words(language)
        spoken = "en" if words is self.message.en else language
        said = _said(self.values, spoken)
        texts = (words.headline, words.explanation, words.remedy)
        headline, explanation, remedy = [_filled(text, said) for text in texts]
        return Words(_begun(headline) if spoken == "en" else headline, explanation, remedy)


#: part of a text that stands only where something was observed
OPTION = later(r"\[([?!])(\w+)\|(.*?)\?\]", re.DOTALL)


#: what a value may put at the beginning of a headline that is no name: "rank 3", "a process", "the run"
_SMALL = later("(?:a|an|the|ranks?) ")


def _begun(headline: str) -> str:
    """A headline with a capital at its beginning, where a value stands there that is no name."""
    return headline[0].upper() + headline[1:] if _SMALL.match(headline) else headline


def _said(values: Mapping[str, Any], language: str) -> dict[str, Any]:
    return {name: each.text(language) if isinstance(each, Phrase) else each for name, each in values.items()}


def _filled(text: str, said: Mapping[str, Any]) -> str:
    if "?]" in text:
        text = OPTION.sub(lambda part: part[3] if bool(said.get(part[2])) is (part[1] == "?") else "", text)
    return text.format(**said)


@record
class Skip:
    """What a check yields for the part it could not see: never ok, never found."""

    reason: str


def found(
    problem: Problem,
    message: Message,
    /,
    *,
    where: Optional[Where] = None,
    commands: tuple[str, ...] = (),
    evidence: tuple[Observed, ...] = (),
    links: tuple[str, ...] = (),
    confidence: Confidence = CONFIRMED,
    role: Role = Role.CAUSE,
    severity: Optional[Severity] = None,
    nodes: tuple[str, ...] = (),
    foremost: bool = False,
    **values: Any,
) -> Finding:
    """Make a finding; `values` fill the braces of `message`, `severity` replaces the problem's own.

    A value that is a `Phrase` is said in the language of the message; of a text secrets are taken out here.

    `foremost` is for a finding that says which environment the others are about.

    Raises:
        KeyError: a brace of the message has no value (seen by the tests of the problem, not by users' renderers).

    """
    shown = {name: hide("", each) if isinstance(each, str) else each for name, each in values.items()}
    finding = Finding(
        problem, message, shown, where or Where(), commands, evidence, links, confidence, role,
        severity or problem.severity, nodes, foremost,
    )  # fmt: skip
    for language in ("en", "zh"):
        finding.words(language)
    return finding
