"""Judges PYT5808/config_field, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OTHER_CLASS = TOML["other_class"]


_FIVE = frozenset({"rope_parameters"})
#: fields that each configuration had before 5.0, whether its class knew them or not
_BEFORE_FIVE = frozenset({
    "pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id", "is_decoder",
    "cross_attention_hidden_size", "add_cross_attention", "tie_encoder_decoder", "use_return_dict", "pruned_heads",
    "max_length", "torchscript", "output_attentions",
})  # fmt: skip


#: fields of the vision part of Qwen's models -> who alone reads them
#: https://github.com/huggingface/transformers/tree/v4.57.1/src/transformers/models
_READERS = {
    "embed_dim": ("Qwen2_VL", "Qwen2VLForConditionalGeneration"),
    "mlp_ratio": ("Qwen2_VL", "Qwen2VLForConditionalGeneration"),
    "fullatt_block_indexes": ("Qwen2_5_VL", "Qwen2_5_VLForConditionalGeneration"),
    "window_size": ("Qwen2_5_VL", "Qwen2_5_VLForConditionalGeneration"),
    "deepstack_visual_indexes": ("Qwen3_VL", "Qwen3VLForConditionalGeneration"),
    "num_position_embeddings": ("Qwen3_VL", "Qwen3VLForConditionalGeneration"),
}
_QWEN_VISION = later(r"^(?P<family>Qwen2_?VL|Qwen2_5_?VL|Qwen3_?VL(?:Moe)?)VisionConfig$")


def _other_class(hits: Hits) -> Finding | None:
    """A field that one generation of Qwen-VL alone has, asked of the configuration of another one."""
    name, config = hits.get("name") or "", hits.get("config") or ""
    family, reader = _READERS.get(name, ("", ""))
    vision = _QWEN_VISION.search(config)
    if not family or vision is None or vision["family"].replace("_", "").startswith(family.replace("_", "")):
        return None
    return found(
        PROBLEM, OTHER_CLASS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, reader=reader,
        config=config, name=name,
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Who reads the field is the innermost frame outside of the configuration class."""
    if other := _other_class(hits):
        return other
    frames = [frame for frame in hits.first.frames if "configuration_utils" not in frame]
    place = frames[-1].rpartition(":")[0] if frames else ""
    owner = re.search(r"(?:site|dist)-packages[\\/]([\w\-]{1,60})", place)
    name = hits.get("name") or ""
    what = "downgrade" if name in _FIVE else "old_model" if name in _BEFORE_FIVE else "upgrade"
    file = re.split(r"[\\/]", place)[-1]
    who = f"`{owner[1] if owner else file or 'transformers'}`"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        who=who, config=hits.get("config"), name=name, what=TOML.phrase(f"what.{what}"),
    )  # fmt: skip
