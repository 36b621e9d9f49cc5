"""Judges generate-argument-unused (TRF034), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: argument -> (why, what to do, the same in Chinese)
_KNOWN = {
    "token_type_ids": (
        "The tokenizer makes it and decoder-only models have no use for it.",
        (
            "Drop it before the call: `inputs.pop('token_type_ids', None)`, or tokenize with "
            "`return_token_type_ids=False`."
        ),
        "它由分词器生成,而仅解码器模型不使用它。",
        "调用前去掉它:`inputs.pop('token_type_ids', None)`,或分词时设 `return_token_type_ids=False`。",
    ),
    "skip_special_tokens": (
        (
            "It is an argument of `tokenizer.decode`; in a `generation_config` or among generation arguments it is not "
            "known to Transformers."
        ),
        (
            "Take `skip_special_tokens` out of the generation arguments and pass it to `decode`. With LLaMA-Factory "
            "upgrade it, or do not predict with a Transformers newer than its release asks for."
        ),
        "它是 `tokenizer.decode` 的参数;放在 `generation_config` 或生成参数里,Transformers 不认识。",
        (
            "从生成参数中去掉 `skip_special_tokens`,改传给 `decode`。使用 LLaMA-Factory 时请升级它,或不要使用比该版"
            "本要求更新的 Transformers 做预测。"
        ),
    ),
    "num_logits_to_keep": (
        "Transformers 4.52 and newer call it `logits_to_keep`; the caller (mostly Unsloth) is of an older time.",
        (
            "Upgrade the caller: `pip install -U --no-deps unsloth unsloth_zoo`, or rename the argument to "
            "`logits_to_keep`."
        ),
        "Transformers 4.52 起该参数名为 `logits_to_keep`;调用方(多为 Unsloth)版本较旧。",
        "升级调用方:`pip install -U --no-deps unsloth unsloth_zoo`,或把参数改名为 `logits_to_keep`。",
    ),
}
#: what Transformers' own `generate` makes and hands on: a model whose `forward` does not take it is of another time
_INTERNAL = frozenset(
    {"encoder_outputs", "past_key_values", "cache_position", "use_cache", "decoder_input_ids", "logits_to_keep",
     "attention_mask", "position_ids", "encoder_hidden_states"}
)  # fmt: skip
_OF_ANOTHER_RELEASE = (
    (
        "`generate` of Transformers makes it itself or takes it for granted, so the model's class (one of the project "
        "or of remote code) was written for another release, whose check was not as strict."
    ),
    (
        "Install the Transformers that the project was written for (its requirements, the date of its last commit; "
        "often an older one: `pip install 'transformers==VERSION'`), or update the project's model code. In own code "
        "let `forward` and `prepare_inputs_for_generation` take the argument."
    ),
    (
        "`generate` 自己会生成或默认该参数存在,因此模型类(项目自带或远程代码)是为另一版本的 Transformers 编写的,那时的"
        "检查没有这么严格。"
    ),
    (
        "安装项目所针对的 Transformers(见其依赖或最后一次提交的日期;常为较旧版本:`pip install "
        "'transformers==VERSION'`),或更新项目的模型代码。自己的代码中让 `forward` 与 `prepare_inputs_for_generation` "
        "接受该参数。"
    ),
)
_IMAGES = frozenset(
    {"pixel_values", "image_grid_thw", "images", "image_sizes", "pixel_values_videos", "video_grid_thw"}
)
_OF_IMAGES = (
    "Images were handed to a class that reads text only, or to one that calls them otherwise.",
    (
        "Load the multimodal class (`AutoModelForImageTextToText`, TRL's VLM support) with `AutoProcessor`, "
        "or drop the image columns for a text model."
    ),
    "图像被交给了只读文本的类,或该类用其他名字接收图像。",
    "加载多模态类(`AutoModelForImageTextToText`,TRL 的 VLM 支持)并用 `AutoProcessor` 处理;若是文本模型则去掉图像列。",
)
_OTHER = (
    (
        "It is neither an argument of the model's `forward` nor of `GenerationConfig`: a misspelt name, an option of "
        "another release or library, or a column that the collator passed on."
    ),
    (
        "Take it out of the arguments of `generate` (and out of `generation_kwargs` or `generation_config`), or "
        "correct its name."
    ),
    "它既不是模型 `forward` 的参数,也不属于 `GenerationConfig`:名字拼错、属于其他版本或库,或是 collator 传入的列。",
    "从 `generate` 的参数(以及 `generation_kwargs` 或 `generation_config`)中去掉它,或改正名字。",
)


def explain(hits: Hits) -> Finding:
    """Arguments with a known story get it; of several the first known one."""
    names = (hits.get("names") or "").replace("'", "").split(", ")
    of_images = any(name in _IMAGES for name in names)
    internal = any(name in _INTERNAL for name in names)
    fallback = _OF_IMAGES if of_images else _OF_ANOTHER_RELEASE if internal else _OTHER
    known = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    why, what, why_zh, what_zh = known or fallback
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if known or of_images else LIKELY,
        names=", ".join(f"`{name}`" for name in names), why=why, what=what, why_zh=why_zh, what_zh=what_zh,
    )  # fmt: skip
