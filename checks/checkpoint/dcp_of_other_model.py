"""A distributed checkpoint does not hold what the model asks for.

## What it means
torch's distributed checkpoint looks every parameter and state of the running model up by name and shape. The checkpoint
was saved from a model that is built or wrapped in another way, or holds a part only.
## What it does to a run
Resuming ends with an error on one or all ranks.
## What to do
Resume with the model, the adapters and the optimizer that were saved.
## How it is found
In a log, by the error of the load planner.
## References
https://pytorch.org/docs/stable/distributed.checkpoint.html
https://github.com/huggingface/accelerate/issues/3971
https://github.com/pytorch/pytorch/blob/main/torch/distributed/checkpoint/default_planner.py
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP021", name="dcp-of-other-model", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Missing key in checkpoint state_dict: (?P<key>[\w./\-]{1,240}?)\.?$",
    ),
    Signature(
        r"ValueError: Size mismatch between saved (?P<saved>[^\n]{1,80}?) and current: (?P<here>[^\n"
        r"]{1,80}?) for (?P<sized>[\w.\-]{1,240})",
    ),
)

MISSING = Message(
    en=Words(
        "the distributed checkpoint has nothing under the name `{key}`",
        "The running model asks for it: LoRA was added or removed since, parameters were frozen or freed (the"
        " optimizer then keeps state for others), a wrapper changed the names (`_orig_mod.` of torch.compile,"
        " `module.`), or only weights were saved and optimizer states are asked for.",
        "Compare the names with those that "
        "`torch.distributed.checkpoint.FileSystemReader(DIR).read_metadata().state_dict_metadata` lists. "
        "Resume with the same adapters, frozen parts and wrappers; to begin anew from the weights alone load "
        "them as a model and do not resume the optimizer.",
    ),
    zh=Words(
        "分布式检查点中没有名为 `{key}` 的条目",
        "正在运行的模型需要它:此后添加或去掉了 LoRA,冻结或解冻了参数(优化器因此保存了其他参数的状态),"
        "包装改变了名称(torch.compile 的 `_orig_mod.`、`module.`),或只保存了权重却要求优化器状态。",
        "与 `torch.distributed.checkpoint.FileSystemReader(DIR).read_metadata().state_dict_metadata` "
        "列出的名称比较。用相同的适配器、冻结部分与包装恢复;若只想从权重重新开始,请作为模型加载,不恢"
        "复优化器。",
    ),
)

SIZES = Message(
    en=Words(
        "`{sized}` has another shape in the distributed checkpoint than in the model",
        "The model that runs is of another size or vocabulary than the one that was saved: another base "
        "model, tokens that were added, another rank of LoRA.",
        "Resume with the model, tokenizer and LoRA settings of the run that saved it, or start from the "
        "weights of the base model without resuming.",
    ),
    zh=Words(
        "`{sized}` 在分布式检查点中的形状与模型不同",
        "正在运行的模型与保存时的大小或词表不同:基座模型不同、添加了 token,或 LoRA 的秩不同。",
        "使用保存时的模型、分词器与 LoRA 设置恢复,或不恢复而从基座模型的权重开始。",
    ),
)


STATE = Message(
    en=Words(
        "the Megatron checkpoint has no shard `{key}`",
        "It is no weight: Transformer Engine keeps `_extra_state` (FP8 scales, often empty) for each of its layers, "
        "Megatron keeps states of its own (`rerun_state_machine_state`) beside the model. A checkpoint written by "
        "another release, with another layer implementation or by a converter lacks them.",
        "Load with `--dist-ckpt-strictness log_all` (`ignore_all` where that is not enough), which leaves out what is "
        "missing; or use the releases of Megatron and Transformer Engine that wrote it, with the same layer "
        "implementation (`--transformer-impl`). For `rerun_state_machine_state` load the checkpoint before it, and "
        "save without `--ckpt-assume-constant-structure`.",
    ),
    zh=Words(
        "Megatron 检查点中没有分片 `{key}`",
        "它不是权重:Transformer Engine 为其每层保存 `_extra_state`(FP8 缩放,常为空),Megatron 在模型之外保存自己的状态"
        "(`rerun_state_machine_state`)。由其他版本、其他层实现或转换工具写出的检查点没有它们。",
        "用 `--dist-ckpt-strictness log_all` 加载(不够时用 `ignore_all`),会跳过缺少的部分;或使用写出它的 Megatron 与 "
        "Transformer Engine 版本,且层实现相同(`--transformer-impl`)。若为 `rerun_state_machine_state`,加载更早的检查点,"
        "并在保存时不用 `--ckpt-assume-constant-structure`。",
    ),
)


STEP = Message(
    en=Words(
        "Accelerate did not find `{key}` in its own sharded checkpoint",
        "Before 1.15 it loads an optimizer of FSDP2 with `SHARDED_STATE_DICT` without the planner that knows nested "
        "names. The checkpoint itself is whole.",
        "`pip install -U 'accelerate>=1.15'` and resume again. If that release is installed already, the optimizer's "
        "parameters differ from those that were saved: resume with the same adapters, frozen parts and optimizer.",
    ),
    zh=Words(
        "Accelerate 在自己的分片检查点中找不到 `{key}`",
        "1.15 之前,使用 FSDP2 与 `SHARDED_STATE_DICT` 时,它加载时没有用认识嵌套名称的 planner。检查点本身完整。",
        "`pip install -U 'accelerate>=1.15'` 后再次恢复。若已安装该版本,则优化器的参数与保存时不同:请用相同的适配器、"
        "冻结部分与优化器恢复。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A name that is missing, or one of another shape."""
    sized = hits.get("sized")
    state = re.search(r"_extra_state\b|^rerun_state_machine", hits.get("key") or "")
    step = re.search(r"^optimizer\.state\.", hits.get("key") or "") and any(
        re.search(r"[\\/]accelerate[\\/]utils[\\/]fsdp_utils\.py:load_fsdp_optimizer", each)
        for each in hits.first.frames
    )
    return found(
        PROBLEM,
        SIZES if sized else STATE if state else STEP if step else MISSING,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        sized=sized or "",
        key=hits.get("key") or "",
    )
