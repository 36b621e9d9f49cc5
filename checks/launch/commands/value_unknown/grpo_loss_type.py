"""Judges LCH0284/grpo_loss_type, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor import data
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PREFERENCE = TOML["preference"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def loss_type_unknown(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit and readable value."""
    version, setting = installed(packages, "trl"), training.get("loss_type")
    if not is_grpo(training) or setting is None:
        return
    release = data.trl_release(version)
    if release is None or not setting.known:
        yield Skip("`loss_type` or the losses of the installed TRL are not known")
        return
    if isinstance(setting.value, str) and release.loss_types and setting.value not in release.loss_types:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=tuple(f'loss_type="{each}"' for each in release.loss_types),
            value=setting.value,
            version=version,
        )


#: frameworks with a loss of their own that refuse in the same words
_TRAINER = later(r"(?i)trl[\\/]|grpo")
_LISTED = later(r"Should be one of \[([^\]]{5,400})")
_OTHERS = later(r"[\\/](?:slime|miles|verl|openrlhf|trinity|areal|nemo_rl)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """TRL's own refusal, also where a trainer made from it says so."""
    frames = hits.first.frames
    if frames and _OTHERS.search(frames[-1]):
        return None
    known = any(_TRAINER.search(each) for each in frames)
    listed = _LISTED.search(hits.first.text)
    if listed and "sigmoid" in listed[1]:
        names = ", ".join(f"`{name}`" for name in re.findall(r"\w{2,30}", listed[1])[:14])
        return found(
            PROBLEM, PREFERENCE, where=hits.where(), evidence=hits.evidence(), loss=hits.get("loss"), known=names,
            confidence=CONFIRMED if known else LIKELY,
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), loss=hits.get("loss"),
        confidence=CONFIRMED if known else LIKELY,
    )  # fmt: skip
