"""Judges vllm-refuses-half-for-model (VLL010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


REFUSED = {"gemma2", "gemma3", "gemma3_text", "glm4"}


@check(PROBLEM)
def half_refused(serving: Serving, model: Model, packages: Packages) -> Judgement:
    """The top-level model type, as vLLM compares it."""
    setting = serving.arguments.get("dtype")
    if setting is None or serving.dtype not in {"half", "float16"} or model.model_type not in REFUSED:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        model_type=model.model_type,
        dtype=serving.dtype,
        where=place_of(setting),
        commands=("--dtype bfloat16",),
        evidence=(proof(setting), Observed.quoted(model.stated_in, f"model_type: {model.model_type}")),
    )
