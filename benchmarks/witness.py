"""What the witness takes of a training's time: a round measured, and its share at common lengths of a step.

    .venv/bin/python benchmarks/witness.py

The engine is a small model behind vLLM's protocol on the same CPU. What counts is what the training's own thread
spends: requests, waiting, the trainer's forwards, and judgement. Of a big model the forwards and the prefill of 208
tokens take longer, in proportion to its steps. When rounds come is computed by the witness's own rule: behind the first
ones the next wait until all of them together, with the one that is due, take no more than their share.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from doctor.monitors.witness.witness import FIRST_ROUNDS, MOST_SHARE
from tests.witness.loop import Case, run

STEPS, SECONDS, EVERY = 500, (5, 30, 120), 50


def taken(each_s: float, step_s: float, first: int = FIRST_ROUNDS) -> tuple[int, float]:
    """Rounds in `STEPS` steps, `first` of them at its beginning, and the share of the time that they take."""
    rounds, spent_s, last = first, first * each_s, 3
    for step in range(last + EVERY, STEPS + 1):
        if step - last >= EVERY and spent_s + each_s <= MOST_SHARE * step * step_s:
            rounds, spent_s, last = rounds + 1, spent_s + each_s, step
    return rounds, spent_s / (STEPS * step_s)


def main() -> None:
    """Run the loop and print the table."""
    ran = run(Case(steps=6, every=1))
    witness = ran.watched._witness  # noqa: SLF001
    each_s = witness.spent_s / witness.rounds
    print(f"{witness.rounds} rounds, {each_s:.3f} s each in the training's own thread")
    for step_s in SECONDS:
        rounds, share = taken(each_s, step_s)
        print(f"{STEPS} steps of {step_s:>3} s, {rounds} rounds: {share:.3%} of the time (bound: {MOST_SHARE:.1%})")


if __name__ == "__main__":
    main()
