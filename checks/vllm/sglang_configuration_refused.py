"""SGLang refuses its arguments.

## What it means
The program checks its settings before it trains and refuses those that contradict each other, are missing, or
that the release does not support. Its message names them.
## What it does to a run
The command ends before the first step.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised in the validation of the program itself, and that names
settings.
## References
https://docs.sglang.ai/advanced_features/server_arguments.html
https://pypi.org/project/sglang/
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, BARE, REFUSED, refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL067", name="sglang-configuration-refused", severity=ERROR, since="0.1")

FRAME = (
    r"[\\/]sglang[\\/]srt[\\/](?:server_args|arg_groups|configs|managers|entrypoints|layers|model_executor|lora"
    r"|models|speculative|utils|parser|disaggregation|weight_sync)"
)

SIGNATURES = (
    Signature(
        REFUSED,
        frame=FRAME,
        symptom_of=AREAS,
    ),
    Signature(BARE, frame=FRAME, symptom_of=AREAS),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    return refused(PROBLEM, "SGLang", hits, FRAME)
