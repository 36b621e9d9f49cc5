"""Time stamps at the head of log lines, in the forms that launchers, libraries and container engines write."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

#: 2026-11-20T15:06:44.045123456Z, 2026-11-20 15:06:44,045, lm_eval's 2026-11-20:15:06:44,045
ISO = r"(?P<year>20\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _:](?P<clock>\d\d:\d\d:\d\d)(?:[.,:](?P<part>\d{1,9}))?"
ZONE = r"(?:Z|(?P<zone>[+-]\d\d:?\d\d))?"
#: AReaL's 20261120-15:06:44.045
COMPACT = r"(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)-(?P<clock>\d\d:\d\d:\d\d)\.(?P<part>\d{3})"
#: 11/20/2026 15:32:20
AMERICAN = r"(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>20\d\d) (?P<clock>\d\d:\d\d:\d\d)"
#: vLLM's 11-20 16:10:28, with the year left out
SHORT = r"(?P<month>\d\d)-(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<part>\d{1,6}))?"
#: glog's 1120 15:06:44.045000; NCCL's watchdog drops the leading zero of the month
GLOG = r"(?P<month>\d{1,2})(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<part>\d{6,9})"
#: ctime: Fri Nov 20 15:06:44 2026; syslog: Nov 20 15:06:44
NAMED = r"(?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NS = 1_000_000_000


class Stamp(NamedTuple):
    """A time as written. `year` is None where the form leaves it out; `part_ns` is the fraction of the second."""

    year: int | None
    month: int
    day: int
    second_of_day: int
    part_ns: int = 0
    zone_s: int = 0

    def ns(self, default_year: int) -> int:
        """Nanoseconds since the epoch; a form without zone counts as UTC, so stamps of one form stay comparable."""
        day = _day(self.year or default_year, self.month, self.day)
        return (day + self.second_of_day - self.zone_s) * _NS + self.part_ns


@lru_cache(maxsize=64)
def _day(year: int, month: int, day: int) -> int:
    """Seconds from the epoch to the beginning of a day."""
    import calendar

    return calendar.timegm((year, month, day, 0, 0, 0))


def of_groups(groups: Mapping[str, Any]) -> Stamp | None:
    """The stamp in what one of the patterns above captured by name; None when the numbers are no time."""
    clock = groups.get("clock")
    if not clock:
        return None
    hours, minutes, seconds = int(clock[:2]), int(clock[3:5]), int(clock[6:])  # quicker than a split
    month = _MONTHS.index(groups["name"]) + 1 if groups.get("name") else int(groups["month"])
    day = int(groups["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hours < 24 and minutes < 60 and seconds < 61):
        return None
    part = groups.get("part") or ""
    year = groups.get("year")
    return Stamp(
        int(year) if year else None, month, day, hours * 3600 + minutes * 60 + seconds,
        int(part.ljust(9, "0")) if part else 0, _zone(groups.get("zone")),
    )  # fmt: skip


def _zone(text: str | None) -> int:
    if not text:
        return 0
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if text[0] == "-" else seconds
