"""Judges TRL2205/lora, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import came_later, near
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.adapters import Adapters
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_LATER = TOML["log_later"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
MESSAGE_NEAR = TOML["near"]
LATER = TOML["later"]
OF_ADAPTER = TOML["of_adapter"]

#: from here on a key that PEFT does not know is left out with a warning
#: (https://github.com/huggingface/peft/pull/2038, `check_kwargs` of src/peft/config.py)
_LENIENT = ">=0.14"


@check(PROBLEM)
def lora_argument_unknown(training: Training, packages: Packages) -> Judgement:
    """Compare the keywords written in a script; those of TRL's own parser are TRL's."""
    version = installed(packages, "peft")
    settings = [each for each in (training.lora or {}).values() if each.place and each.place.file.endswith(".py")]
    if not settings:
        return
    valid = data.lora_arguments(version)
    if valid is None:
        yield Skip(f"the arguments of PEFT {version} are not in the doctor's data")
        return
    for setting in settings:
        if setting.name in valid:
            continue
        history = data.lora_argument(setting.name)
        later = history is not None and came_later(history, version)
        alike = near(setting.name, valid)
        yield found(
            PROBLEM,
            LATER if later else MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=(f'pip install "peft>={history.first}"',) if history and later else (),
            name=setting.name,
            near=alike,
            first=history.first if history else None,
            version=version,
        )


@check(PROBLEM)
def adapter_of_a_newer_release(adapters: Adapters | None, packages: Packages, launch: Launch | None) -> Judgement:
    """PEFT makes `LoraConfig` of all that `adapter_config.json` says; servers read it by other code."""
    version = installed(packages, "peft")
    serves = launch is not None and (launch.serves or launch.module == "sglang.launch_server")
    if adapters is None or serves or packages.matches("peft", _LENIENT) is not False:
        return
    valid = data.lora_arguments(version)
    for adapter in adapters.listed if valid is not None else ():
        kind = adapter.settings.get("peft_type")
        for name, setting in adapter.settings.items() if kind is not None and kind.value == "LORA" else ():
            history = data.lora_argument(name.partition(".")[0])
            if history is None or not came_later(history, version):
                continue
            yield found(
                PROBLEM, OF_ADAPTER, where=place_of(setting), evidence=quoted(setting), name=history.name,
                commands=(f'pip install "peft>={history.first}"',), first=history.first, version=version,
                adapter=adapter.name,
            )  # fmt: skip
            break  # the class names one, too


def explain(hits: Hits) -> Finding | None:
    """Look the argument up in the history of LoraConfig."""
    name = hits.get("name") or ""
    history = data.lora_argument(name)
    return found(
        PROBLEM,
        LOG_MESSAGE_LATER if history else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"pip install -U 'peft>={history.first}'",) if history else (),
        name=name,
        first=history.first if history else None,
        newest=data.newest("peft"),
    )
