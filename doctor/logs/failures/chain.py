"""What happened, process by process: the chain of consequences that a report tells."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.record import record, replace
from doctor.logs.failures import unrecognised as unknown
from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Failure
from doctor.logs.lines.exits import Exit

_CHAIN_MOST, _EXITS_MOST = 64, 200
_LAUNCHERS = frozenset({"ChildFailedError", "CalledProcessError"})  # they only sum up what the exits tell
Key = tuple[int, int, int]


@record
class ChainLink:
    """One step of the chain of consequences.

    `what`: "raised", "lost" (another process), "waited" (in vain), "ended" (exit code), "signal", "closed" (by the
    launcher). `alike`: how many more processes did the same, where there are too many to tell each.
    """

    what: str
    role: str
    process: str
    rank: int | None
    file: str
    line: int
    time_ns: int | None
    detail: str
    alike: int = 0


def chain(case: Case, own: Sequence[Failure], victims: Sequence[Failure]) -> tuple[ChainLink, ...]:
    """What happened, process by process, in order of time."""
    links = _first_of([(each, "raised") for each in own], case)
    lost = [each for each in victims if each.cause.name not in _LAUNCHERS]
    links += _first_of([(each, "waited" if unknown.waited(each) else "lost") for each in lost], case)
    links += _ended(case)
    spoke = {each.rank for each in (*own, *victims)}

    def order(each: tuple[Key, ChainLink]) -> tuple[bool, Key]:
        # a process that died without a word is reported by its launcher after those that lost it have spoken
        key, link = each
        return bool(own) or link.what not in {"signal", "ended"} or link.rank in spoke, key

    return tuple(link for _, link in sorted(links, key=order))


def _first_of(failed: Sequence[tuple[Failure, str]], case: Case) -> list[tuple[Key, ChainLink]]:
    """The first failures; of the others, of how many more processes one is like these."""
    links = [_failed(case, failure, what) for failure, what in failed[:_CHAIN_MOST]]
    last = {(link.what, link.detail): number for number, (_, link) in enumerate(links)}
    told: dict[tuple[str, str], set[object]] = {}
    for _, link in links:
        told.setdefault((link.what, link.detail), set()).add((link.file, link.process))
    for failure, what in failed[_CHAIN_MOST:]:
        kind, place = (what, failure.cause.name or failure.cause.type), (failure.cause.line.file, failure.process)
        if kind in last and place not in told[kind]:
            told[kind].add(place)
            key, link = links[last[kind]]
            links[last[kind]] = key, replace(link, alike=link.alike + 1)
    return links


def _failed(case: Case, failure: Failure, what: str) -> tuple[Key, ChainLink]:
    raised, line = failure.cause, failure.cause.line
    return case.key(line.source, line.number), ChainLink(
        what, "cause" if what == "raised" else "symptom", failure.process, failure.rank, line.file, line.number,
        line.time_ns, raised.name or raised.type,
    )  # fmt: skip


def _ended(case: Case) -> list[tuple[Key, ChainLink]]:
    """How processes ended, each once: the report that names the rank counts."""
    by_process: dict[object, Exit] = {}
    for each in case.exits[:_EXITS_MOST]:
        key = ("pid", each.pid) if each.pid is not None else ("rank", each.rank)
        if key == ("rank", None) and each.by_launcher:
            continue
        known = by_process.get(key)
        if known is None or (known.rank is None and each.rank is not None):
            by_process[key] = each
    links = []
    for each in by_process.values():
        line = each.line
        what = "closed" if each.by_launcher else "signal" if each.signal else "ended"
        process = f"rank {each.rank}" if each.rank is not None else f"pid {each.pid}" if each.pid is not None else ""
        link = ChainLink(
            what, "symptom" if each.by_launcher else "", process, each.rank, line.file, line.number, line.time_ns,
            each.signal or ("?" if each.code is None else str(each.code)),
        )  # fmt: skip
        links.append((case.key(line.source, line.number), link))
    return links
