"""The machines of a run at a glance: a row each, and those that are alike in one, so that a thousand stay readable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from doctor.monitors.usage.judged import GpuSummary

#: rows that a person reads; beyond it what is alike is one row, and at most so many differ by name
MOST_ROWS, MOST_NAMED = 16, 12
#: how far a machine may lie from the median of all and still be like them: points of activity; shares of the others
LIKE_PCT, LIKE_SHARE, LIKE_SLOWED = 10.0, 0.10, 0.05


@dataclass
class HostSummary:
    """One machine, or several that are alike; None is "not told". Sums are of its GPUs, means over machines."""

    hosts: list[str]
    gpus: int
    activity_pct: float | None
    lowest_pct: float | None
    highest_pct: float | None
    power_w: float | None
    sm_clock_mhz: float | None
    temperature_max_c: float | None
    memory_peak_mib: float | None
    slowed_share: float | None
    hours: float
    idle_hours: float


def of_gpus(gpus: Iterable[GpuSummary]) -> list[HostSummary]:
    """A row for each machine, by name."""
    found: dict[str, list[GpuSummary]] = {}
    for gpu in gpus:
        if " MIG " not in gpu.label:
            found.setdefault(gpu.host, []).append(gpu)
    return [_one(host, cards) for host, cards in sorted(found.items())]


def _one(host: str, cards: list[GpuSummary]) -> HostSummary:
    activity = _told(card.activity_pct for card in cards)
    power = _told(card.power_w for card in cards)
    clocks = _told(card.sm_clock_mhz for card in cards)
    return HostSummary(
        [host], len(cards), fmean(activity) if activity else None, min(activity, default=None),
        max(activity, default=None), sum(power) if power else None, median(clocks) if clocks else None,
        max(_told(card.temperature_max_c for card in cards), default=None),
        max(_told(card.memory_peak_mib for card in cards), default=None),
        max(_told(card.slowed_share for card in cards), default=None), sum(card.hours for card in cards),
        sum(card.idle_hours or 0.0 for card in cards),
    )  # fmt: skip


def _told(values: Iterable[float | None]) -> list[float]:
    return [each for each in values if each is not None]


def folded(hosts: Sequence[HostSummary]) -> tuple[list[HostSummary], int]:
    """Rows to show, those that differ first, and how many that differ are left out."""
    if len(hosts) <= MOST_ROWS:
        return list(hosts), 0
    middle = {name: _median(hosts, name) for name in (*_SHARES, "activity_pct", "gpus")}
    alike = [host for host in hosts if _distance(host, middle) <= 1]
    unlike = sorted((host for host in hosts if _distance(host, middle) > 1), key=lambda each: -_distance(each, middle))
    shown = sorted(unlike[:MOST_NAMED], key=lambda each: each.hosts)
    return [*shown, *([_together(alike)] if alike else [])], len(unlike) - len(shown)


_SHARES = ("power_w", "sm_clock_mhz", "memory_peak_mib")


def _median(hosts: Sequence[HostSummary], name: str) -> float | None:
    values = _told(getattr(host, name) for host in hosts)
    return median(values) if values else None


def _distance(host: HostSummary, middle: dict[str, float | None]) -> float:
    """How far from the median machine, in units of what is alike."""
    found = [(host.slowed_share or 0.0) / LIKE_SLOWED, 0.0 if host.gpus == middle["gpus"] else 2.0]
    activity = middle["activity_pct"]
    found.append(_apart(host.activity_pct, activity, LIKE_PCT))
    found += [_apart(each, activity, LIKE_PCT) for each in (host.lowest_pct, host.highest_pct)]  # of one card
    found += [_apart(getattr(host, name), middle[name], LIKE_SHARE * (middle[name] or 1.0)) for name in _SHARES]
    return max(found)


def _apart(value: float | None, middle: float | None, unit: float) -> float:
    if value is None or middle is None:
        return 0.0 if value is middle else 2.0  # told of one and not of the other
    return abs(value - middle) / max(unit, 1e-9)


def _together(hosts: Sequence[HostSummary]) -> HostSummary:
    def mean(name: str) -> float | None:
        values = _told(getattr(host, name) for host in hosts)
        return fmean(values) if values else None

    return HostSummary(
        [name for host in hosts for name in host.hosts], sum(host.gpus for host in hosts), mean("activity_pct"),
        min(_told(host.lowest_pct for host in hosts), default=None),
        max(_told(host.highest_pct for host in hosts), default=None), mean("power_w"), mean("sm_clock_mhz"),
        max(_told(host.temperature_max_c for host in hosts), default=None),
        max(_told(host.memory_peak_mib for host in hosts), default=None),
        max(_told(host.slowed_share for host in hosts), default=None), sum(host.hours for host in hosts),
        sum(host.idle_hours for host in hosts),
    )  # fmt: skip
