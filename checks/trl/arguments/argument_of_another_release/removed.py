"""Judges TRL2205/removed, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from doctor import data
from doctor.base.opened import NotSeen
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding
from doctor.catalogue.shared.argument_history import Named, left_before, left_in, own_settings, replacement_name
from doctor.catalogue.shared.refused_arguments import RefusedArgument
from doctor.catalogue.shared.trainers import installed, unsloth_replaces
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import Given, found_in_log, refused
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_RENAMED = TOML["log_renamed"]
LOG_MESSAGE_MOVED = TOML["log_moved"]
MESSAGE = TOML["main"]
MESSAGE_RENAMED = TOML["renamed"]


@check(PROBLEM)
def argument_removed(training: Training, packages: Packages, launch: Launch | None, script: Script | None) -> Judgement:
    """Look each name up in the history of the class, of the configuration and of the trainer."""
    version = installed(packages, "trl")
    for owner, named in _given(training, launch, script):
        history = data.trl_argument(owner, named.setting.name)
        if history is None or history.inherited or not left_before(history, version):
            continue
        new = replacement_name(history)
        yield Given(named, history, version, "TRL", owner).found(
            TOML, MESSAGE_RENAMED if new else MESSAGE, sure=named.confidence,
            commands=(f"{new}={named.setting.text}",) if new else (), gone=left_in(history), last=history.last, new=new,
        )  # fmt: skip


def _given(training: Training, launch: Launch | None, script: Script | None) -> Iterator[tuple[str, Named]]:
    """Every argument with the class that takes it; of pasted code one of the two may be elsewhere.

    Unsloth's trainers still take what TRL's have dropped, and a class of the user's may take anything.
    """
    with suppress(NotSeen):
        if training.trainer is not None and not unsloth_replaces(script):
            sure = CONFIRMED if training.trainer_origin.startswith("trl.") else LIKELY
            for setting in training.trainer_arguments.values():
                yield training.trainer, Named(setting, sure, True)
    if training.config_class is not None:
        yield from ((training.config_class, each) for each in own_settings(training, launch))


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for refusal, history in refused(hits, "removed", "trl"):
        home, new = _moved_to(refusal), refusal.new
        return found_in_log(
            TOML, LOG_MESSAGE_MOVED if home else LOG_MESSAGE_RENAMED if new else LOG_MESSAGE, hits, refusal,
            commands=(home,) if home else (f"{new}=...",) if new else (), gone=refusal.gone, last=history.last,
            new=new, home=home,
        )  # fmt: skip
    return None


def _moved_to(refusal: RefusedArgument) -> str | None:
    """Say where a trainer's argument lives now: ``SFTConfig(max_length=...)``."""
    if refusal.owner not in data.trl_trainers():
        return None
    config = refusal.owner.removesuffix("Trainer") + "Config"
    history = data.trl_argument(config, refusal.name)
    if history is None:
        return None
    name = refusal.name if history.last is None else replacement_name(history)
    return f"{config}({name}=...)" if name else None
