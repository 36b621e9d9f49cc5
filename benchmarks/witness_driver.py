"""What the witness takes of a driver's time: a round of questions measured, and its share at common lengths of a step.

    .venv/bin/python benchmarks/witness_driver.py

Drivers of veRL's and OpenRLHF's shapes ask a small model behind vLLM's and SGLang's protocol on the same CPU, one
question after the other. What counts is what a push takes longer with the witness than by itself. A big engine answers
more slowly, so each answer is also held back for as long as one of a big model may take, and for longer than the run
waits. When rounds come is computed by the witness's own rule, see `benchmarks/witness.py`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.witness import SECONDS, STEPS, taken
from doctor.monitors.guard import shield
from doctor.monitors.witness.questions import EngineWitness
from doctor.monitors.witness.witness import MOST_SHARE
from tests.witness.test_questions import Actor, World, driver, generating

#: seconds that each answer is held back: none; a dozen tokens of a model of some billions; longer than the run waits
HELD_BACK_S = (0.0, 0.25, 4.0)

Drive = Callable[[World], None]


def by_verl(protocol: str) -> Drive:
    """A driver of veRL's shape, whose engine lies behind an address."""

    def drive(world: World) -> None:
        with world.engine.served(protocol) as url:
            driver(world, url).fit()

    return drive


def by_openrlhf(world: World) -> None:
    """A driver of OpenRLHF's shape, whose engine is an actor."""
    sys.modules.setdefault("ray", SimpleNamespace(get=lambda refs, **_: refs, cancel=print))  # type: ignore[arg-type]
    sys.modules.setdefault("vllm", SimpleNamespace(SamplingParams=SimpleNamespace))  # type: ignore[arg-type]
    generating(world, Actor(world))


def timed_rounds(drive: Drive, held_back_s: float) -> tuple[list[float], bool]:
    """Seconds of the driver's own thread that each round takes, and whether the witness asks on behind them."""
    each_s: list[float] = []
    off: list[bool] = []
    original = EngineWitness.idle

    def timed(self: Any) -> None:
        rounds, began_s = self.rounds + self.late, time.monotonic()
        original(self)
        if self.rounds + self.late > rounds:
            each_s.append(time.monotonic() - began_s)
            off.append(self.off is not None)

    EngineWitness.idle = timed  # type: ignore[method-assign]
    shield._failed.clear()  # noqa: SLF001 - what failed in one run is off in the next one
    world = World()
    world.engine.stalls_s = held_back_s
    try:
        drive(world)
    finally:
        EngineWitness.idle = original  # type: ignore[method-assign]
    return each_s, not off[-1]


def shares(each_s: list[float], step_s: float, *, on: bool) -> float:
    """Share of the time of `STEPS` steps: of the rounds that were made, and of those that are due behind them."""
    if not on:
        return sum(each_s) / (STEPS * step_s)
    return taken(sum(each_s) / len(each_s), step_s, len(each_s))[1]


def main() -> None:
    """Run the drivers and print the table."""
    os.environ.update(DOCTOR_GUARD_TRACKERS="no", DOCTOR_GUARD_LANG="en")
    runs: list[tuple[str, Drive, float]] = [
        *((f"veRL, vLLM, +{held} s", by_verl("vllm"), held) for held in HELD_BACK_S),
        *((f"veRL, SGLang, +{held} s", by_verl("sglang"), held) for held in HELD_BACK_S[:2]),
        ("OpenRLHF, actor", by_openrlhf, 0.0),
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, drive, held_back_s in runs:
            each_s, on = timed_rounds(drive, held_back_s)
            told = ", ".join(f"{step_s} s: {shares(each_s, step_s, on=on):.3%}" for step_s in SECONDS)
            mean_s = sum(each_s) / len(each_s)
            print(f"{name:22} {len(each_s)} rounds, {mean_s:.3f} s each, {max(each_s):.3f} s at most; steps of {told}")
    print(f"shares of {STEPS} steps; bound: {MOST_SHARE:.1%}")


if __name__ == "__main__":
    main()
