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
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_LATER = TOML["log_later"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
MESSAGE_NEAR = TOML["near"]
LATER = TOML["later"]


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
