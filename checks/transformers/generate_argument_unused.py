"""`generate` was handed an argument that neither the model nor generation knows.

## What it means
Transformers checks before it generates that every extra argument is one of the model's `forward` or of
`GenerationConfig`. Tokenizers add some (`token_type_ids`), callers pass on options of the decoding
(`skip_special_tokens`), images go to a text model, names are misspelt or belong to another release.
## What it does to a run
ValueError at the first generation.
## What to do
Take the argument out.
## How it is found
In a log: by the exception, which lists the names.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/generation/utils.py
https://github.com/huggingface/peft/issues/506
https://github.com/hiyouga/LlamaFactory/issues/6391
https://github.com/unslothai/unsloth/issues/3191
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF034", name="generate-argument-unused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The following `model_kwargs` are not used by the model: \[(?P<names>'\w{1,60}'(?:, '\w{1,60}'){0,20})\]"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`generate` was handed {names}, which this model does not take",
        "{why}",
        "{what}",
    ),
    zh=Words(
        "`generate` 收到了该模型不接受的 {names}",
        "{why_zh}",
        "{what_zh}",
    ),
)

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
    why, what, why_zh, what_zh = next(
        (_KNOWN[name] for name in names if name in _KNOWN), _OF_IMAGES if of_images else _OTHER
    )
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        names=", ".join(f"`{name}`" for name in names), why=why, what=what, why_zh=why_zh, what_zh=what_zh,
    )  # fmt: skip
