"""Accelerate refuses its settings.

## What it means
The launcher, the plugins for DeepSpeed and FSDP and the parallelism configuration check what they were given:
settings that need each other, sizes that have to multiply to the number of processes. The message names them.
## What it does to a run
The command ends before the first step, on every rank.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised where Accelerate checks its settings, and that names them. Where
a problem of its own knows more, that one speaks.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/parallelism_config.py
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, REFUSED, setting_refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC020", name="accelerate-configuration-refused", severity=ERROR, since="0.1")

#: where Accelerate checks what it was given
VALIDATION = (
    r"[\\/]accelerate[\\/](?:utils[\\/](?:dataclasses|launch|deepspeed)|commands[\\/]launch|parallelism_config|state|launchers"
    r"|accelerator(?=\.py:(?:__init__|prepare\w*|_prepare_\w+|_validate\w*)))\.py:"
)

SIGNATURES = (Signature(REFUSED, frame=VALIDATION, symptom_of=AREAS),)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return setting_refused(PROBLEM, "Accelerate", hits, VALIDATION)
