"""Transformers refuses its settings.

## What it means
TrainingArguments, quantization and generation configurations check what they were given: values out of bounds,
settings that exclude or need each other. The message names them.
## What it does to a run
The command ends before the first step, on every rank.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised where Transformers checks its settings, and that names them. Where
a problem of its own knows more, that one speaks.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/utils/quantization_config.py
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, REFUSED, setting_refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF057", name="transformers-configuration-refused", severity=ERROR, since="0.1")

#: where Transformers checks what it was given
VALIDATION = (
    r"[\\/]transformers[\\/](?:training_args|optimization|utils[\\/]quantization_config|generation[\\/]configuration_utils"
    r"|integrations[\\/](?:accelerate|deepspeed|fsdp)|distributed[\\/]\w+|quantizers[\\/]\w+|trainer(?=\.py:__init__)"
    r"|modeling_utils(?=\.py:(?:from_pretrained|__init__)))\.py:"
)

SIGNATURES = (Signature(REFUSED, frame=VALIDATION, symptom_of=AREAS),)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return setting_refused(PROBLEM, "Transformers", hits, VALIDATION)
