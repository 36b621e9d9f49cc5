"""Judges trl-vllm-serve-deprecated (VLL006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.proofs import COMMAND
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: what TRL adds so that logprobs are those of the sampled distribution
EXACT = "--logprobs-mode processed_logprobs --max-logprobs -1"


@check(PROBLEM)
def trl_serve_deprecated(launch: Launch, serving: Serving, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "trl-vllm-serve":
        return
    transfer = """--weight-transfer-config '{"backend": "nccl"}'"""
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("trl"),
        commands=(f"VLLM_SERVER_DEV_MODE=1 vllm serve {serving.model or 'MODEL'} {transfer} {EXACT}",),
        evidence=(Observed.quoted(COMMAND, " ".join(launch.argv)),),
    )
