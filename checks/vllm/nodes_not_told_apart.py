"""Judges nodes-not-told-apart (VLL093), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Too many addresses or too few."""
    nodes, addresses = int(hits.get("nodes") or 0), int(hits.get("addresses") or 0)
    why = why_zh = ""
    if addresses > nodes:
        why = "A node is known by two addresses: the driver or a worker named another one than Ray has. "
        why_zh = "某个节点有两个地址:driver 或某个 worker 报告的与 Ray 的不同。"
    elif nodes:
        why = (
            "Several nodes name the same address: `VLLM_HOST_IP` was copied to all, or the workers landed on one host. "
        )
        why_zh = "多个节点报告同一地址:`VLLM_HOST_IP` 被复制到所有节点,或 worker 都落在一台主机上。"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        hosts=nodes or "the", addresses=addresses or "other", why=why, why_zh=why_zh,
    )  # fmt: skip
