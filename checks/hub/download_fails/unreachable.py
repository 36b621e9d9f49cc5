"""Judges HUB4525/unreachable, a row of download-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.shared.named_models import missing_repository
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.network import Network
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def mirror_is_silent(training: Training, network: Network, model: Model | None) -> Judgement:
    """Of the mirror that HF_ENDPOINT names, where the model has to come from it."""
    endpoint = network.endpoint("hub")
    named = missing_repository(model, training, None, None, None) if endpoint is not None else None
    if endpoint is None or named is None:
        return
    if endpoint.resolves is False:
        how = "its name does not resolve"
    elif endpoint.answers is False:
        how = "no answer within a second"
    else:
        return
    address = f"{endpoint.host}:{endpoint.port}"
    yield found(
        PROBLEM, TOML["mirror"], severity=WARNING, confidence=LIKELY, mirror=address, model=named.value,
        commands=(f"curl -sI --max-time 10 {'https' if endpoint.port == 443 else 'http'}://{address} | head -1",),
        evidence=(Observed.quoted(f"GET {address}", how),),
    )  # fmt: skip
