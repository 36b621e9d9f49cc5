"""What a problem's TOML declares, as Python sees it: ``TOML = words_of(__name__)``.

Python that several problems share may have words of its own, without a problem: ``_<name>.toml`` beside ``_<name>.py``.

The TOML is read once, when the index of the catalogue is built, and compiled to JSON; here only the JSON of the one
problem that is asked for is read. So it costs little at every start, and goes with what is carried into a patient,
whose Python may have no reader of TOML.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Optional

from doctor.catalogue.finding import CONFIRMED, Confidence, Finding, Message, Phrase, Words, found
from doctor.catalogue.problem import Problem, Severity
from doctor.catalogue.signature import Hits, Signature

#: beside the carried modules: module -> what its TOML declares
CARRIED = "_words.json"

#: names of the messages that need not be asked for: what a check says, and what is said of hits in a log
MAIN, LOG = "main", "log"


class WordedSignature(NamedTuple):
    """A signature with what is said where it is the first that was hit, and how sure that is."""

    signature: Signature
    message: Message
    confidence: Confidence


class ProblemWords:
    """A problem's entry, messages, phrases and signatures.

    Args:
        declared: what `doctor.catalogue.problem_toml.read` made of the files.
        said: gives messages, phrases and signatures where `declared` is without them, and only `names` the messages.
        manual: gives the sections of the manual where `declared` is without them.

    """

    def __init__(
        self,
        declared: Mapping[str, Any],
        said: Optional[Callable[[], Mapping[str, Any]]] = None,
        manual: Optional[Callable[[], Mapping[str, str]]] = None,
    ) -> None:
        self._declared = declared
        self._given = said
        self._manual = manual or (lambda: declared.get("manual", {}))
        self._made: dict[str, Message] = {}

    @cached_property
    def _said(self) -> Mapping[str, Any]:
        """Messages, phrases and signatures: a check that finds nothing asks for none of them."""
        return self._declared if self._given is None else self._given()

    @cached_property
    def problem(self) -> Problem:
        """The entry of the catalogue."""
        fields = ("id", "name", "since", "affects", "ends_run", "about")
        told = {name: self._declared[name] for name in fields if name in self._declared}
        return Problem(severity=Severity(self._declared["severity"]), **told)

    @cached_property
    def messages(self) -> Mapping[str, Message]:
        """Every message by its name, in the order of the file."""
        return {name: self[name] for name in self._names}

    @property
    def _names(self) -> Collection[str]:
        names: Collection[str] = self._declared.get("names" if self._given else "messages", ())
        return names

    def __getitem__(self, name: str) -> Message:
        """The message of a name.

        Raises:
            KeyError: the TOML holds none of this name.

        """
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = Message.later(partial(self._message, name))
        return self._made[name]

    def _message(self, name: str) -> Message:
        both = self._said["messages"][name]
        return Message(Words(*both["en"]), Words(*both["zh"]) if "zh" in both else None)

    def phrase(self, name: str, /, **values: Any) -> Phrase:
        """The words of a name under ``[phrase]``, which a message takes in; of a table in it: ``table.name``.

        Raises:
            KeyError: the TOML holds none of this name.

        """
        return self.all_phrases[name].filled(**values)

    def phrases(self, table: str) -> Mapping[str, Phrase]:
        """Every phrase of the table ``[phrase.<table>]`` by its name, in the order of the file.

        Raises:
            KeyError: the TOML holds no such table.

        """
        start = f"{table}."
        found_ = {name[len(start) :]: each for name, each in self.all_phrases.items() if name.startswith(start)}
        if not found_:
            raise KeyError(table)
        return found_

    @cached_property
    def all_phrases(self) -> Mapping[str, Phrase]:
        """Every phrase by its name, those in a table as ``table.name``."""
        return {name: Phrase(en, zh) for name, (en, zh) in self._said.get("phrases", {}).items()}

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """How the problem shows in a log."""
        return tuple(_signature(each) for each in self._said.get("signatures", ()))

    @cached_property
    def cases(self) -> tuple[WordedSignature, ...]:
        """Each signature with the message of its own; empty where the signatures have none."""
        declared = self._said.get("signatures", ())
        if not any("message" in each for each in declared):
            return ()
        said = [self[each.get("message", LOG)] for each in declared]
        sure = [Confidence(each["confidence"]) if "confidence" in each else self.confidence for each in declared]
        return tuple(map(WordedSignature, self.signatures, said, sure))

    @property
    def confidence(self) -> Confidence:
        """How sure the words about hits are, where their signature does not say it."""
        return Confidence(self._declared.get("confidence", CONFIRMED))

    @property
    def values(self) -> Mapping[str, str]:
        """What the code of a table needs to know of a row."""
        return dict(self._declared.get("values", {}))

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that mend it, for what is said of hits; braces stand for what was captured."""
        return tuple(self._declared.get("commands", ()))

    @property
    def leads_to(self) -> tuple[str, ...]:
        """Failures that follow from it: ids of problems, and patterns of what a log says of them."""
        return tuple(self._declared.get("leads_to", ()))

    @property
    def triggers(self) -> tuple[Mapping[str, Any], ...]:
        """What must be there before launch for the failure to come (`doctor.catalogue.shared.triggers`)."""
        return tuple(self._declared.get("triggers", ()))

    @property
    def seen(self) -> Mapping[str, str]:
        """Time -> what sees it then beside checks, rules and signatures (`doctor.catalogue.unseen`)."""
        return dict(self._declared.get("seen", {}))

    @property
    def foreseen(self) -> tuple[str, ...]:
        """Ids of other problems, whose checks tell before launch what leads to this one."""
        return tuple(self._declared.get("foreseen", ()))

    @property
    def unseen(self) -> Mapping[str, str]:
        """Time -> why it cannot be seen then, a word of `doctor.catalogue.unseen`."""
        return dict(self._declared.get("unseen", {}))

    @property
    def told(self) -> tuple[str, ...]:
        """Texts that say what the failure will look like: the manual's, and the explanations of the messages."""
        manual = self._manual()
        explanations = (each.words("en").explanation for each in self.messages.values())
        return (*(str(manual[name]) for name in ("meaning", "effect") if name in manual), *explanations)

    @property
    def links(self) -> tuple[str, ...]:
        """Links for what is said of hits."""
        return tuple(self._declared.get("links", ()))

    def finding(self, hits: Hits, confidence: Optional[Confidence] = None) -> Finding:
        """What the first hit's own signature says, filled with what it captured.

        Args:
            hits: of the problem's signatures, each of which has a message of its own.
            confidence: how sure that is, in place of what the signature says.

        """
        first = hits.first
        case = self.cases[first.signature]
        values: dict[str, Any] = dict(first.groups)
        sure = confidence or case.confidence
        return found(
            self.problem, case.message, where=hits.where(), evidence=hits.evidence(), confidence=sure, **values
        )


def _signature(declared: Mapping[str, Any]) -> Signature:
    told: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in declared.items()
        if name not in ("message", "confidence")
    }
    return Signature(**told)


@cache
def words_of(module: str) -> ProblemWords:
    """What the TOML beside a module declares.

    Args:
        module: dotted name of the file without its ending, `__name__` in the Python beside it.

    Raises:
        KeyError: there is no such TOML.

    """
    if module.startswith("doctor.") and (declared := _carried().get(module)) is not None:
        return ProblemWords(declared)
    from doctor.catalogue.index import head_in, manual_in, said_in

    return ProblemWords(head_in(module), partial(said_in, module), partial(manual_in, module))


@lru_cache(maxsize=1)
def _carried() -> Mapping[str, Any]:
    path = Path(__file__).parent.parent / CARRIED
    try:
        text = path.read_bytes()
    except OSError:
        return {}
    carried: Mapping[str, Any] = json.loads(text)
    return carried
