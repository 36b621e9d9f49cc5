"""Judges PYT3270/verl_engine, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: name of the engine -> distribution, import name
ENGINES = {"vllm": ("vllm", "vllm"), "sglang": ("sglang", "sglang")}


@check(PROBLEM)
def rollout_engine_missing(
    verl_config: VerlConfig, packages: Packages, launch: Launch, environment: Environment | None
) -> Judgement:
    """A cluster that runs already, or an environment made for the workers, may hold what this interpreter lacks."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    name = verl.value(ROLLOUT + "name")
    if name is UNKNOWN or name not in ENGINES:
        return
    package, module = ENGINES[name]
    if there := packages.has(package, module):
        return
    if there is None:
        yield Skip(packages.why_unknown(package))
        return
    elsewhere = (
        environment is None
        or environment.get("RAY_ADDRESS")
        or any("runtime_env" in key for key in verl_config.overrides)
    )
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY if elsewhere else CONFIRMED,
        where=place_of(*place_settings(verl, ROLLOUT + "name")),
        commands=(f"pip install 'verl[{name}]=={verl.version}'",),
        evidence=(
            *verl.quoted(ROLLOUT + "name"),
            Observed.quoted("installed packages", f"verl {verl.version}, no {package}"),
        ),
        name=name,
        package=package,
    )
