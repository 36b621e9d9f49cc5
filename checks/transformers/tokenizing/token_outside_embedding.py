"""Judges token-outside-embedding (TRF020), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
POSITIONS = TOML["positions"]

#: model types whose positions are rows of a table (src/transformers/models/*/modeling_*.py: `wpe`, `embed_positions`)
_LEARNED = frozenset({"gpt2", "gpt_neo", "opt", "gpt_bigcode", "bert", "roberta", "xlm-roberta", "electra", "biogpt"})
#: models by name -> positions, as their configurations say
#: (https://huggingface.co/openai-community/gpt2/blob/main/config.json `n_positions`,
#: https://huggingface.co/facebook/opt-125m/blob/main/config.json, https://huggingface.co/EleutherAI/gpt-neo-125m)
_BY_NAME = (
    (re.compile(r"(?:openai-community/)?(?:gpt2(?:-medium|-large|-xl)?)"), 1024),
    (re.compile(r"(?:distilbert/)?distilgpt2"), 1024),
    (re.compile(r"facebook/opt-[\d.]+[mb]"), 2048),
    (re.compile(r"EleutherAI/gpt-neo-[\d.]+[mMB]"), 2048),
)
_LENGTHS = ("max_length", "max_seq_length")
_CONFIGS = frozenset({"SFTConfig", "DPOConfig", "RewardConfig", "KTOConfig", "ORPOConfig", "CPOConfig"})


@check(PROBLEM)
def sequence_beyond_positions(training: Training, model: Model | None) -> Judgement:
    """Judge lengths that somebody wrote, for models that look positions up; rotary ones only get worse."""
    setting = next((each for name in _LENGTHS if (each := training.get(name)) is not None and each.known), None)
    length = whole(setting.value) if setting is not None else None
    positions, name = _positions(training, model)
    if setting is None or length is None or positions is None or length <= positions:
        return
    if training.config_class in _CONFIGS:
        yield found(
            PROBLEM, POSITIONS, confidence=LIKELY, severity=WARNING, where=place_of(setting), evidence=quoted(setting),
            name=setting.name, length=length, positions=positions, model=name,
            commands=(f"{setting.name}={positions}",),
        )  # fmt: skip


def _positions(training: Training, model: Model | None) -> tuple[int | None, str]:
    """How many positions a model learnt, by its configuration or its name; None for all others."""
    if model is not None and model.model_type in _LEARNED:
        return model.max_position_embeddings, model.name
    named = training.model.value if training.model is not None and training.model.known else None
    text = named if isinstance(named, str) else ""
    return next((count for pattern, count in _BY_NAME if pattern.fullmatch(text)), None), text


def explain(hits: Hits) -> Finding | None:
    """An embedding that the user's own code looks up is not one of a language model's tokens, as far as is known."""
    asking = next((each for each in reversed(hits.first.frames) if "torch/nn/" not in each), "")
    if asking in hits.first.own:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
