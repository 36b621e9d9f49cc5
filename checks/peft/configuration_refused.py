"""PEFT refuses its settings.

## What it means
`LoraConfig` and its kin check what they were given, alone and against the layers of the model: options that exclude
or need each other, ranks that do not fit. The message names them.
## What it does to a run
The command ends before the first step, on every rank.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised where PEFT checks its settings, and that names them. Where
a problem of its own knows more, that one speaks.
## References
https://github.com/huggingface/peft/blob/v0.17.1/src/peft/tuners/lora/config.py
https://huggingface.co/docs/peft/package_reference/lora
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, REFUSED, setting_refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT012", name="peft-configuration-refused", severity=ERROR, since="0.1")

#: where PEFT checks what it was given
VALIDATION = (
    r"[\\/]peft[\\/](?:config|tuners[\\/]tuners_utils"
    r"|tuners[\\/]\w+[\\/](?:config|model|layer|variants|bnb|gptq|awq))\.py:"
)

SIGNATURES = (Signature(REFUSED, frame=VALIDATION, symptom_of=AREAS),)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return setting_refused(PROBLEM, "PEFT", hits, VALIDATION)
