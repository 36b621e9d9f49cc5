"""flash-attn cannot be imported.

## What it means
flash-attn is installed, and importing it in the interpreter that is judged raises or crashes. Most often its compiled
module belongs to another torch, another CUDA or a newer system library.
## What it does to a run
Transformers, TRL and veRL import it whenever it is installed, so runs that do not ask for it fail too.
## What to do
Install a build for this torch, or uninstall flash-attn where nothing needs it.
## How it is found
`--deep` imports it in a process of its own, with the command's variables.
## References
https://github.com/Dao-AILab/flash-attention/issues/1644
https://github.com/Dao-AILab/flash-attention/issues/975
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

PROBLEM = Problem(id="FLA007", name="flash-attn-import-fails", severity=ERROR, since="0.1")

MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)


@check(PROBLEM, requires=("FLA003",))
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What a wrong build explains already is not told again."""
    for each in failures(deep, "flash_attn"):
        yield finding(PROBLEM, each, packages)
