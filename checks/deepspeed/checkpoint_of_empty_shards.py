"""Weights of size 0 meet whole ones while a checkpoint is loaded.

## What it means
ZeRO-3 leaves each process tensors of size 0 in place of the weights. Saved with
`torch.save(model.state_dict())` or `save_pretrained` without gathering they stay empty in the file; loaded
with plain `load_state_dict` into a model under ZeRO-3 whole weights meet empty ones.
## What it does to a run
Loading raises RuntimeError with one line for each weight.
## What to do
Save with gathered weights, or convert the ZeRO checkpoint with `zero_to_fp32.py`.
## How it is found
In a log: by the sizes in the message.
## References
https://huggingface.co/docs/transformers/deepspeed#save-model-weights
https://github.com/huggingface/transformers/issues/20082
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP022", name="deepspeed-checkpoint-of-empty-shards", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"size mismatch for (?P<weight>[\w.]{1,200}): copying a param with shape"
        r" torch\.Size\(\[(?P<saved>0)\]\) from checkpoint",
    ),
    Signature(
        r"size mismatch for (?P<weight>[\w.]{1,200}): copying a param with shape torch\.Size\(\[[\d,"
        r" ]{1,60}\]\) from checkpoint, the shape in current model is torch\.Size\(\[(?P<here>0)\]\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the checkpoint holds empty weights (size 0): it was saved under ZeRO-3 without gathering",
        "Each process wrote its own empty placeholders, `{weight}` among them, instead of the whole weights.",
        "Convert the ZeRO files beside it, `python zero_to_fp32.py . merged` in the checkpoint folder (before "
        "DeepSpeed 0.15.3 give the name of a file in place of the folder), and load the result; for the next run set "
        "`stage3_gather_16bit_weights_on_model_save: true` in the DeepSpeed JSON.",
    ),
    zh=Words(
        "检查点中的权重为空(大小 0):在 ZeRO-3 下保存时没有聚合",
        "每个进程写下的是自己的空占位符(包括 `{weight}`),而不是完整权重。",
        "在检查点目录中转换其中的 ZeRO 文件:`python zero_to_fp32.py . merged`(DeepSpeed 0.15.3 之前以文件名代替目录),然"
        "后加载其结果;下次运行在 DeepSpeed JSON 中设置 `stage3_gather_16bit_weights_on_model_save: true`。",
    ),
)

LOG_MESSAGE_HERE = Message(
    en=Words(
        "whole weights were loaded into a model that ZeRO-3 has partitioned (size 0)",
        "Under ZeRO-3 the model's own tensors, `{weight}` among them, are empty outside of "
        "`GatheredParameters`, so plain `load_state_dict` cannot fill them. FSDP leaves empty ones, too, on the ranks "
        "that hold no part of a weight.",
        "Load through `from_pretrained` with the DeepSpeed configuration active, or gather around the "
        "call: `with deepspeed.zero.GatheredParameters(list(model.parameters()), modifier_rank=0): "
        "model.load_state_dict(...)`; or load before the engine is made, or use ZeRO-2. Under FSDP load inside of "
        "`FSDP.summon_full_params(model)`, or before it is wrapped.",
    ),
    zh=Words(
        "把完整权重加载到了已被 ZeRO-3 切分(大小 0)的模型中",
        "ZeRO-3 下模型自身的张量(包括 `{weight}`)在 `GatheredParameters` 之外是空的,普通的 "
        "`load_state_dict` 无法填充。FSDP 在不持有某个权重的 rank 上也留下空张量。",
        "在 DeepSpeed 配置生效时用 `from_pretrained` 加载,或在调用外聚合:`with "
        "deepspeed.zero.GatheredParameters(list(model.parameters()), modifier_rank=0): "
        "model.load_state_dict(...)`;或在创建引擎之前加载,或使用 ZeRO-2。FSDP 下请在 "
        "`FSDP.summon_full_params(model)` 内加载,或在包装之前加载。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say which side is empty."""
    message = LOG_MESSAGE if hits.get("saved") else LOG_MESSAGE_HERE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, weight=hits.get("weight")
    )  # fmt: skip
