"""torch cannot be imported.

## What it means
`import torch` in the interpreter that is judged raises, crashes or does not end.
## What it does to a run
Nothing of the stack starts.
## What to do
Read the reason. An undefined symbol or a missing library means that LD_LIBRARY_PATH puts another CUDA first, or that
the nvidia-* packages of torch are missing or of another version. An illegal instruction means a build for a newer CPU.
## How it is found
`--deep` imports torch in a process of its own, with the command's variables.
## References
https://github.com/pytorch/pytorch/issues/111469
https://github.com/pytorch/pytorch/pull/141063
"""

from __future__ import annotations

from doctor.checks.python._imports import (
    ABSENT,
    LIBRARY,
    OTHER_CUDA,
    RAISED,
    SIGNAL,
    SYMBOL,
    TIMEOUT,
    failures,
    finding,
)
from doctor.core.check import Judgement, check
from doctor.core.problem import ERROR, Problem
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR007", name="torch-import-fails", severity=ERROR, since="0.1")

MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)


@check(PROBLEM)
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What fails only because torch does is not told again."""
    for each in failures(deep, "torch"):
        yield finding(PROBLEM, each, packages)
