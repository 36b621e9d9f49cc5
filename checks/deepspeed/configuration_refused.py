"""DeepSpeed refuses its settings.

## What it means
The engine checks its configuration against itself, the model and the optimizer: features that a ZeRO stage does
not have, sizes that have to divide, settings that exclude each other. The message names them.
## What it does to a run
The command ends before the first step, on every rank.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised where DeepSpeed checks its settings, and that names them. Where
a problem of its own knows more, that one speaks.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.17.6/deepspeed/runtime/config.py
https://www.deepspeed.ai/docs/config-json/
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, REFUSED, setting_refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP038", name="deepspeed-configuration-refused", severity=ERROR, since="0.1")

#: where DeepSpeed checks what it was given
VALIDATION = (
    r"[\\/]deepspeed[\\/](?:runtime[\\/](?:config\w*|precision_config|lr_schedules|zero[\\/](?:config|offload_config)"
    r"|zero[\\/]stage\w+(?=\.py:__init__)|engine(?=\.py:(?:__init__|_do_\w+|_configure_\w+))|sequence_parallel[\\/]\w+)"
    r"|elasticity[\\/]\w+|launcher[\\/]\w+|__init__)\.py:"
)

SIGNATURES = (Signature(REFUSED, frame=VALIDATION, symptom_of=AREAS),)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return setting_refused(PROBLEM, "DeepSpeed", hits, VALIDATION)
