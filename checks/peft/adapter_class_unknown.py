"""PEFT cannot tell which class the adapter's base model has.

## What it means
`AutoPeftModel...from_pretrained` reads the class from the adapter's configuration or its task type; adapters
of multimodal or custom models store neither.
## What it does to a run
Loading raises ValueError.
## What to do
Load the base model first, then the adapter upon it.
## How it is found
In a log: by PEFT's exception.
## References
https://huggingface.co/docs/peft/package_reference/auto_class
https://github.com/huggingface/peft/issues/1744
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PFT010", name="adapter-model-class-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Cannot infer the auto class from the config, please make sure that you are "
        r"loading the correct model"
    ),
    Signature(
        r"ValueError: Expected target PEFT class: (?P<wanted>\w{1,60}), but you have asked for: (?P<asked>\w{1,60})"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "PEFT's auto class cannot tell which base model the adapter belongs to",
        "`adapter_config.json` names no class that `AutoPeftModel...` knows (multimodal and "
        "custom models), or its task type is another.",
        "Load the base model with its own class and put the adapter on it: `base = "
        "AutoModelForImageTextToText.from_pretrained(BASE)` (or the class of the training "
        "script), then `PeftModel.from_pretrained(base, ADAPTER)` and `.merge_and_unload()`.",
    ),
    zh=Words(
        "PEFT 的自动类无法判断适配器属于哪个基座模型",
        "`adapter_config.json` 没有 `AutoPeftModel...` 所知的类(多模态与自定义模型),或其任务类型不同。",
        "先用自己的类加载基座模型,再加载适配器:`base = AutoModelForImageTextToText.from_pretraine"
        "d(BASE)`(或训练脚本所用的类),然后 `PeftModel.from_pretrained(base, ADAPTER)` 与 "
        "`.merge_and_unload()`。",
    ),
)
