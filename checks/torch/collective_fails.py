"""Judges collective-fails (TOR010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
HUNG = TOML["hung"]


@check(PROBLEM)
def collective_fails(deep: Deep) -> Judgement:
    """Judge the one collective that was tried."""
    tried = deep.collective
    if tried is None or tried.outcome == "ok":
        return
    yield found(
        PROBLEM,
        HUNG if tried.outcome == "timeout" else MESSAGE,
        commands=("NCCL_DEBUG=INFO torchrun --nproc_per_node 2 SCRIPT",),
        evidence=(Observed.quoted(f"all-reduce with {tried.backend}", tried.error or tried.outcome),),
        backend=tried.backend,
        error=(tried.error or tried.outcome).rstrip("."),
        seconds=round(tried.seconds),
    )
