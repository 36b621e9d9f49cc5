"""What is known, and from where: observations, all of them together, and what is concluded of them.

Check, guard, rehearsal, capsule and post-mortem speak of the same things; each fills `Observations`, and checks judge.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Optional

from doctor.base.opened import Disagreement, Told, is_open, merged
from doctor.base.record import record, replace
from doctor.base.redact import hide, remember

Kind = Literal["live", "file", "log", "capsule", "rehearsal", "pasted"]

#: whose word counts more: of what will be started, what is here now and what is written; of what has died, what it
#: held and printed itself
BEFORE_LAUNCH: tuple[Kind, ...] = ("live", "rehearsal", "file", "pasted", "log", "capsule")
AFTER_DEATH: tuple[Kind, ...] = ("capsule", "log", "rehearsal", "file", "pasted", "live")


class UnknownValue:
    """Stands for a value that nobody knows; it is false, and equal to nothing but itself."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        """Take one word for why."""
        self.why = why

    def __bool__(self) -> bool:
        """Nothing is known, so that nothing is true."""
        return False

    def __repr__(self) -> str:
        """As it is printed."""
        return self.why

    def __reduce__(self) -> str:
        """Stay the one of this module in another process."""
        return {each.why: name for name, each in _UNKNOWNS.items()}[self.why]


UNKNOWN = UnknownValue("unknown")
#: no answer came in time
TIMED_OUT = UnknownValue("timed out")
#: the question does not arise: a command that serves has no training arguments
DOES_NOT_APPLY = UnknownValue("does not apply")
_UNKNOWNS = {"UNKNOWN": UNKNOWN, "TIMED_OUT": TIMED_OUT, "DOES_NOT_APPLY": DOES_NOT_APPLY}


@record
class Place:
    """A place in a file; line and column count from 1."""

    file: str
    line: Optional[int] = None
    column: Optional[int] = None


@record
class Origin:
    """Where an observation comes from; only what applies is set.

    Args:
        kind: live: asked of the machine or a process now; file: written by somebody, the launch command included;
            log: printed by the run; capsule: held by a process as it died; rehearsal: seen in a trial run; pasted:
            stated in a report that somebody gave.
        source: path of the file, or the query that was answered: `nvidia-smi -q`. Empty for the launch command.
        line, column: in the source, from 1.
        frame: function whose frame held it.
        step, rank, host: of the training, the process, the machine.
        t_ns: time of it, Unix nanoseconds.

    """

    kind: Kind = "live"
    source: str = ""
    line: Optional[int] = None
    column: Optional[int] = None
    frame: Optional[str] = None
    step: Optional[int] = None
    rank: Optional[int] = None
    host: Optional[str] = None
    t_ns: Optional[int] = None


_COMMAND_LINE = Origin("file")


@record
class Observed:
    """One thing that was observed, or looked for in vain.

    Args:
        name: of a fact (`packages`), of a setting as the program that reads it calls it (`actor.optim.lr`), of a
            variable; empty for a mere quotation.
        value: a fact's record, a setting's value; UNKNOWN, TIMED_OUT or DOES_NOT_APPLY where there is none. The value
            of a secret, which its name tells, is hidden here, whoever stores it.
        origin: where it was seen.
        exact: False for what was rounded, counted up, or concluded from something else.
        text: as written or printed; of what is unknown the reason.

    """

    name: str
    value: Any = UNKNOWN
    origin: Origin = Origin()
    exact: bool = True
    text: str = ""

    def __post_init__(self) -> None:
        """Hide secrets: this is the door by which values and quotations are stored."""
        held = self.__dict__
        if self.text and (hidden := hide(self.name, self.text)) != self.text:
            remember(self.text)
            held["text"] = hidden
        if isinstance(self.value, str) and (shown := hide(self.name, self.value)) != self.value:
            held.update(value=shown, text=shown)

    @classmethod
    def written(
        cls, name: str, value: Any, known: bool = True, text: str = "", place: Optional[Place] = None
    ) -> Observed:
        """A value that somebody wrote down: in YAML, JSON, Python or on a command line.

        Args:
            name: dotted key as the program that reads it calls it.
            value: the value; of no account where it is not `known`, for it takes running code to know it (a variable,
                a call).
            known: whether it could be read.
            text: as written.
            place: where; None for the command line.

        """
        origin = Origin("file", place.file, place.line, place.column) if place is not None else _COMMAND_LINE
        return cls(name, value if known else UNKNOWN, origin, text=text)

    @classmethod
    def quoted(cls, source: str, text: str, line: Optional[int] = None) -> Observed:
        """A quotation that supports a finding: a file's line, a query and its answer, a variable."""
        return cls("", UNKNOWN, Origin("live", source, line), text=text)

    @classmethod
    def seen(cls, value: Any, source: str = "") -> Observed:
        """A fact that was seen, as its reader gives it; the world that it goes into names it."""
        return cls("", value, Origin("live", source))

    @classmethod
    def unseen(cls, reason: str, *, source: str = "", applies: bool = True, late: bool = False) -> Observed:
        """A fact that could not be seen, and why.

        Args:
            reason: shown to the user.
            source: that was asked.
            applies: False where there is nothing of the kind to be seen.
            late: no answer came in time.

        """
        missing = TIMED_OUT if late else UNKNOWN if applies else DOES_NOT_APPLY
        return cls("", missing, Origin("live", source), text=reason)

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not isinstance(self.value, UnknownValue)

    @property
    def status(self) -> str:
        """Of a fact, in the words of a facts file: "ok", "timeout" or "unavailable"."""
        value = self.value
        if not isinstance(value, UnknownValue):
            return "ok"
        return "timeout" if value is TIMED_OUT else "unavailable"

    @property
    def reason(self) -> str:
        """Why there is no value; empty where there is one."""
        return "" if self.known else self.text

    @property
    def source(self) -> str:
        """What told it."""
        return self.origin.source

    @property
    def line(self) -> Optional[int]:
        """Line of the source."""
        return self.origin.line

    @property
    def place(self) -> Optional[Place]:
        """Where it is written down; None for the command line."""
        origin = self.origin
        written = origin.source and origin.kind in {"file", "log", "pasted"}
        return Place(origin.source, origin.line, origin.column) if written else None

    @property
    def applies(self) -> bool:
        """Whether there could be a value here."""
        return self.value is not DOES_NOT_APPLY

    @property
    def is_open(self) -> bool:
        """Whether it is a fact of which only a part was seen."""
        return is_open(self.value)


