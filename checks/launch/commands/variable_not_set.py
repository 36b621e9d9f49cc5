"""Judges variable-not-set (LCH048), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NO_LAUNCHER = TOML["no_launcher"]


#: what torchrun, accelerate, deepspeed and torch.distributed.launch set for each process they start
OF_LAUNCHERS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})


def explain(hits: Hits) -> Finding:
    """A variable of ranks tells that no launcher started the process."""
    variable = hits.get("variable") or ""
    launched = variable in OF_LAUNCHERS
    return found(
        PROBLEM,
        NO_LAUNCHER if launched else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        variable=variable,
    )
