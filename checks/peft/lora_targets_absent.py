"""Judges lora-targets-absent (PFT004), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import listing, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NONE = TOML["log_none"]
PATTERN = TOML["pattern"]
EMPTY = TOML["empty"]
MESSAGE = TOML["main"]


_LLAMA = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
_NEOX = frozenset({"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"})

#: embeddings and heads, which are named alike in several families
_ENDS = frozenset({"lm_head", "embed_tokens", "embed_out", "embed_in", "word_embeddings", "wte", "wpe"})

#: model type -> last parts of the names of its layers in Transformers (src/transformers/models/*/modeling_*.py)
LAYERS = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma2": _LLAMA,
    "phi3": frozenset({"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}),
    "gpt2": frozenset({"c_attn", "q_attn", "c_proj", "c_fc"}),
    "gpt_neox": _NEOX,
    "bloom": _NEOX,
    "falcon": _NEOX,
}


@check(PROBLEM)
def lora_targets_absent(training: Training, model: Model | None) -> Judgement:
    """Judge lists of plain names; a single string is a pattern."""
    setting = (training.lora or {}).get("target_modules")
    if setting is None or model is None or model.model_type not in LAYERS:
        return
    if not setting.known or truth(training.value("trust_remote_code")):
        yield Skip("`target_modules` or the model's own code could not be read without running it")
        return
    if not isinstance(setting.value, (list, tuple, set)) or not setting.value:
        return
    wanted = [str(each) for each in setting.value]
    layers = LAYERS[model.model_type]
    if any(name.rpartition(".")[2] in layers | _ENDS for name in wanted):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=(*quoted(setting), Observed.quoted(model.stated_in, f"model_type: {model.model_type}")),
        commands=(f"target_modules={sorted(layers)!r}", 'target_modules="all-linear"'),
        family=model.model_type,
        names=listing(wanted),
    )


def explain(hits: Hits) -> Finding | None:
    """Name what was asked for."""
    targets = hits.get("targets") or ""
    names = re.findall(r"[\w.\-]{2,80}", targets)
    several = LOG_MESSAGE if names else EMPTY if targets in ("[]", "set()") else LOG_MESSAGE_NONE
    return found(
        PROBLEM,
        PATTERN if targets[:1] in ("[", "{") and re.search(r"[*+^$|\\]", targets) else several,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=('target_modules="all-linear"',),
        targets=", ".join(f"`{name}`" for name in names[:3]) + (" ..." if len(names) > 3 else ""),
    )
