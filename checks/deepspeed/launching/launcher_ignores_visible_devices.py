"""Judges deepspeed-ignores-visible-devices (DSP013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


OPTIONS = ("num_gpus", "include", "exclude")


def _would_differ(launch: Launch, variable: str) -> bool:
    """Whether other GPUs are taken than the variable names; `--num_gpus 2` beside "0,1" takes the same."""
    number = launch.option("num_gpus")
    named = [entry.strip() for entry in variable.split(",")]
    if number is not None and str(number.value).isdecimal():
        return named != [str(index) for index in range(int(number.value))]
    include = launch.option("include")
    return include is None or str(include.value).rpartition(":")[2] != ",".join(named)


@check(PROBLEM)
def launcher_ignores_visible_devices(launch: Launch, environment: Environment) -> Judgement:
    """A host file turns the whole matter off, since the variable is then kept."""
    variable = environment.get("CUDA_VISIBLE_DEVICES")
    option = next((each for each in (launch.option(name) for name in OPTIONS) if each is not None), None)
    if launch.kind != "deepspeed" or not variable or option is None or launch.option("hostfile"):
        return
    if _would_differ(launch, variable):
        yield found(
            PROBLEM,
            MESSAGE,
            option=option.name,
            variable=variable,
            commands=(f"deepspeed --include localhost:{variable}",),
            evidence=(proof(option), Observed.quoted("environment", f"CUDA_VISIBLE_DEVICES={variable}")),
        )
