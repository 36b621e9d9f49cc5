"""Judges lora-targets-absent (PFT004), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import listing, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import LLAMAFACTORY, SWIFT, Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NONE = TOML["log_none"]
PATTERN = TOML["pattern"]
EMPTY = TOML["empty"]
MESSAGE = TOML["main"]
DEFAULT = TOML["default"]

#: keywords that no other adapter's configuration has together with LoRA's default targets
_LORA_ALONE = frozenset({"r", "lora_alpha", "lora_dropout", "use_rslora", "use_dora", "init_lora_weights"})


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
    family, stated = _family(training, model)
    if setting is None or family not in LAYERS:
        return
    if not setting.known or truth(training.value("trust_remote_code")):
        yield Skip("`target_modules` or the model's own code could not be read without running it")
        return
    if not isinstance(setting.value, (list, tuple, set)) or not setting.value:
        return
    wanted = [str(each) for each in setting.value]
    layers = LAYERS[family]
    if any(name.rpartition(".")[2] in layers | _ENDS for name in wanted):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=(*quoted(setting), stated),
        commands=(f"target_modules={sorted(layers)!r}", 'target_modules="all-linear"'),
        family=family,
        names=listing(wanted),
    )


@check(PROBLEM)
def lora_default_absent(
    training: Training, model: Model | None, packages: Packages, script: Script | None
) -> Judgement:
    """`LoraConfig` without targets, for a model type for which the installed PEFT has none of its own.

    Unsloth, ms-swift and LLaMA-Factory bring their own lists, and `target_parameters` stands for them.
    """
    lora, version = training.lora or {}, packages.version("peft")
    family, stated = _family(training, model)
    if not lora.keys() & _LORA_ALONE or lora.keys() & {"target_modules", "target_parameters"} or family is None:
        return
    imports = {each.partition(".")[0] for each in script.imports} if script is not None else set()
    if version is None or "unsloth" in imports or training.config_origin in (SWIFT, LLAMAFACTORY):
        return
    since = data.lora_default_since(family)
    if since is not None and packages.matches("peft", f">={since}"):
        return
    if since is None and not packages.matches("peft", f"<={data.lora_defaults_newest()}"):
        yield Skip("the default target modules of this PEFT are not known")
        return
    if script is not None and any(call.name == "LoraConfig" and call.has_star_kwargs for call in script.calls):
        yield Skip("`target_modules` or the model's own code could not be read without running it")
        return
    place = next(iter(lora.values()))
    layers = LAYERS.get(family)
    yield found(
        PROBLEM,
        DEFAULT,
        where=place_of(place),
        evidence=(*quoted(place), stated, Observed.quoted("packages", f"peft {version}")),
        commands=(*((f"target_modules={sorted(layers)!r}",) if layers else ()), 'target_modules="all-linear"'),
        family=family,
        version=version,
    )


def _family(training: Training, model: Model | None) -> tuple[str | None, Observed]:
    """The model type, and what states it: the model's configuration, else a name that belongs to one architecture."""
    if model is not None and model.model_type:
        return model.model_type, Observed.quoted(model.stated_in, f"model_type: {model.model_type}")
    setting = training.model
    name = setting.value if setting is not None and setting.known else None
    if setting is None or not isinstance(name, str):
        return None, Observed.quoted("model", "")
    return data.model_type_of(name), quoted(setting)[0]


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
