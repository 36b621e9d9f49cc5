"""Judges openai-module-deprecated (VLL005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.proofs import COMMAND
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def openai_module_deprecated(launch: Launch, packages: Packages) -> Judgement:
    """Judge the launch command alone; the engine has compared the version."""
    if launch.kind != "vllm-openai-server":
        return
    model = launch.arguments.get("model")
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        commands=(f"vllm serve {model.value if model else 'MODEL'}",),
        evidence=(Observed.quoted(COMMAND, " ".join(launch.argv)),),
    )
