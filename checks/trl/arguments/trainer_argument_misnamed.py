"""Judges trainer-argument-misnamed (TRL070), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: keyword used: the trainer's own
_MEANT = {
    "reward_function": "reward_funcs", "reward_functions": "reward_funcs", "reward_func": "reward_funcs",
    "reward_fn": "reward_funcs", "reward_fns": "reward_funcs", "rewards": "reward_funcs", "reward": "reward_funcs",
    "dataset": "train_dataset", "training_dataset": "train_dataset", "train_data": "train_dataset",
    "training_args": "args", "training_arguments": "args", "config": "args", "arguments": "args",
    "lora_config": "peft_config", "lora": "peft_config", "peft": "peft_config",
    "reference_model": "ref_model", "model_ref": "ref_model", "collator": "data_collator", "collate_fn":
    "data_collator",
    "eval_data": "eval_dataset", "evaluation_dataset": "eval_dataset", "validation_dataset": "eval_dataset",
    "callback": "callbacks", "compute_metric": "compute_metrics", "optimizer": "optimizers",
    "formatting_function": "formatting_func", "formatting_prompts_func": "formatting_func",
}  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Name the trainer's own argument."""
    owner, name = hits.first.groups["owner"], hits.first.groups["name"]
    meant = _MEANT[name]
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, owner=owner, name=name,
        meant=meant, how=TOML.phrases("how").get(meant, ""),
    )  # fmt: skip
