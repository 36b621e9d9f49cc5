"""Judges pad-token-missing (DAT010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.shared.trainers import installed, is_grpo
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def pad_token_missing(training: Training, model: Model, packages: Packages) -> Judgement:
    """Judge the tokenizer's files where TRL itself sets no token."""
    if not is_grpo(training) or not packages.matches("trl", ">=0.14,<0.17"):
        return
    if not model.has_tokenizer:
        if not model.here:
            yield Skip(f"model `{model.name}` is not on this machine")
        return
    if model.has_pad_token is False:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/tokenizer_config.json"),
            commands=("tokenizer.pad_token = tokenizer.eos_token", 'pip install "trl>=0.17"'),
            confidence=LIKELY,
            model=model.name,
            version=installed(packages, "trl"),
        )


def explain(hits: Hits) -> Finding | None:
    """Say how to set one; nothing else raises these words."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("tokenizer.pad_token = tokenizer.eos_token",),
        severity=ERROR,
    )
