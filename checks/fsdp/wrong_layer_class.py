"""Judges fsdp-wrong-layer-class (FSD006), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
DECLARED = TOML["declared"]
MESSAGE = TOML["main"]


#: families whose `XForCausalLM` consists of `XDecoderLayer` and of no other family's layers
FAMILIES = frozenset({
    "Llama", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Mistral", "Mixtral", "Gemma", "Gemma2", "Gemma3", "Phi3",
    "DeepseekV2", "DeepseekV3", "Olmo2", "GptOss", "Glm4", "Granite", "Cohere",
})  # fmt: skip


#: how repositories of these families are named, where nobody states the classes of one: each holds its class in its
#: `config.json` (https://huggingface.co/mistralai/Mistral-7B-v0.3/blob/main/config.json, and so on)
_NAMED = (
    ("Mistral", re.compile(r"^mistralai/Mistral-7B")), ("Mixtral", re.compile(r"^mistralai/Mixtral-")),
    ("Llama", re.compile(r"^meta-llama/(?:Meta-)?Llama-(?:2-\d+b|3(?:\.[13])?-\d+B|3\.2-[13]B)")),
    ("Qwen2", re.compile(r"^Qwen/Qwen2(?:\.5)?-(?:Math-|Coder-)?\d+(?:\.\d+)?B(?!-A)")),
    ("Qwen3", re.compile(r"^Qwen/Qwen3-\d+(?:\.\d+)?B(?!-A)")), ("Qwen3Moe", re.compile(r"^Qwen/Qwen3-\d+B-A\d+B")),
    ("Gemma", re.compile(r"^google/gemma-[27]b")), ("Gemma2", re.compile(r"^google/gemma-2-")),
)  # fmt: skip


@check(PROBLEM)
def wrong_layer_class(launch: Launch, accelerate: AccelerateConfig | None, model: Model) -> Judgement:
    """Only where both names are of known families is the mismatch proven."""
    setting = fsdp_setting(launch, accelerate, "transformer_layer_cls_to_wrap")
    if not uses_fsdp(launch, accelerate) or setting is None or not setting.known or len(model.architectures) > 1:
        return
    family = _family(model)
    if family not in FAMILIES:
        return
    actual = f"{family}DecoderLayer"
    seen = f"architectures: {family}ForCausalLM" if model.architectures else f"model: {model.name}"
    for named in (part.strip() for part in str(setting.value).split(",")):
        other = named.removesuffix("DecoderLayer")
        if named not in {actual, other} and other in FAMILIES:
            yield found(
                PROBLEM,
                MESSAGE,
                named=named,
                model=f"{family}ForCausalLM",
                confidence=CONFIRMED if model.architectures else LIKELY,
                actual=actual,
                where=place_of(setting),
                commands=(f"fsdp_transformer_layer_cls_to_wrap: {actual}",),
                evidence=(proof(setting), Observed.quoted("config.json", seen)),
            )


def _family(model: Model) -> str:
    """The family of a model, by the class that its configuration names, or by its own name."""
    if model.architectures:
        return model.architectures[0].removesuffix("ForCausalLM") if "ForCausalLM" in model.architectures[0] else ""
    return next((family for family, name in _NAMED if name.search(model.name)), "")


def explain(hits: Hits) -> Finding | None:
    """Name the class where the release says it; a default configuration may be what asked for FSDP."""
    layer = hits.get("layer") or "a layer class"
    message = DECLARED if hits.first.signature == 2 else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, layer=layer)
