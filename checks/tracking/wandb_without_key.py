"""Judges wandb-without-key (TRK003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Phrase, Skip, found
from doctor.catalogue.problem import ERROR, WARNING, Severity
from doctor.catalogue.shared.named_models import means_yes
from doctor.catalogue.shared.trackers import chosen, monitor, place, quoted, takes_all, verl_loggers
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
CHOSEN = TOML["chosen"]
TAKEN = TOML["taken"]


QUIET = frozenset({"offline", "disabled", "dryrun"})
#: what keeps the process from asking: no terminal at its input or output
NO_TERMINAL = frozenset({"nohup", "srun", "setsid", "sbatch", "mpirun", "mpiexec"})
OWN_WAYS = ("WANDB_API_KEY", "WANDB_MODE", "WANDB_DISABLED", "WANDB_IDENTITY_TOKEN_FILE")

DIES, ASKS = TOML.phrase("dies"), TOML.phrase("asks")


def _manner(launch: Launch, hub: Hub) -> tuple[Phrase, Severity, Confidence]:
    """What `wandb.init` does without a key: Ray's workers and batch jobs have no terminal."""
    if launch.kind in {"verl", "trinity"} or not NO_TERMINAL.isdisjoint(launch.wrappers):
        return DIES, ERROR, CONFIRMED
    return (ASKS, WARNING, LIKELY) if hub.interactive else (DIES, ERROR, LIKELY)


def _has_key(hub: Hub, environment: Environment, training: Training | None) -> bool:
    own = training.environment_set if training is not None else {}
    mode = (hub.wandb_mode or environment.get("WANDB_MODE") or "").lower()
    disabled = means_yes(environment.get("WANDB_DISABLED"))
    token = environment.get("WANDB_IDENTITY_TOKEN_FILE")
    return bool(hub.wandb_logged_in or mode in QUIET or disabled or token or any(each in own for each in OWN_WAYS))


def _finding(launch: Launch, hub: Hub, message: Message, setting: Observed | None) -> Finding:
    ends, severity, confidence = _manner(launch, hub)
    return found(
        PROBLEM,
        message,
        ends=ends,
        severity=severity,
        confidence=confidence,
        where=place(setting),
        commands=("wandb login", "export WANDB_MODE=offline"),
        evidence=quoted(setting),
    )


@check(PROBLEM)
def of_the_trainer(
    launch: Launch,
    training: Training | None,
    hub: Hub,
    environment: Environment,
    packages: Packages,
    script: Script | None,
    world: World | None,
) -> Judgement:
    """Judge the machine of rank 0, where the run is reported."""
    if training is None or (world is not None and world.machine_rank):
        return
    explicit = "wandb" in chosen(training)
    by_default = takes_all(training, packages) and packages.has("wandb") is True
    if not (explicit or by_default) or _has_key(hub, environment, training):
        return
    if script is not None and any(each == "wandb" or each.startswith("wandb.") for each in script.imports):
        yield Skip("the script imports wandb and may log in by itself")
        return
    yield _finding(launch, hub, CHOSEN if explicit else TAKEN, training.get("report_to"))


@check(PROBLEM)
def of_ray_trainers(
    launch: Launch,
    hub: Hub,
    environment: Environment,
    packages: Packages,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge veRL's loggers (its default has Weights & Biases in it) and Trinity-RFT's monitor."""
    setting: Observed | None = None
    if verl_config is not None:
        loggers, setting = verl_loggers(verl_config, packages)
        wanted = "wandb" in loggers or "tracking" in loggers
    elif trinity_config is not None:
        setting = monitor(trinity_config)
        wanted = setting is not None and setting.value == "wandb"
    else:
        return
    if wanted and not _has_key(hub, environment, None):
        yield _finding(launch, hub, CHOSEN, setting)
