"""Judges PYT3270/modelscope, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "VLLM_USE_MODELSCOPE"


@check(PROBLEM)
def modelscope_missing(
    launch: Launch, environment: Environment, packages: Packages, training: Training | None
) -> Judgement:
    """Judge commands that start vLLM; vLLM reads the variable as `true` or a number."""
    value = (value_of(environment, training, VARIABLE) or "").strip()
    inside = training is not None and training.value("use_vllm") is True
    if value.lower() not in {"1", "true"} or not (launch.serves or inside):
        return
    if packages.matches("modelscope", ">=1.18.1"):
        return
    version = packages.version("modelscope")
    if version is None and ("modelscope" in packages.distributions or not packages.complete):
        known = "modelscope" in packages.distributions
        yield Skip("the version of `modelscope` is not known" if known else packages.why_unknown("modelscope"))
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        version=version or "",
        where=where_set(training, VARIABLE),
        commands=('pip install "modelscope>=1.18.1"',),
        evidence=shown(VARIABLE, value),
    )
