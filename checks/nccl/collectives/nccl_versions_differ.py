"""Judges nccl-versions-differ (NCC016), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
OLDER = TOML["older"]
LOG_MESSAGE = TOML["log"]
ODD = TOML["odd"]
SPLIT = TOML["split"]


def explain(hits: Hits) -> Finding:
    """Two ranks with different libraries, or one whose library is older than its torch."""
    message = OLDER if hits.first.signature else LOG_MESSAGE
    values: dict[str, Any] = dict(hits.first.groups)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **values)


@check(PROBLEM)
def nccl_of_nodes(cluster: Cluster) -> Judgement:
    """Likely: LD_LIBRARY_PATH or VLLM_NCCL_SO_PATH may put another NCCL in front of the wheel's."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("NCCL")), confidence=LIKELY)
