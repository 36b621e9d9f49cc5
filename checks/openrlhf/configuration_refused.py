"""OpenRLHF refuses its options.

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
https://openrlhf.readthedocs.io/en/latest/
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
"""

from __future__ import annotations

from doctor.checks.launch._refusals import AREAS, BARE, REFUSED, about_data, refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ORL005", name="openrlhf-configuration-refused", severity=ERROR, since="0.1")

FRAME = r"[\\/]openrlhf[\\/]"

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
    return None if about_data(hits.get("message") or "") else refused(PROBLEM, "OpenRLHF", hits, FRAME)
