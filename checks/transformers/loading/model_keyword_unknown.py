"""Judges model-keyword-unknown (TRF063), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OF_UNSLOTH = TOML["of_unsloth"]
OF_TRL = TOML["of_trl"]


#: argument -> what to write instead
_NEW = {
    "use_flash_attention_2": '`attn_implementation="flash_attention_2"`',
    "use_flash_attn": '`attn_implementation="flash_attention_2"`',
    "dtype": "`torch_dtype=...` (`dtype` came with Transformers 4.56)",
    "load_in_8bit": "`quantization_config=BitsAndBytesConfig(load_in_8bit=True)`",
    "load_in_4bit": "`quantization_config=BitsAndBytesConfig(load_in_4bit=True)`",
    "use_auth_token": "`token=...`",
}
#: argument -> the release of Transformers that brought it
_CAME = {"attn_implementation": "4.36"}
#: arguments of Unsloth's own loader
_UNSLOTH = {
    "fast_inference",
    "load_in_fp8",
    "max_lora_rank",
    "gpu_memory_utilization",
    "float8_kv_cache",
    "random_state",
}


#: what TRL's trainers add by themselves when they load a model
#: https://github.com/huggingface/trl/blob/v0.16.1/trl/trainer/grpo_trainer.py
_OF_TRL = {"use_cache"}


def explain(hits: Hits) -> Finding:
    """An argument of Unsloth's, one whose new name is known, or any other."""
    name = hits.get("name") or ""
    through = any("unsloth" in frame for frame in hits.first.frames)
    new = _NEW.get(name)
    came = _CAME.get(name)
    kind = "newer" if came else "new" if new else "correct"
    if name in _OF_TRL and any(re.search(r"trl[\\/](?:trainer|models)[\\/]", each) for each in hits.first.frames):
        return found(
            PROBLEM, OF_TRL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name,
            model=hits.get("model") or "the model's class",
        )  # fmt: skip
    return found(
        PROBLEM, OF_UNSLOTH if through and (name in _UNSLOTH or not new) else LOG_MESSAGE, where=hits.where(),
        evidence=hits.evidence(), confidence=LIKELY, name=name, model=hits.get("model") or "the model's class",
        instead=TOML.phrase(f"instead.{kind}", name=name, new=new, came=came),
    )  # fmt: skip
