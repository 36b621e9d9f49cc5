"""Judges accelerate-value-of-wrong-type (ACC004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import options_are_plain, proof, unread_config
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
TEXT = TOML["text"]
NUMBER = TOML["number"]


TEXTS = {"mixed_precision": "lower", "gpu_ids": "split", "dynamo_backend": "upper"}
NUMBERS = ("main_process_port", "num_machines")


def _decides(launch: Launch, name: str) -> bool:
    """Whether the file's value counts: the command line goes before it."""
    return launch.option(name) is None


def _shown(setting: Observed) -> str:
    return setting.text.rpartition(":")[2].strip() or str(setting.value)


@check(PROBLEM)
def value_of_wrong_type(launch: Launch, accelerate: AccelerateConfig | None, world: World | None) -> Judgement:
    """One finding a key."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if not options_are_plain(launch):
        return
    for key, method in TEXTS.items():
        setting = accelerate.settings.get(key)
        if (
            setting is None
            or not setting.known
            or setting.value is None
            or isinstance(setting.value, str)
            or not _decides(launch, key)
        ):
            continue
        kind = type(setting.value).__name__
        quoted = f"'{'no' if setting.value is False else setting.value}'"
        yield found(
            PROBLEM,
            TEXT,
            key=key,
            text=_shown(setting),
            boolean=kind == "bool",
            kind=kind,
            method=method,
            where=place_of(setting),
            commands=(f"{key}: {quoted}",),
            evidence=(proof(setting),),
        )
    several = world is not None and (world.processes or 1) > 1
    for key in NUMBERS:
        setting = accelerate.settings.get(key)
        if setting is not None and isinstance(setting.value, str) and several and _decides(launch, key):
            text, commands = _shown(setting), (f"{key}: {setting.value}",)
            line = (place_of(setting), (proof(setting),))
            yield found(PROBLEM, NUMBER, key=key, text=text, where=line[0], commands=commands, evidence=line[1])
