"""What the witness takes of a training's time: a round measured, and its share at common lengths of a step.

    .venv/bin/python benchmarks/witness.py

The engine is a small model behind vLLM's protocol on the same CPU. What counts is what the training's own thread
spends: requests, waiting, the trainer's forwards, and judgement. Of a big model the forwards and the prefill of 208
tokens take longer, in proportion to its steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.witness.loop import Case, run

STEPS, SECONDS = 500, (5, 30, 120)


def main() -> None:
    """Run the loop and print the table."""
    ran = run(Case(steps=6, every=1))
    witness = ran.watched._witness  # noqa: SLF001
    each_s = witness.spent_s / witness.rounds
    rounds = 5 + STEPS // 50
    print(f"{witness.rounds} rounds, {each_s:.3f} s each in the training's own thread")
    for step_s in SECONDS:
        share = rounds * each_s / (STEPS * step_s)
        print(f"{STEPS} steps of {step_s:>3} s, {rounds} rounds: {share:.3%} of the time (bound: 0.5 %)")


if __name__ == "__main__":
    main()
