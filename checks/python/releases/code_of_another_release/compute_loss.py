"""Judges PYT5808/compute_loss, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OF_TRL = TOML["of_trl"]
COPIED = TOML["copied"]
SAMPLER = TOML["sampler"]
SEED = TOML["seed"]


#: place of the signature that has no frame of Transformers' trainer, only the name of the class
_BY_NAME = 4

#: the trainer as TRL has it, whatever module it was imported from
OF_TRL_ITSELF = frozenset({"trl.GRPOTrainer", "trl.trainer.GRPOTrainer", "trl.trainer.grpo_trainer.GRPOTrainer", ""})

#: trainers of TRL that override these methods
#: https://github.com/huggingface/trl/tree/v0.12.0/trl/trainer
TRL_TRAINERS = frozenset({
    "BCOTrainer", "CPOTrainer", "DPOTrainer", "GKDTrainer", "GRPOTrainer", "KTOTrainer", "NashMDTrainer",
    "OnlineDPOTrainer", "ORPOTrainer", "PRMTrainer", "RewardTrainer", "SFTTrainer", "XPOTrainer",
})  # fmt: skip


@check(PROBLEM)
def sampler_of_another_release(training: Training, packages: Packages) -> Judgement:
    """TRL 0.15 and 0.16 override `_get_train_sampler` without the dataset; 0.17 makes the loader itself."""
    if training.trainer != "GRPOTrainer" or training.trainer_origin not in OF_TRL_ITSELF:
        return
    if packages.matches("trl", ">=0.15,<0.17") and packages.matches("transformers", ">=4.52"):
        yield found(
            PROBLEM,
            SAMPLER,
            where=place_of(otherwise=training.trainer_place),
            commands=('pip install -U "trl>=0.18"',),
            evidence=tuple(
                Observed.quoted("packages", f"{name} {packages.version(name)}") for name in ("trl", "transformers")
            ),
            owner="GRPOTrainer",
            method="_get_train_sampler",
        )


def explain(hits: Hits) -> Finding | None:
    """Name the class where the exception does; before Python 3.10 it names the method alone."""
    owner, method = hits.get("owner") or "the trainer's subclass", hits.get("method")
    message = OF_TRL if owner in TRL_TRAINERS else LOG_MESSAGE
    if hits.get("seed"):
        message = SEED
    elif "sampler" in (method or ""):
        message = SAMPLER
    elif hits.get("absent"):
        message = COPIED
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), owner=owner, method=method,
        absent=hits.get("absent") or "",
        confidence=LIKELY if hits.first.signature == _BY_NAME else CONFIRMED,
    )  # fmt: skip
