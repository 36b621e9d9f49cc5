"""Judges trainer-tokenizer-removed (TRF005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted, unsloth_replaces
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
PASSED_ON = TOML["passed_on"]


_LIBRARY = later(r"(?:site|dist)-packages[\\/](?P<name>\w{1,60})[\\/]")

#: packages whose trainers these are; a class of the user's may take what it likes
LIBRARIES = {"trl", "transformers", ""}

#: trainer -> the range in which it refuses `tokenizer`: signatures of the released trainers
REFUSED_FROM = {
    "GRPOTrainer": ("trl", ">=0.14"),
    "SFTTrainer": ("trl", ">=0.16"),
    "DPOTrainer": ("trl", ">=0.16"),
    "Trainer": ("transformers", ">=5.0"),
}


@check(PROBLEM)
def trainer_tokenizer(training: Training, packages: Packages, script: Script | None) -> Judgement:
    """Judge the keyword by the trainer's own history; Unsloth's trainers take both names."""
    setting, trainer = training.trainer_arguments.get("tokenizer"), training.trainer
    if setting is None or trainer is None or unsloth_replaces(script):
        return
    module, _, name = training.trainer_origin.rpartition(".")
    if module.partition(".")[0] not in LIBRARIES or (name and name != trainer):
        return
    package, specifier = REFUSED_FROM.get(trainer, ("", ""))
    if package and packages.matches(package, specifier):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=(f"processing_class={setting.text or 'tokenizer'}",),
            trainer=trainer,
        )


def explain(hits: Hits) -> Finding | None:
    """Before Python 3.10 the exception does not name the class; a library that passes it on is too old itself."""
    sure = CONFIRMED if hits.get("trainer") else LIKELY
    frames = hits.first.frames
    library = _LIBRARY.search(frames[-1]) if frames else None
    if library is not None and library["name"] not in ("transformers", "huggingface_hub"):
        name = library["name"]
        return found(
            PROBLEM, PASSED_ON, where=hits.where(), evidence=hits.evidence(), library=name,
            trainer=hits.get("trainer") or "Trainer", confidence=sure,
        )  # fmt: skip
    trainer = hits.get("trainer") or "the trainer"
    commands = ("processing_class=tokenizer",)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands, trainer=trainer,
        confidence=sure,
    )  # fmt: skip
