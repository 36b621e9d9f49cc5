"""Scores `doctor rehearse` over scripts with planted mistakes and over scripts that are well.

    DOCTOR_REAL_PYTHON=.venv-real/bin/python python tools/score_rehearsals.py [NAME...]

Prints one line a script: caught or missed, quiet or false alarm, touched files, seconds of the clock and of the CPU;
then the sums and the medians. On a busy machine the CPU's seconds alone say something.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.real.runs import environment, interpreter  # noqa: E402
from tests.rehearse.cases import MISSED, MISTAKES, WELL  # noqa: E402
from tests.rehearse.running import make_stage, rehearse  # noqa: E402


def main(names: list[str]) -> None:
    """Rehearse all scripts, or those that are named."""
    python = interpreter()
    caught, quiet, touched, seconds, worked = [], [], [], [], []
    with tempfile.TemporaryDirectory(prefix="rehearsals-") as base:
        stages: dict[str, Path] = {}
        for name, case in {**MISTAKES, **MISSED, **WELL}.items():
            if names and name not in names:
                continue
            folder = Path(base, name)
            folder.mkdir()
            if case.beside not in stages:
                stages[case.beside] = Path(base, f"stage-{case.beside}")
                stages[case.beside].mkdir()
                make_stage(python, stages[case.beside], environment(python, stages[case.beside]), case.beside)
            before = cpu_s()
            done = rehearse(case, python, stages[case.beside], folder, environment(python, folder))
            good = done.code == 0 and not done.ids and not done.broken if case.well else done.catches(case)
            (quiet if case.well else caught).append(good)
            touched.append(bool(done.touched))
            seconds.append(done.seconds)
            worked.append(cpu_s() - before)
            word = ("quiet" if good else "FALSE ALARM") if case.well else ("caught" if good else "MISSED")
            told = f"{', '.join(done.ids)} {', '.join(done.broken)}".strip()
            took = f"{done.seconds:6.1f} s {worked[-1]:6.1f} s CPU"
            print(f"{name:28} {word:12} {took}  {told} {'TOUCHED' if done.touched else ''}", flush=True)
    if seconds:
        print(f"\ncaught {sum(caught)} of {len(caught)}, quiet {sum(quiet)} of {len(quiet)}, touched {sum(touched)}, "
              f"median {statistics.median(seconds):.1f} s, {statistics.median(worked):.1f} s CPU")  # fmt: skip


def cpu_s() -> float:
    """Seconds of the CPU that children took which have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
