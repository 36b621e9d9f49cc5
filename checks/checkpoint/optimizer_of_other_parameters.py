"""The saved optimizer state does not fit the parameters that are trained now.

## What it means
The state holds one entry for each trained parameter in its groups. Another LoRA configuration, frozen or
unfrozen layers, another optimizer or another grouping changes their number.
## What it does to a run
Resuming raises ValueError before the first step.
## What to do
Resume with the configuration of the run that saved it, or start from its weights without the optimizer.
## How it is found
In a log: by torch's exception.
## References
https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP008", name="optimizer-of-other-parameters", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: loaded state dict contains a parameter group that doesn't match the size of"
        r" optimizer's group",
    ),
    Signature(r"ValueError: loaded state dict has a different number of parameter groups"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the optimizer state of the checkpoint is for other parameters than are trained now",
        "Between saving and resuming the set of trained parameters changed: another LoRA rank or target, "
        "layers frozen or not, another optimizer, or weight-decay groups that split differently.",
        "Resume with the settings of the run that saved the checkpoint; or begin anew from its weights: "
        "pass the checkpoint folder as the model and leave `resume_from_checkpoint` out; the optimizer's "
        "files beside the weights are then not read.",
    ),
    zh=Words(
        "检查点的优化器状态对应的参数与现在训练的不同",
        "保存与恢复之间,被训练的参数集合变了:LoRA 的秩或目标不同、层被冻结或解冻、优化器不同,或权重衰减分组方式不同。",
        "用保存该检查点时的设置恢复;或从其权重重新开始:把检查点目录作为模型传入,去掉 "
        "`resume_from_checkpoint`;这样就不会读取权重旁的优化器文件。",
    ),
)
