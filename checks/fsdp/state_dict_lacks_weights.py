"""FSDP misses a weight in the state dict that the model itself has made.

## What it means
When FSDP 1 hands out a full state dict it gathers its units one after another and expects every weight of a unit
under its own name. A `state_dict()` that was overridden to return a part only (the adapter, the head), a hook that
renames or drops keys, or a weight that is used by two modules and was saved under one name, breaks that.
## What it does to a run
AssertionError when weights are saved or handed to the rollout engine.
## What to do
Let `state_dict()` return everything and filter afterwards.
## How it is found
In a log: by FSDP's assertion.
## References
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/distributed/fsdp/_state_dict_utils.py
https://github.com/Lightning-AI/pytorch-lightning/issues/21124
https://github.com/RLinf/RLinf/issues/119
https://github.com/mosaicml/composer/pull/3897
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="FSD011", name="state-dict-lacks-weights", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: FSDP assumes (?P<weight>[\w.{}\-]{1,400}) is in the state_dict but the state_dict only has "
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "FSDP expects `{weight}` in the state dict, and the model's `state_dict()` left it out",
        "FSDP walks over every weight of a unit after `state_dict()` has run. An overridden `state_dict()` that "
        "returns the adapter or the head alone (PEFT's `get_peft_model_state_dict`, a trainable-only save), a hook "
        "that renames keys, or one weight shared by two modules leaves some out.",
        "Take the override away and filter the full dict afterwards: "
        "`sd = model.state_dict(); sd = {{k: v for k, v in sd.items() if 'lora_' in k}}`. Wrap so that shared weights "
        "lie in one unit, or use FSDP 2 (`fsdp_version: 2`, verl: `strategy=fsdp2`), which has no such step.",
    ),
    zh=Words(
        "FSDP 期望状态字典中有 `{weight}`,但模型的 `state_dict()` 没有包含它",
        "`state_dict()` 运行后,FSDP 会遍历单元内的每个权重。被重写为只返回适配器或输出头的 `state_dict()`"
        "(PEFT 的 `get_peft_model_state_dict`、只保存可训练参数)、改名的钩子,或两个模块共享的权重,都会造成缺失。",
        "去掉重写,先取完整字典再过滤:`sd = model.state_dict(); sd = {{k: v for k, v in sd.items() if 'lora_' in k}}`。"
        "包装时让共享权重处于同一单元,或使用没有这一步的 FSDP 2(`fsdp_version: 2`,verl:`strategy=fsdp2`)。",
    ),
)
