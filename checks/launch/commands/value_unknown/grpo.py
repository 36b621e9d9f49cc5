"""Judges LCH0284/grpo, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import certainty, is_grpo, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OWN = TOML["own"]


#: argument -> words that TRL takes (grpo_trainer.py and vllm_generation.py of 1.16.0)
_KNOWN = {
    "vllm_mode": ("colocate", "server"),
    "scale_rewards": ("batch", "group", "none"),
    "importance_sampling_level": ("token", "sequence"),
    "vllm_importance_sampling_mode": ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
}


#: looked at only where vLLM generates
_OF_VLLM = {"vllm_mode", "vllm_importance_sampling_mode"}


@check(PROBLEM)
def value_refused(training: Training, choices: Choices) -> Judgement:
    """Judge explicit words; truth values are other spellings of some of them."""
    if not is_grpo(training):
        return
    for name in _KNOWN:
        setting, words = training.get(name), choices.of(f"trl.{name}")
        if setting is None or not setting.known or not isinstance(setting.value, str) or not words:
            continue
        if setting.value in words or "$" in setting.value or truth(setting.value) is not None:
            continue
        if name in _OF_VLLM and truth(training.value("use_vllm")) is not True:
            continue
        known = ", ".join(f'`"{word}"`' for word in words)
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=certainty(training),
            commands=tuple(f'{name}="{word}"' for word in words), name=name, value=setting.value, known=known,
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Name the argument and its words."""
    name = hits.get("mode") or hits.get("name")
    if name is None:
        name = "vllm_importance_sampling_mode" if hits.get("vllm_level") else "importance_sampling_level"
    known = ", ".join(f'`"{word}"`' for word in _KNOWN[name])
    where, evidence, value = hits.where(), hits.evidence(), hits.get("value")
    if value in _KNOWN[name]:
        return found(PROBLEM, OWN, where=where, evidence=evidence, confidence=LIKELY, name=name, value=value)
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, name=name, value=value, known=known)
