"""TRL, vLLM or DeepSpeed cannot be imported.

## What it means
The package is installed, and importing it in the interpreter that is judged raises, crashes or does not end.
## What it does to a run
The run ends in its first seconds, or, with vLLM, when the engine is started.
## What to do
Read the reason: a library that is missing or of another version, a Python module that another package lacks.
## How it is found
`--deep` imports each package in a process of its own, with the command's variables.
## References
https://docs.python.org/3/library/importlib.html
https://github.com/vllm-project/vllm/issues/6118
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

PROBLEM = Problem(id="PYT017", name="stack-import-fails", severity=ERROR, since="0.1")

MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)


@check(PROBLEM)
def stack_import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """torch, flash-attn and bitsandbytes have problems of their own."""
    for each in failures(deep, "trl", "vllm", "deepspeed"):
        yield finding(PROBLEM, each, packages)
