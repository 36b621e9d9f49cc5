"""The estimate of `doctor plan` against tensors counted in real GRPO steps on the CPU, as a table in Markdown.

    python benchmarks/plan.py

Needs the interpreter with the real stack (tools/make_real_stack.sh). Takes some minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from doctor.sizing.budget import MemoryPhase, budget_of
from tests.sizing import cases, measuring

MIB = 1024**2
OUTSIDE = {"context", "slack"}
LASTING = {"weights", "optimizer", "reference", "buckets"}


def tensors(phase: MemoryPhase, left_out: set[str]) -> float:
    """Bytes of tensors in a phase."""
    return sum(each.likely for each in phase.parts if each.key not in left_out)


def main() -> None:
    """Measure every case and print the table."""
    names = list(cases.CASES)
    with tempfile.TemporaryDirectory() as folder:
        results = measuring.peaks([cases.request_of(each) for each in names], Path(folder), limit_s=1200)
    print("| run | estimated MiB | counted MiB | error | error of what comes and goes |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, found in zip(names, results, strict=True):
        update = next(each for each in budget_of(cases.setup_of(name)).phases if each.name == "update")
        whole, moving = tensors(update, OUTSIDE), tensors(update, OUTSIDE | LASTING)
        counted = found["update"]
        parts = (whole / counted - 1, moving / (counted - whole + moving) - 1)
        print(f"| {name} | {whole / MIB:.1f} | {counted / MIB:.1f} | {parts[0]:+.1%} | {parts[1]:+.1%} |")


if __name__ == "__main__":
    main()
