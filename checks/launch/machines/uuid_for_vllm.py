"""Judges gpu-uuid-for-vllm (LCH016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.shared.proofs import effective
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def uuid_for_vllm(launch: Launch, environment: Environment, packages: Packages, training: Training | None) -> Judgement:
    """Only commands that start vLLM on this machine."""
    mode = effective(training, packages, "vllm_mode") if training and training.value("use_vllm") else None
    if not (launch.serves or (mode is not None and mode.value == "colocate")):
        return
    entries = (environment.get("CUDA_VISIBLE_DEVICES") or "").split(",")
    uuid = next((entry.strip() for entry in entries if entry.strip().startswith(("GPU-", "MIG-"))), None)
    if uuid is not None:
        evidence = (Observed.quoted("environment", f"CUDA_VISIBLE_DEVICES={','.join(entries)}"),)
        yield found(PROBLEM, MESSAGE, entry=uuid, confidence=LIKELY, evidence=evidence)


def explain(hits: Hits) -> Finding | None:
    """Only where vLLM reads the list; other programs have other limits and other releases."""
    frames = [frame for hit in hits for frame in hit.frames]
    if frames and not any("vllm" in frame for frame in frames):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), entry=hits.get("entry"),
        confidence=CONFIRMED if frames else LIKELY,
    )  # fmt: skip
