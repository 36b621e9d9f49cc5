"""What the operating system says in an exception that no signature knows: a name without an address, no way to one.

The words are those of getaddrinfo(3) and errno(3) as Linux, macOS and Windows print them, and of urllib3; who asked
does not matter. The address is taken from any message of the chain, for the innermost one often leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from doctor.base.patterns import later

_UNRESOLVED = later(
    r"(?P<reason>Name or service not known|Temporary failure in name resolution|nodename nor servname provided"
    r"|getaddrinfo failed|No address associated with hostname|NameResolutionError)"
)
_UNREACHED = later(
    r"(?P<reason>Network is unreachable|No route to host|Connection timed out|[Cc]onnect timeout|Host is down)"
)
_ADDRESSES = (
    later(r"host='(?P<host>[\w.\-]{2,100})'(?:, port=(?P<port>\d{1,5}))?"),
    later(r"\((?P<host>[\w.\-]{2,100}), (?P<port>\d{2,5})\)"),
    later(r"https?://(?P<host>[\w.\-]{2,100})(?::(?P<port>\d{2,5}))?"),
    later(r"\b(?:host|to|address|at) (?P<host>[\w.\-]{2,100}):(?P<port>\d{2,5})\b"),
)


class Said(NamedTuple):
    """What the system says, of which address ("" where no message names one), in its own words."""

    sense: Literal["unresolved", "unreached"]
    address: str
    reason: str


def of_chain(messages: Sequence[str]) -> Said | None:
    """What the messages of a chain of exceptions say, the first of them that says it; None where none does."""
    for message in messages:
        for sense, pattern in (("unresolved", _UNRESOLVED), ("unreached", _UNREACHED)):
            if match := pattern.search(message[:4_000]):
                return Said(sense, _address(messages), match["reason"])  # type: ignore[arg-type]
    return None


def _address(messages: Sequence[str]) -> str:
    for message in messages:
        for pattern in _ADDRESSES:
            if match := pattern.search(message[:4_000]):
                return f"{match['host']}:{match['port']}" if match["port"] else match["host"]
    return ""
