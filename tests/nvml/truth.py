"""A true activity of a GPU: steps in time, written into a scenario and integrated for comparison."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """From `at_s` (scenario seconds) on, these channels have these values."""

    at_s: float
    values: dict[str, float]


@dataclass(frozen=True)
class Truth:
    """Steps in order of time; the last one lasts for ever."""

    steps: tuple[Step, ...]

    def lines(self, *, gi: int | None = None) -> str:
        """`activity = ...` lines of a [gpu] section."""
        where = "" if gi is None else f" gi={gi}"
        return "\n".join(
            f"activity = {step.at_s:.6f}{where} " + " ".join(f"{name}={value}" for name, value in step.values.items())
            for step in self.steps
        )

    def at(self, channel: str, at_s: float) -> float:
        """Of a channel at a moment."""
        return next(step for step in reversed(self.steps) if step.at_s <= at_s).values[channel]

    def integral(self, channel: str, from_s: float, to_s: float) -> float:
        """Of a channel over time; before 0 the first step's value held."""
        ends = [step.at_s for step in self.steps[1:]] + [float("inf")]
        starts = [float("-inf")] + [step.at_s for step in self.steps[1:]]
        return sum(
            max(0.0, min(end, to_s) - max(start, from_s)) * step.values[channel]
            for step, start, end in zip(self.steps, starts, ends, strict=True)
        )

    def mean(self, channel: str, from_s: float, to_s: float) -> float:
        """Of a channel between two times."""
        return self.integral(channel, from_s, to_s) / (to_s - from_s)


def bursts(seed: int, length_s: float) -> Truth:
    """Work in bursts of 20 ms to 1 s with pauses between, every channel different."""
    rng = random.Random(seed)  # noqa: S311 - a reproducible pattern, no secret
    at_s, steps = 0.0, []
    for busy in itertools.cycle((0, 1)):
        if at_s > length_s:
            break
        work = {"sm": 0.9, "occupancy": 0.5, "tensor": 0.6, "dram": 0.7, "membusy": 0.8}
        values: dict[str, float] = {name: round(busy * top * rng.random(), 4) for name, top in work.items()}
        rates = {"pcie_tx": 900, "pcie_rx": 700, "nvlink_tx": 90000, "nvlink_rx": 80000}
        values |= {name: float(busy * rng.randrange(top)) for name, top in rates.items()}
        values |= {"busy": busy, "power": 90.0 + busy * rng.randrange(500)}
        steps.append(Step(round(at_s, 6), values))
        at_s += rng.uniform(0.02, 1.0)
    return Truth(tuple(steps))
