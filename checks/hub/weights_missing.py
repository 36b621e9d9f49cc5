"""Judges model-weights-missing (HUB008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import WEIGHTS, Checkpoints
from doctor.facts.hub import Hub
from doctor.facts.model import Model

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def weights_missing(model: Model, hub: Hub | None) -> Judgement:
    """What lies in the hub's cache is completed by itself, unless that is forbidden."""
    if not model.here:
        yield Skip(f"model `{model.name}` is not on this machine")
        return
    cached = "/snapshots/" in model.folder
    if not model.missing_weights or (cached and not (hub is not None and hub.offline)):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        count=len(model.missing_weights),
        model=model.name,
        first=model.missing_weights[0],
        where=Where(file=model.folder),
        commands=(f"HF_HUB_OFFLINE=0 hf download {model.name}",) if cached else (),
        evidence=tuple(Observed.quoted(model.folder, f"missing: {name}") for name in model.missing_weights[:4]),
    )


@check(PROBLEM)
def checkpoint_weights_missing(checkpoints: Checkpoints) -> Judgement:
    """The same in checkpoints that were found by themselves."""
    for each in checkpoints.found:
        if each.kind == WEIGHTS and each.missing and "/snapshots/" not in each.folder:
            yield found(
                PROBLEM,
                MESSAGE,
                count=len(each.missing),
                model="/".join(each.folder.split("/")[-2:]),
                first=each.missing[0],
                where=Where(file=each.folder, step=each.step),
                evidence=tuple(Observed.quoted(each.folder, f"missing: {name}") for name in each.missing[:4]),
            )


def explain(hits: Hits) -> Finding | None:
    """The end of a long path is enough to know it by."""
    model = "/".join((hits.get("model") or "").rstrip("./").split("/")[-2:])
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model,
        file=hits.get("file"),
    )  # fmt: skip
