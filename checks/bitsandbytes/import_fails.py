"""bitsandbytes cannot be imported.

## What it means
bitsandbytes is installed, and importing it in the interpreter that is judged raises or crashes.
## What it does to a run
Quantized models cannot be loaded and 8-bit optimizers cannot be made. PEFT imports it when it can be found, so a LoRA
run without quantization can fail too.
## What to do
Read the reason; install a build for this torch and CUDA, or uninstall it where nothing needs it.
## How it is found
`--deep` imports it in a process of its own, with the command's variables.
## References
https://huggingface.co/docs/bitsandbytes/installation
https://huggingface.co/docs/bitsandbytes/errors
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

PROBLEM = Problem(id="BNB003", name="bitsandbytes-import-fails", severity=ERROR, since="0.1")

MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)


@check(PROBLEM, requires=("BNB002",))
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What a missing library for torch's CUDA explains already is not told again."""
    for each in failures(deep, "bitsandbytes"):
        yield finding(PROBLEM, each, packages)
