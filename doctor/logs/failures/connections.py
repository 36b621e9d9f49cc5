"""The last words of ranks: the store by which they meet refuses them, does not answer, or is gone.

A client of torch's TCPStore tries again until its time-out and says so each time, so such a line amid others means
nothing. Where nothing follows it and nothing else failed, it is all that is known: whether somebody listens there. A
store that closes its connections is secondary: the process that holds it, rank 0 as a rule, ended before.
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/TCPStore.cpp
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import LastConnection
from doctor.logs.failures.case import Case
from doctor.logs.failures.ends import end_of
from doctor.logs.lines.prefixes import strip

_AREA = "launch"
_FAILED = later(
    r"(?:The client socket has failed to connect to |TCP client failed to connect/validate to host )"
    r"\[?(?:::ffff:)?(?P<host>[\w.\-:]{1,120}?)\]?:(?P<port>\d{1,5})\b[^\n]{0,200}?"
    r"(?:(?P<refused>Connection refused)|(?P<silent>Connection timed out|No route to host|Network is unreachable))"
)
_LOST = later(
    r"\[c10d\] (?:send|recv)\w{1,30} failed on SocketImpl\(fd=\d{1,6}, addr=[^,\n]{1,200}, "
    r"remote=\[?(?:::ffff:)?(?P<host>[\w.\-:]{1,160}?)\]?:(?P<port>\d{1,5})\)"
    r"|Failed to check the .should dump. flag on TCPStore"
)
_AGAIN = ("Retrying", "Retrying.", "Retrying...")
#: what stands between such lines: frames of C++, and what a launcher passes on
_BETWEEN = later(r"^\s*$|^(?:Exception raised from|frame #\d)|^C\+\+ CapturedTraceback|^\s*#\d{1,3} ")
#: on which machine rank 0 runs: Ray's `ip=` before its line, or the line itself
_HOME = later(r"\bip=(?P<ip>[\d.]{7,15})\)")
_IS_FIRST = later(r"(?i)\b(?:global_?)?rank\s?[=:]\s?0\b")
_RANK = later(r"(?i)(?<!local_)(?<!node_)\brank\s?[=: ]\s?(?P<rank>\d{1,6})\b")
_MOST_LINES, _MOST_READ, _MOST_RANKS = 400, 20_000, 8


class _Said(NamedTuple):
    state: Literal["refused", "silent", "lost"]
    host: str
    port: str
    rank: int | None
    source: int
    number: int
    text: str


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says where the last words of a log are such; None for every other."""
    if case.failures or case.exits or end_of(case) or case.last is None or not case.whole:
        return None
    if case.lines > _MOST_READ or case.last.source >= len(case.kept):
        return None
    said = list(_last_words(case.last.source, case.kept[case.last.source]))
    if not said or (len(said) == 1 and said[0].text.endswith(_AGAIN)):  # any start may find nobody there once
        return None
    last = said[0]
    named = next((each for each in said if each.host and each.state == last.state), last)
    path = case.sources[last.source].path
    quotes = [Observed.quoted(path, redact_text(each.text)[:300], each.number) for each in (last, named)]
    home = None if last.state == "lost" else _home_of_first(case.kept[last.source], named.host)
    first = ""
    if home is not None:
        number, text, first = home
        quotes.append(Observed.quoted(path, redact_text(text.strip())[:300], number))
    ranks = sorted({each.rank for each in said if each.rank is not None})[:_MOST_RANKS]
    told = LastConnection(
        last.state, redact_text(named.host), named.port, ", ".join(map(str, ranks)),
        Where(file=path, line=last.number), tuple(dict.fromkeys(quotes)), first,
    )  # fmt: skip
    for entry in entries:
        judge = function_of(entry, "of_connection") if entry.area == _AREA else None
        if judge is not None:
            finding: Finding = judge(told)
            return finding
    return None


def _last_words(source: int, lines: Sequence[tuple[int, str]]) -> Iterator[_Said]:
    """Such lines at the end of a log, the last one first."""
    for number, whole in reversed(lines[-_MOST_LINES:]):
        stripped = strip(whole)
        failed = _FAILED.search(stripped.text)
        if failed and "etrying" in stripped.text:
            return  # the client says itself that it goes on
        match = failed or _LOST.search(stripped.text)
        if match is None:
            if _BETWEEN.search(stripped.text):
                continue
            return
        groups = match.groupdict()
        state: Literal["refused", "silent", "lost"] = "lost"
        if failed:
            state = "refused" if failed["refused"] else "silent"
        named = _RANK.search(whole[: whole.find(match[0])])
        rank = stripped.rank if stripped.rank is not None else int(named["rank"]) if named else None
        yield _Said(state, groups["host"] or "", groups["port"] or "", rank, source, number, stripped.text.strip())


def _home_of_first(lines: Sequence[tuple[int, str]], host: str) -> tuple[int, str, str] | None:
    """(line, text, address) that tells on which other machine than the store's rank 0 runs."""
    for number, text in lines:
        home = _HOME.search(text)
        if home is not None and _IS_FIRST.search(text):
            return (number, text, home["ip"]) if home["ip"] != host and host[:1].isdigit() else None
    return None
