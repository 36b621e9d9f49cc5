"""Under DDP some trained parameters took no part in the loss.

## What it means
DistributedDataParallel waits for the gradient of every parameter that requires one. A module that the forward
pass leaves out (another branch, an unused head, a layer of a multimodal model when a batch has no picture)
never delivers its own.
## What it does to a run
The second step raises RuntimeError on the ranks where it happened; the others wait for them.
## What to do
Freeze or remove what is not used, or let DDP look for it.
## How it is found
In a log: by the reducer's exception.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.ddp_find_unused_parameters
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR027", name="ddp-unused-parameters", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Expected to have finished reduction in the prior iteration before starting a new one"),)


LOG_MESSAGE = Message(
    en=Words(
        "under DDP some parameters that are trained were not used for the loss",
        "DDP waits in each step for a gradient of every parameter with `requires_grad`; those "
        "that the forward pass left out never send one.",
        "Set `ddp_find_unused_parameters=True` (TrainingArguments), "
        "`find_unused_parameters=True` in own DDP code or "
        "`DistributedDataParallelKwargs(find_unused_parameters=True)` in Accelerate; better, "
        "freeze the unused modules. `TORCH_DISTRIBUTED_DEBUG=DETAIL` names the parameters.",
    ),
    zh=Words(
        "DDP 下有一些参与训练的参数没有用于计算损失",
        "DDP 每一步都等待所有 `requires_grad` 参数的梯度;前向过程没有用到的参数不会产生梯度。",
        "设置 `ddp_find_unused_parameters=True`(TrainingArguments),自己的 DDP 代码用 "
        "`find_unused_parameters=True`,Accelerate 用 `DistributedDataParallelKwargs(find_unused_p"
        "arameters=True)`;更好的做法是冻结未用的模块。`TORCH_DISTRIBUTED_DEBUG=DETAIL` "
        "会列出这些参数。",
    ),
)
