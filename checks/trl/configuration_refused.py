"""TRL refuses its settings.

## What it means
The trainers and their configurations compare what they were given: sizes that have to divide, bounds of a loss,
settings that need each other. The message names them.
## What it does to a run
The command ends before the first step, on every rank.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised where TRL checks its settings, and that names them. Where
a problem of its own knows more, that one speaks.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/dpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, REFUSED, setting_refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL067", name="trl-configuration-refused", severity=ERROR, since="0.1")

#: where TRL checks what it was given
VALIDATION = (
    r"[\\/]trl[\\/](?:trainer|generation|scripts|extras|experimental)[\\/](?:\w+[\\/]){0"
    r",2}(?:\w+_config\.py:|\w+\.py:(?:__init__|"
    r"__post_init__|_init_vllm|_prepare_\w+|main|parse_args\w*)$)"
)

SIGNATURES = (Signature(REFUSED, frame=VALIDATION, symptom_of=AREAS),)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return setting_refused(PROBLEM, "TRL", hits, VALIDATION)
