"""Judges colocate-without-rank (TRL014), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import COMMAND_LINE, installed, is_grpo, is_plain_python, quoted, vllm_mode
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands
MESSAGE = TOML["main"]


_READERS = r"trl/trainer/grpo_trainer\.py:|vllm/(?:v1/)?executor/"


@check(PROBLEM)
def colocate_without_rank(
    training: Training, launch: Launch, world: World, environment: Environment, packages: Packages
) -> Judgement:
    """Judge the command; the engine has compared the version."""
    version = installed(packages, "trl")
    if not is_grpo(training) or not is_plain_python(launch, world, environment, training):
        return
    mode = vllm_mode(training, version)
    if mode is None:
        yield Skip("whether and how GRPO uses vLLM could not be read without running the script")
    if mode != "colocate":
        return
    script = (launch.script or "train.py", *launch.script_args)
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(training.get("vllm_mode"), training.get("use_vllm")),
        evidence=(Observed.quoted(COMMAND_LINE, " ".join(launch.argv)), *quoted(training.get("vllm_mode"))),
        commands=(f"accelerate launch --num_processes 1 {shlex.join(script)}",),
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Only where vLLM or TRL read the variable; a reward function may read it as well."""
    frames = [each for each in hits.first.frames if not re.search(r"frozen os>:|[\\/]os\.py:", each)]
    if hits.first.text.lstrip().startswith("KeyError") and not re.search(_READERS, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        variable=hits.first.groups["variable"],
    )  # fmt: skip
