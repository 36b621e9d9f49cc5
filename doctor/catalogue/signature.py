"""How a problem shows in a log: patterns for one line each, and what to make of their hits.

A problem's TOML declares them as ``[[signature]]``. What is said about the hits comes from ``explain(hits)`` of the
Python beside it where there is one, else from the message that the first hit's signature names, or `log`, or `main`,
filled with the named groups of that hit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Optional, TypeVar

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Confidence, Finding, Message, Where, found
from doctor.catalogue.problem import Problem

Choice = TypeVar("Choice")


@record
class Signature:
    r"""A pattern of one log line, without line ends.

    Args:
        pattern: regular expression as text, searched in the line after rank and actor prefixes and colours are cut off;
            compiled by the engine on first use. Named groups are what it captures. No `.*` at an end, no class
            that can eat a line end, nothing that can blow up.
        keywords: literals of which one must be in the line; empty: derived from the pattern.
        symptom_of: ids of problems (or letters of areas) that, when also present, are the cause of this one; "*" for
            the word of a victim: another process failed first, whatever it was.
        contributes_to: ids whose cause this one makes likelier without being it.
        kind: "error" ends runs, and does not count where the process went on to end well; "warning" spoils runs that go
            on; "sign" only supports other findings and is never a finding of its own.
        frame: regular expression for "path:function" of a frame of the traceback that the line ends; empty: any.
        own_code: whether it counts, too, where the user's own code raised below that frame: a reward function that the
            trainer called, a method of the trainer that somebody wrote anew.
        affects: version ranges of this pattern alone, instead of those that hold for the problem (and its check).

    """

    pattern: str
    keywords: tuple[str, ...] = ()
    symptom_of: tuple[str, ...] = ()
    contributes_to: tuple[str, ...] = ()
    kind: str = "error"
    affects: Mapping[str, str] = field(default_factory=dict)
    frame: str = ""
    own_code: bool = False


@record
class Hit:
    """One line that a signature matched.

    Args:
        groups: named groups that took part in the match.
        file, line: place, line counted from 1 as an editor does.
        offset: byte offset of the line in its (decompressed) stream.
        rank, time_ns: from prefix, file name or stamp; None where not told.
        process: label of the process that printed it: "rank 3", "EngineCore_DP0 pid=77", "WorkerDict pid=5".
        frames: "path:function" of the traceback that this line ends, outermost first; empty when it ends none.
        own: those of the frames that are surely the user's own code.
        code: source line of the innermost of these frames, as far as it is printed; `codes`: of each, "" where not.
        more: further lines of the exception's message, redacted: pydantic's list of fields, a launcher's table.
        level: "E", "W", "I", "D" or "F" as the program logged it; "" when the line does not say.

    """

    groups: Mapping[str, str]
    text: str
    file: str
    line: int
    offset: int = 0
    rank: Optional[int] = None
    time_ns: Optional[int] = None
    process: str = ""
    signature: int = 0
    frames: Sequence[str] = ()
    level: str = ""
    code: str = ""
    codes: Sequence[str] = ()
    own: Collection[str] = ()
    more: str = ""


@record
class Hits:
    """All hits of one problem's signatures, in causal order; at most 50 are kept, `count` counts them all.

    `versions`: package -> version as far as logs or the given context tell; `world_size` likewise;
    `config`: settings seen in logs or context by their own names ("gpu_memory_utilization" -> "0.9").
    `row`: of the table that they are hits of, "" where it is none.
    `facts`: facts of the given context by name ("gpus", "packages"); `context`: its text, never to be quoted.
    """

    kept: Sequence[Hit]
    count: int
    versions: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    world_size: Optional[int] = None
    facts: Mapping[str, object] = field(default_factory=dict)
    context: str = ""
    row: str = ""

    @property
    def first(self) -> Hit:
        """The earliest hit."""
        return self.kept[0]

    def __iter__(self) -> Iterator[Hit]:
        """Iterate over the hits that were kept."""
        return iter(self.kept)

    def of(self, signature: int) -> list[Hit]:
        """Hits of one signature, by its position in SIGNATURES."""
        return [hit for hit in self.kept if hit.signature == signature]

    def get(self, name: str) -> Optional[str]:
        """The first value captured under a name by any hit, None when none was."""
        return next((hit.groups[name] for hit in self.kept if hit.groups.get(name)), None)

    def choice(self, by_group: Mapping[str, Choice], otherwise: Choice) -> Choice:
        """What belongs to the first of these groups that any hit captured."""
        return next((each for name, each in by_group.items() if self.get(name)), otherwise)

    def values(self, name: str) -> list[str]:
        """Distinct values captured under a name, in order."""
        return list(dict.fromkeys(hit.groups[name] for hit in self.kept if hit.groups.get(name)))

    def ints(self, name: str) -> list[int]:
        """Distinct captured values that are integers."""
        return [int(value) for value in self.values(name) if value.lstrip("-").isdigit()]

    @property
    def ranks(self) -> list[int]:
        """Ranks that printed a hit."""
        return sorted({hit.rank for hit in self.kept if hit.rank is not None})

    def where(self) -> Where:
        """Place of the first hit."""
        return Where(file=self.first.file, line=self.first.line, rank=self.first.rank)

    def evidence(self, limit: int = 3) -> tuple[Observed, ...]:
        """The first lines that were hit, quoted."""
        return tuple(Observed.quoted(hit.file, hit.text[:500], hit.line) for hit in self.kept[:limit])


def finding_of_signature(
    problem: Problem, cases: Sequence[tuple[Signature, Message, Confidence]], hits: Hits
) -> Finding:
    """What the first hit's own case says, filled with what it captured.

    Args:
        problem: whose finding it is.
        cases: in the order of the problem's signatures, each with what is said of it, and how sure that is.
        hits: of these signatures.

    """
    _, message, confidence = cases[hits.first.signature]
    values: dict[str, Any] = dict(hits.first.groups)
    return found(problem, message, where=hits.where(), evidence=hits.evidence(), confidence=confidence, **values)
