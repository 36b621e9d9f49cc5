"""veRL refuses its configuration.

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
https://verl.readthedocs.io/en/latest/examples/config.html
https://github.com/verl-project/verl/blob/main/verl/utils/config.py
"""

from __future__ import annotations

import re

from doctor.checks.launch._refusals import AREAS, BARE, REFUSED, refused
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL016", name="verl-configuration-refused", severity=ERROR, since="0.1")

FRAME = r"[\\/]verl[\\/](?:trainer|workers|utils|protocol|single_controller|models|experimental)"

SIGNATURES = (
    Signature(
        REFUSED,
        frame=FRAME,
        symptom_of=AREAS,
    ),
    Signature(BARE, frame=FRAME, symptom_of=AREAS),
    Signature(
        r"^\s{1,12}assert (?P<asserted>(?:self\.)?config\.(?:data|actor_rollout_ref|critic|trainer|alg"
        r"orithm|reward_model|actor|rollout)\.[^\n]{0,240})",
        symptom_of=AREAS,
    ),
)


#: what these messages list is the state of the run, not what somebody set
_STATE = re.compile(r"\bdict_keys\(\[<|\bhas \d{1,6} (?:actors|workers)\b")


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    if _STATE.search(hits.get("message") or ""):
        return None
    return refused(PROBLEM, "veRL", hits, FRAME)
