"""The trainer got something as `processing_class` or `peft_config` that is of another type.

## What it means
`processing_class` takes a tokenizer or a processor object; a name, a function, or the tokenizer of another library
does not fit. `peft_config` takes a `LoraConfig` or its like, no dict and no model.
## What it does to a run
TypeError or ValueError when the trainer is built.
## What to do
Pass the object: `AutoTokenizer.from_pretrained(...)`, `LoraConfig(...)`.
## How it is found
In a log: by TRL's exceptions.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/blob/v0.16.1/trl/trainer/sft_trainer.py
"""

from __future__ import annotations

from typing import Any

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL062", name="trainer-argument-of-wrong-type", severity=ERROR, since="0.1")

_TOKENIZER = Message(
    en=Words(
        "`processing_class` is neither a tokenizer nor a processor of Transformers",
        "The trainer tokenizes with it and saves it beside the model, so a name or a function does not do.",
        "Pass `processing_class=AutoTokenizer.from_pretrained(MODEL)` (`AutoProcessor` for models with images), or "
        "leave it out: the trainer then loads it by the model's name.",
    ),
    zh=Words(
        "`processing_class` 既不是 Transformers 的分词器,也不是处理器",
        "训练器用它分词并与模型一起保存,传入名称或函数都不行。",
        "传入 `processing_class=AutoTokenizer.from_pretrained(MODEL)`(带图像的模型用 `AutoProcessor`),或省略:"
        "训练器会按模型名称加载。",
    ),
)
_ADAPTER = Message(
    en=Words(
        "`peft_config` is of type `{type}` instead of a configuration of PEFT",
        "The trainer hands it to `get_peft_model`, which takes `LoraConfig` and its like.",
        "Pass `peft_config=LoraConfig(r=16, lora_alpha=32, target_modules='all-linear', task_type='CAUSAL_LM')`; a "
        "model that has its adapter already goes in as `model`, without `peft_config`.",
    ),
    zh=Words(
        "`peft_config` 的类型是 `{type}`,不是 PEFT 的配置",
        "训练器把它交给 `get_peft_model`,后者只接受 `LoraConfig` 一类的配置。",
        "传入 `peft_config=LoraConfig(r=16, lora_alpha=32, target_modules='all-linear', task_type='CAUSAL_LM')`;"
        "已带适配器的模型直接作为 `model` 传入,不要再给 `peft_config`。",
    ),
)

CASES = (
    (r"TypeError: The `processing_class` must be either a `PreTrainedTokenizerBase` or a `ProcessorMixin`", _TOKENIZER),
    (r"TypeError: `peft_config` must be a `peft\.PeftConfig` instance .{0,40}, got (?P<type>[\w.]{1,60}\w)", _ADAPTER),
    (r"ValueError: Expected PeftConfig object but got <class '(?P<type>[\w.]{1,100})'>", _ADAPTER),
    (
        (
            r"ValueError: If you want to use the PeftModel, you need to pass a PeftConfig object to the"
            r" SFTTrainer\. and"
            r" you passed a <class '(?P<type>[\w.]{1,100})'>"
        ),
        _ADAPTER,
    ),
    (r"ValueError: The input config must be a PeftConfig, got <class '(?P<type>[\w.]{1,100})'>", _ADAPTER),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding | None:
    """Name the argument and what it takes."""
    first = hits.first
    values: dict[str, Any] = dict(first.groups)
    return found(PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(), **values)