class Observations:
    """What is known of one patient: observations of each fact, those that are believed most first.

    Nothing is overwritten: what several tell of a fact is laid together part by part when it is asked for, a part that
    sources of the same weight tell differently counts as not seen, and `disagreements` keeps every word.
    """

    def __init__(self, observed: Iterable[Observed] = (), *, believed: tuple[Kind, ...] = BEFORE_LAUNCH) -> None:
        """Take observations of facts, and whose word counts more."""
        self._believed = believed
        self._of: dict[str, list[Observed]] = {}
        self._laid: dict[str, tuple[Observed, tuple[Disagreement, ...]]] = {}
        self.add(*observed)

    def add(self, *observed: Observed) -> None:
        """Take more observations."""
        for each in observed:
            self._of.setdefault(each.name, []).append(each)
            self._laid.pop(each.name, None)

    def __contains__(self, name: str) -> bool:
        """Whether anybody looked for a fact."""
        return name in self._of

    def __iter__(self) -> Iterator[str]:
        """Names of the facts that were looked for."""
        return iter(self._of)

    def all_of(self, name: str) -> tuple[Observed, ...]:
        """Every observation of a fact, those that are believed most first."""
        return tuple(sorted(self._of.get(name, ()), key=self._rank))

    def get(self, name: str) -> Optional[Observed]:
        """What is known of a fact by all that was observed; None where nobody looked."""
        laid = self._laid.get(name) or self._lay(name)
        return laid[0] if laid is not None else None

    def value(self, name: str) -> Any:
        """The record of a fact, None where it is not known."""
        found = self.get(name)
        return found.value if found is not None and found.known else None

    @property
    def disagreements(self) -> Mapping[str, tuple[Disagreement, ...]]:
        """Fact -> its parts that several tell differently."""
        return {name: laid[1] for name in self._of if (laid := self._lay(name)) is not None and laid[1]}

    def _rank(self, each: Observed) -> tuple[int, int]:
        """How little is believed: by where it comes from, what is not exact after what is."""
        return self._believed.index(each.origin.kind), not each.exact

    def _lay(self, name: str) -> Optional[tuple[Observed, tuple[Disagreement, ...]]]:
        if name not in self._of:
            return None
        if name not in self._laid:
            self._laid[name] = self._together(name)
        return self._laid[name]

    def _together(self, name: str) -> tuple[Observed, tuple[Disagreement, ...]]:
        if len(self._of[name]) == 1:
            return self._of[name][0], ()
        observed = self.all_of(name)
        known = [each for each in observed if each.known]
        if not known:
            return observed[0], ()
        if len(known) == 1:
            return known[0], ()
        ranks = sorted({self._rank(each) for each in known})
        told = [Told(each.value, each, ranks.index(self._rank(each))) for each in known]
        value, disagreements = merged(told)
        return replace(known[0], value=value), disagreements


@record
class Violation:
    """A condition for which a program gave up, with the values in it.

    Args:
        condition: (expression as it stands in the source, whether it holds: `len(prompts) % num_generations == 0`
            does not); all of them at once.
        operands: values in it, each with where it comes from, the most telling first.
        frame: the line that asked.

    """

    condition: tuple[tuple[str, bool], ...]
    operands: tuple[Observed, ...]
    frame: Origin

    def said(self, language: str) -> str:
        """The condition, in a clause: "`a` holds and `b` does not hold"."""
        holds, fails, between = ("holds", "does not hold", " and ") if language == "en" else ("成立", "不成立", "且")
        return between.join(f"`{text}` {holds if held else fails}" for text, held in self.condition)
