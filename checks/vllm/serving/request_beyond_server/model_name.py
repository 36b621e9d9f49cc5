"""Judges VLL5449/model_name, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.words import words_of
from doctor.facts.network import Network
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def another_model_served(training: Training, network: Network) -> Judgement:
    """Of a server that lists its models; a name may be a path on its machine, so the last parts are compared."""
    endpoint, model = network.endpoint("vllm_server"), training.model
    if endpoint is None or not endpoint.served or model is None or not model.known or not isinstance(model.value, str):
        return
    if any(_alike(model.value, each) for each in endpoint.served):
        return
    address = f"{endpoint.host}:{endpoint.port}"
    yield found(
        PROBLEM, TOML["trained"], severity=WARNING, confidence=LIKELY, where=place_of(model), model=model.value,
        served=endpoint.served[0], address=address,
        evidence=(Observed.quoted(f"GET http://{address}/v1/models", ", ".join(endpoint.served[:4])),),
    )  # fmt: skip


def _alike(one: str, other: str) -> bool:
    """Whether the last part of one name stands in the other: a repository, a folder, a snapshot in a cache."""
    first, second = (each.rstrip("/").lower() for each in (one, other))
    return first.rpartition("/")[2] in second or second.rpartition("/")[2] in first
