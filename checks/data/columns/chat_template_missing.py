"""Judges chat-template-missing (DAT009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.model import Model
from doctor.facts.rows import CONVERSATION
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PROCESSOR = TOML["processor"]
WITHOUT_TURN = TOML["without_turn"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def chat_template_missing(training: Training, dataset: Dataset, model: Model) -> Judgement:
    """Judge files; a script that makes its own tokenizer can set the template."""
    if not is_grpo(training) or dataset.prompt_kind != "conversation" or training.dataset_processed:
        return
    if model.has_chat_template is None:
        yield Skip("no tokenizer files of the model on this machine")
        return
    if not model.has_chat_template:
        own = "processing_class" in training.trainer_arguments
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/tokenizer_config.json"),
            evidence=(Observed.quoted(dataset.path, "prompt: a list of messages"),),
            severity=WARNING if own else ERROR,
            confidence=LIKELY if own else CONFIRMED,
            model=model.name,
        )


@check(PROBLEM)
def template_missing_for_made_rows(training: Training, dataset: Dataset | None, model: Model) -> Judgement:
    """Prompts that the script makes itself; a file that reaches the trainer as it is was judged already."""
    rows = training.rows
    if (
        not is_grpo(training)
        or rows is None
        or rows.prompt_kind != CONVERSATION
        or model.has_chat_template is not False
    ):
        return
    if dataset is not None and not training.dataset_processed:
        return
    own = "processing_class" in training.trainer_arguments
    yield found(
        PROBLEM, MESSAGE, where=Where(file=f"{model.folder}/tokenizer_config.json"), confidence=LIKELY,
        severity=WARNING if own else ERROR, model=model.name,
        evidence=(Observed.quoted(rows.place.file, "prompt: a list of messages", rows.place.line),),
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """No template at all, or one that cannot open a turn."""
    part = hits.get("part")
    message = WITHOUT_TURN if part else PROCESSOR if hits.first.groups.get("kind") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), part=part or "")
