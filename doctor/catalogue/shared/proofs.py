"""What the checks of the launch command share: places, truth values, and the value that an argument really takes."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Skip
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value
from doctor.facts.visible import visible
from doctor.facts.world import World

COMMAND = "launch command"
GIB = 1024**3


def proof(setting: Observed) -> Observed:
    """The setting as it was written."""
    text = setting.text or f"{setting.name}={setting.value}"
    if setting.name.rpartition(".")[2] not in text:
        text = f"{setting.name}: {text}"
    return (
        Observed.quoted(setting.place.file, text, setting.place.line)
        if setting.place
        else Observed.quoted(COMMAND, text)
    )


def proofs(*settings: Observed | None) -> tuple[Observed, ...]:
    """Evidence of every setting that somebody wrote."""
    return tuple(proof(each) for each in settings if each)


def effective(training: Training, packages: Packages | None, name: str) -> Observed | None:
    """Value that a training argument takes: explicit, else the default of the installed release; None: not known."""
    if packages is not None:
        return effective_value(training, packages, name)
    explicit = training.get(name)
    return explicit if explicit is not None and explicit.known else None


def is_default(setting: Observed) -> bool:
    """Whether nobody wrote it: its text names the release whose default it is."""
    return setting.place is None and setting.text.startswith("default of ")


def written(setting: Observed) -> str:
    """`file:line` of a setting, or the command line, for a sentence."""
    if is_default(setting):
        return setting.text
    if setting.place is None:
        return "the command line"
    name = setting.place.file.rpartition("/")[2]
    return f"{name}:{setting.place.line}" if setting.place.line else name


def seen_by(world: World | None, gpus: Gpus | None, environment: Environment | None) -> tuple[int, ...] | None:
    """GPUs that the command sees: a training as its launcher resolves it, a server by the variable alone."""
    if world is not None:
        return world.visible_gpus
    if gpus is None or environment is None:
        return None
    return visible(gpus, environment.get("CUDA_VISIBLE_DEVICES"))[0]


def options_are_plain(launch: Launch) -> bool:
    """Whether the launcher's options stand on the command line alone: TRL's YAML may hold more of them."""
    return launch.kind == "accelerate" or (launch.kind == "trl" and "config" not in launch.arguments)


def unread_config(launch: Launch) -> Iterator[Skip]:
    """A skip where the command names an accelerate file that nobody could read; silence where it names none."""
    if launch.option("config_file") or launch.option("accelerate_config"):
        yield Skip("the accelerate configuration that the command names could not be read")
