"""Judges LCH0780/environment, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY
from doctor.catalogue.nodes.compare import Compared, compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import INFO
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


_OF_NCCL = ("NCCL_", "GLOO_", "TORCH_NCCL_")
_COSTLY = (
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "VLLM_",
    "TORCH",
    "PYTORCH_",
    "TRANSFORMERS_OFFLINE",
    "HF_HUB_",
)


@check(PROBLEM)
def environment_differs_between_nodes(cluster: Cluster) -> Judgement:
    """Those that change what is loaded or chosen are a warning, the others for information."""
    rows = [each for each in compare(cluster, named("{}")) if each.area == "environment" and _counts(each)]
    costly = [each for each in rows if each.name.startswith(_COSTLY)]
    others = [each for each in rows if not each.name.startswith(_COSTLY)]
    yield from told_apart(PROBLEM, ODD, SPLIT, costly, confidence=LIKELY)
    yield from told_apart(PROBLEM, ODD, SPLIT, others, severity=INFO, confidence=LIKELY)


def _counts(row: Compared) -> bool:
    """NCCL's variables and the master's address are problems of their own; each node has its own size of a world."""
    return not row.name.startswith(_OF_NCCL) and row.name not in {"MASTER_PORT", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}
