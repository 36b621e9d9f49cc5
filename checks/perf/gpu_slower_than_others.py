"""Judges gpu-slower-than-others (PRF011), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.base.record import replace
from doctor.base.stats import Window, median_of_sorted
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Message, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SEVERAL = TOML["several"]
LIMITED = TOML["limited"]
DRAWS_LITTLE = TOML["draws_little"]


#: percent of activity that counts as working; share below the others; seconds of work; clocks kept a card
WORKING, BELOW, LEAST_S, KEPT = 20.0, 0.10, 60.0, 512
#: percent of the power limit: of a card that draws little while busy, and of the others that do not
LITTLE, MUCH = 60.0, 80.0


@rule(
    PROBLEM,
    needs=("usage/bin_s", "gpu/*/activity_pct", "gpu/*/sm_clock_mhz", "gpu/*/power_limit_w", "gpu/*/busy_power_pct"),
)
class GpuSlowerThanOthers:
    """Keeps the clocks of the bins in which a card worked, and its power of those in which it was busy throughout."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._activity: dict[str, Point] = {}
        self._clocks: dict[str, Window] = {}
        self._draws: dict[str, Window] = {}
        self._limits: dict[str, float] = {}
        self._bins: dict[str, int] = {}
        self._busy: dict[str, int] = {}
        self._last: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take a clock in when the card's activity of the same bin says that it worked."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
            return None
        gpu = gpu_of(point.name)
        if point.name.endswith("/activity_pct"):
            self._activity[gpu] = point
        elif point.name.endswith("/power_limit_w"):
            self._limits[gpu] = point.value
        elif point.name.endswith("/busy_power_pct"):
            self._take(point, self._draws, self._busy)
        elif point.name.endswith("/sm_clock_mhz"):
            activity = self._activity.get(gpu)
            if activity is not None and activity.step == point.step and activity.value >= WORKING:
                self._take(point, self._clocks, self._bins)
        return None

    def _take(self, point: Point, windows: dict[str, Window], bins: dict[str, int]) -> None:
        gpu = gpu_of(point.name)
        windows.setdefault(gpu, Window(KEPT)).push(point.value)
        bins[gpu] = bins.get(gpu, 0) + 1
        self._last[gpu] = point

    def finish(self) -> Optional[Finding]:
        """Compare the cards that worked long enough by clock, else by power."""
        clocks = self._medians(self._clocks, self._bins)
        worked = set(clocks) | {gpu for gpu, bins in self._busy.items() if bins * self._bin_s >= LEAST_S}
        limits = {gpu: watts for gpu, watts in self._limits.items() if gpu in worked}
        draws = self._medians(self._draws, self._busy)
        slow, limited = below(clocks, 1 - BELOW), below(limits, 1 - BELOW)
        little = [gpu for gpu in below(draws, LITTLE / MUCH) if draws[gpu] < LITTLE]
        little = little if little and _typical(draws, little) > MUCH else []
        power = (
            *(_line(gpu, limits, limited, "the power limit of GPU {gpu} is {own:.0f} W, of the others {others:.0f} W")
              for gpu in limited),
            *(_line(gpu, draws, little, "GPU {gpu} draws {own:.0f} % of its power limit while busy, the others "
                    "{others:.0f} %") for gpu in little),
        )  # fmt: skip
        if slow:
            return self._slow(slow, clocks, power)
        for message, names, values in ((LIMITED, limited, limits), (DRAWS_LITTLE, little, draws)):
            if names:
                return self._found(message, names, values, power)
        return None

    def _medians(self, windows: dict[str, Window], bins: dict[str, int]) -> dict[str, float]:
        return {gpu: each.median for gpu, each in windows.items() if bins[gpu] * self._bin_s >= LEAST_S}

    def _slow(self, slow: list[str], clocks: dict[str, float], power: tuple[str, ...]) -> Finding:
        rest = f"of the {len(clocks) - len(slow)} others {_typical(clocks, slow):.0f}"
        if len(slow) == 1:
            text = f"median SM clock while active: {clocks[slow[0]]:.0f} MHz, {rest}"
        else:
            text = "median SM clock while active: " + ", ".join(f"GPU {gpu} {clocks[gpu]:.0f} MHz" for gpu in slow)
            text += f", {rest}"
        return self._found(MESSAGE if len(slow) == 1 else SEVERAL, slow, clocks, (text, *power))

    def _found(self, message: Message, names: list[str], values: dict[str, float], lines: tuple[str, ...]) -> Finding:
        """Say it of the cards `names`, slowest first, of which the first is the place."""
        first, *more = lines
        at = place(self._last[names[0]], first)
        at["evidence"] = (*at["evidence"], *(replace(at["evidence"][0], text=each) for each in more))
        low, high = f"{values[names[0]]:.0f}", f"{values[names[-1]]:.0f}"
        confidence = LIKELY if message in (LIMITED, DRAWS_LITTLE) else CONFIRMED
        return found(
            PROBLEM, message, confidence=confidence, gpu=names[0], gpus=", ".join(sorted(names, key=_by_number)),
            own=low if low == high else f"{low} to {high}", others=f"{_typical(values, names):.0f}",
            count=len(values) - len(names),
            commands=("nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE",), **at,
        )  # fmt: skip


def below(values: dict[str, float], share: float) -> list[str]:
    """Cards whose value is less than a share of that of the faster half, lowest first.

    The faster half, not all others: of those some may be slow as well. Half of the cards may be slow, not more: then
    nothing tells which of them are as they should be.
    """
    if len(values) < 2:
        return []
    ordered = sorted(values.values())
    usual = median_of_sorted(ordered[len(ordered) // 2 :])
    lower = [gpu for gpu in sorted(values, key=lambda gpu: values[gpu]) if values[gpu] < share * usual]
    return lower if len(lower) * 2 <= len(values) else []


def _typical(values: dict[str, float], left_out: list[str]) -> float:
    """Median of the other cards."""
    return median_of_sorted(sorted(value for gpu, value in values.items() if gpu not in left_out))


def _line(gpu: str, values: dict[str, float], low: list[str], text: str) -> str:
    return text.format(gpu=gpu, own=values[gpu], others=_typical(values, low))


def _by_number(gpu: str) -> tuple[str, int]:
    host, _, number = gpu.rpartition(":")
    return host, int(number) if number.isdigit() else 0
