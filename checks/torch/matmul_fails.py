"""Judges matmul-fails (TOR009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Message, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep, Matmul

TOML = words_of(__name__)
PROBLEM = TOML.problem
KILLED = TOML["killed"]
RAISED = TOML["raised"]
HUNG = TOML["hung"]
NOT_FINITE = TOML["not_finite"]


_BY_OUTCOME = {"signal": KILLED, "timeout": HUNG}


def _message(each: Matmul) -> Message | None:
    """Words for one product, None for a good one and for a dtype that the card does not have."""
    if each.outcome == "ok":
        return NOT_FINITE if each.finite is False else None
    return _BY_OUTCOME.get(each.outcome, RAISED)


@check(PROBLEM, requires=("CUD006",))
def matmul_fails(deep: Deep) -> Judgement:
    """One finding a card: the first product that went wrong."""
    told: set[int] = set()
    for each in deep.matmuls:
        message = _message(each)
        if message is None or each.gpu in told:
            continue
        told.add(each.gpu)
        yield found(
            PROBLEM,
            message,
            where=Where(gpu=each.gpu),
            commands=("sudo dmesg | grep -i xid", f"nvidia-smi -q -i {each.gpu}"),
            evidence=(
                Observed.quoted(f"{each.dtype} product on GPU {each.gpu}", each.error or each.signal or each.outcome),
            ),
            gpu=each.gpu,
            dtype=each.dtype,
            signal=each.signal,
            error=(each.error or "").rstrip("."),
        )
