"""Judges collective-timed-out (NCC011), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.base.ranks import ranks_text
from doctor.base.record import replace
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.stuck_collective import StuckCollective
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ABSENT_MESSAGE = TOML["absent_message"]
DIFFERS_MESSAGE = TOML["differs_message"]
ALL_CAME = TOML["all_came"]
PARTED = TOML["parted"]
SURVEYED = TOML["surveyed"]
WAITS_ELSEWHERE = TOML["waits_elsewhere"]


#: the call as the watchdog tells it: number, operation and sizes
_CALL = later(r"WorkNCCL\(SeqNum=(\d{1,12}), OpType=\w{1,60}(?:, NumelIn=\d{1,15}, NumelOut=\d{1,15})?")
#: what the watchdog says of itself, whatever stands in front of the line
_RANK = later(r"\[Rank (\d{1,6})\] Watchdog caught")
#: without the size of the world only a group that hangs from its start on is taken for complete
EARLY = 3


def _common_call(hits: Hits) -> int | None:
    """The number of the one call that every rank waited in, None where ranks differ or some are not seen."""
    calls = {found_.group(0) for hit in hits if (found_ := _CALL.search(hit.text))}
    if len(calls) != 1 or len(hits.ranks) < 2 or hits.ranks != list(range(len(hits.ranks))):
        return None
    number = int(_CALL.search(calls.pop()).group(1))  # type: ignore[union-attr]
    complete = len(hits.ranks) == hits.world_size if hits.world_size else number <= EARLY
    return number if complete else None


#: collectives to which every rank brings as many elements
#: (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html)
_EVEN = frozenset({"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"})
_WAITED_IN = later(
    r"(?:\[PG (?:ID \d{1,6} PG )?GUID (?P<group>[^\s(]{1,40})[^\]\n]{0,60}\])?.{0,60}?"
    r"WorkNCCL\(SeqNum=(?P<number>\d{1,12}), OpType=(?P<operation>\w{1,60})"
    r"(?:, NumelIn=(?P<given>\d{1,15}), NumelOut=\d{1,15})?"
)


class _Call(NamedTuple):
    """What a rank waited in: number and name of the collective, and elements that it brought, where told."""

    number: int
    operation: str
    elements: int | None

    @property
    def shown(self) -> str:
        """As people read it."""
        told = f" of {self.elements:,} elements" if self.elements is not None else ""
        return f"{self.operation}{told} (number {self.number})"


def _parted(hits: Hits) -> dict[_Call, list[int]]:
    """The calls of one process group that ranks waited in, where they are not the same one; empty where they are."""
    groups: dict[str, dict[int, _Call]] = {}
    for hit in hits:
        match, named = _WAITED_IN.search(hit.text), _RANK.search(hit.text)
        rank = int(named[1]) if named else hit.rank
        if match is not None and rank is not None:
            elements = int(match["given"]) if match["given"] else None
            call = _Call(int(match["number"]), match["operation"], elements)
            groups.setdefault(match["group"] or "", {}).setdefault(rank, call)
    for calls in groups.values():
        ways: dict[_Call, list[int]] = {}
        for rank, call in sorted(calls.items()):
            ways.setdefault(call, []).append(rank)
        if len(ways) > 1 and _differ(list(ways)):
            return ways
    return {}


def _by_number(way: tuple[_Call, list[int]]) -> tuple[int, str, int]:
    call, _ = way
    return call.number, call.operation, call.elements or 0


def _differ(calls: Sequence[_Call]) -> bool:
    """Whether they cannot be the same collective: another number, another name, or sizes that have to be equal."""
    first = calls[0]
    for each in calls[1:]:
        if (each.number, each.operation) != (first.number, first.operation):
            return True
        if each.elements != first.elements and None not in (each.elements, first.elements):
            return first.operation in _EVEN
    return False


def _waiting(hits: Hits) -> list[int]:
    """Ranks that reported it: those of the lines, and those that the words name where a line has no rank in front."""
    told = {int(match[1]) for hit in hits if (match := _RANK.search(hit.text))}
    return sorted(told.union(hits.ranks))


def explain(hits: Hits) -> Finding | None:
    """Name who waited, for how long, and who is missing where the size of the world is known."""
    if (surveyed := _surveyed(hits)) is not None:
        return surveyed
    waited = _waiting(hits)
    which = "none" if not waited else "one" if len(waited) == 1 else "several"
    who = TOML.phrase(f"waited.{which}", ranks=ranks_text(waited))
    if ways := _parted(hits):
        told = [f"`{call.shown}` on rank {_few(each)}" for call, each in sorted(ways.items(), key=_by_number)]
        return found(
            PROBLEM, PARTED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            settings="", experts=False, words="", ways=", ".join(told[:3]),
            seconds=f"{int(hits.get('ms') or 0) / 1000:g}",
        )  # fmt: skip
    number = _common_call(hits)
    if number is not None:
        return found(
            PROBLEM, ALL_CAME, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, number=number,
            who=who, operation=hits.get("operation"),
            seconds=f"{int(hits.get('ms') or 0) / 1000:g}", commands=("NCCL_P2P_DISABLE=1", "NCCL_DEBUG=INFO"),
    )  # fmt: skip
    world = max(hits.world_size or 0, max(waited, default=-1) + 1)
    missing = sorted(set(range(world)) - set(waited)) if waited else []
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        who=who,
        seconds=f"{int(hits.get('ms') or 0) / 1000:g}", operation=hits.get("operation"),
        absent=ranks_text(missing),
    )  # fmt: skip


def of_absent(finding: Finding, rank: int, what: str) -> Finding:
    """The same finding where a rank that did not come said for what it waits; asked by `logs.failures.absent`."""
    return replace(finding, message=WAITS_ELSEWHERE, values={**finding.values, "rank": rank, "what": what})


def _surveyed(hits: Hits) -> Finding | None:
    """What a survey of all ranks says, which is more than the word of one that waits."""
    absent, ahead = hits.get("absent"), hits.get("ahead")
    number, last = hits.get("number"), hits.get("last")
    if not absent:
        return None  # nobody asked all
    if last and number and int(last) > int(number):  # the second of the two is ahead
        absent, ahead, number, last = ahead or absent, absent, last, number
    operation = (hits.get("operation") or "").rpartition(":")[2]
    called = TOML.phrase("named", operation=operation) if operation else TOML.phrase("number", number=number)
    return found(
        PROBLEM, SURVEYED, where=replace(hits.where(), rank=int(absent.split(",")[0])), evidence=hits.evidence(),
        confidence=LIKELY, absent=absent, called=called, number=number or "", last=last or "",
        waiting=ahead or "",
    )  # fmt: skip


def of_standstill(standstill: StuckCollective) -> Finding:
    """What the flight recorder's dumps show; asked by `doctor.logs.flight_recorder`."""
    where = Where(file=standstill.file or None, rank=next(iter(standstill.absent), None))
    if standstill.differs:
        ways: dict[str, list[int]] = {}
        for rank, way in standstill.values.items():
            ways.setdefault(way, []).append(rank)
        told = [f"`{way}` on rank {_few(ranks)}" for way, ranks in sorted(ways.items(), key=lambda each: len(each[1]))]
        return found(
            PROBLEM, DIFFERS_MESSAGE, where=where, evidence=standstill.evidence,
            confidence=CONFIRMED if standstill.certain else LIKELY, number=standstill.number, group=standstill.group,
            what=TOML.phrase(f"differs.{standstill.differs}"), ways=", ".join(told[:3]),
    )  # fmt: skip
    last = next(iter(standstill.last.values()), 0)
    unseen = _few(standstill.unseen)
    return found(
        PROBLEM, ABSENT_MESSAGE, where=where, evidence=standstill.evidence, confidence=LIKELY,
        absent=_few(standstill.absent), waiting=_few(standstill.waiting), operation=standstill.operation,
        number=standstill.number, group=standstill.group, first=next(iter(standstill.absent)),
        last=max(last, 0),
        unseen=unseen,
    )  # fmt: skip


def _few(ranks: Sequence[int]) -> str:
    """``0, 1, 2`` or ``0, 1, 2, 3 … (+61)``."""
    return ", ".join(str(each) for each in ranks[:4]) + (f" … (+{len(ranks) - 4})" if len(ranks) > 4 else "")
