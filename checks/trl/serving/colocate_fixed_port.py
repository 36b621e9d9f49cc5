"""Judges colocate-fixed-port (TRL015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, is_plain_python, vllm_mode
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


PORT = 12345


@check(PROBLEM)
def colocate_fixed_port(
    training: Training, launch: Launch, world: World, environment: Environment, packages: Packages, network: Network
) -> Judgement:
    """Judge only where the port is seen to be taken."""
    version = installed(packages, "trl")
    if not is_grpo(training) or not is_plain_python(launch, world, environment, training):
        return
    own_port = environment.get("MASTER_PORT") is not None or "MASTER_PORT" in training.environment_set
    if own_port or vllm_mode(training, version) != "colocate":
        return
    listener = network.listeners.get(PORT)
    if listener is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(training.get("vllm_mode"), training.get("use_vllm")),
            evidence=(
                Observed.quoted("listening sockets", f"{listener.address}:{PORT} {listener.process or ''}".rstrip()),
            ),
            commands=("export MASTER_PORT=12346",),
            version=version,
        )
