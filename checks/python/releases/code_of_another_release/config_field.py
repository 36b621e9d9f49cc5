"""Judges PYT5808/config_field, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

import re

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


_UPGRADE = (
    (
        "Upgrade Transformers to the version that the model card or the library's metadata names: "
        "`pip install -U transformers`, then `pip check`. With Transformers 5 installed the field has moved instead: "
        "upgrade the library, or install `'transformers<5'`."
    ),
    (
        "把 Transformers 升级到模型说明或该库元数据要求的版本:`pip install -U transformers`,然后 `pip check`。"
        "若安装的是 Transformers 5,则是字段被移动:升级该库,或安装 `'transformers<5'`。"
    ),
)
_OLD_MODEL = (
    (
        "Before 5.0 every configuration had this field; now only classes that declare it have. The model's code was "
        'written for 4: `pip install "transformers<5"`, or load a revision of the model that was updated for 5; where '
        "it is your own, read it by `getattr(config, name, None)`."
    ),
    (
        "5.0 之前所有配置都有该字段,现在只有声明了它的类才有。模型代码是为 4.x 编写的:`pip install "
        '"transformers<5"`,或加载已适配 5 的模型修订版;若是自己的代码,用 `getattr(config, name, None)` 读取。'
    ),
)
_DOWNGRADE = (
    (
        "The reader was written for Transformers 5 or a development version of it. Install the released version "
        "4 that the model card names (`pip install 'transformers<5'`), or upgrade everything that reads the "
        "configuration to releases made for 5."
    ),
    (
        "读取方是为 Transformers 5 或其开发版编写的。安装模型说明所写的正式 4.x 版本(`pip install 'transformers<5'`),"
        "或把读取配置的各个库都升级到支持 5 的版本。"
    ),
)


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
_QWEN_VISION = re.compile(r"^(?P<family>Qwen2_?VL|Qwen2_5_?VL|Qwen3_?VL(?:Moe)?)VisionConfig$")


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
    what_en, what_zh = _DOWNGRADE if name in _FIVE else _OLD_MODEL if name in _BEFORE_FIVE else _UPGRADE
    file = re.split(r"[\\/]", place)[-1]
    who = f"`{owner[1] if owner else file or 'transformers'}`"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        who=who, config=hits.get("config"), name=name, what=what_en, what_zh=what_zh,
    )  # fmt: skip
