"""Under ZeRO-3 the ranks ran different modules, or the same ones in another order.

## What it means
Every module's weights are gathered by a collective in which all ranks take part, in the order in which the forward pass
comes to them. In the first passes DeepSpeed compares that order between the ranks, and here it differs.
## What it does to a run
RuntimeError on the ranks that differ from rank 0; the others wait in a collective. Without the comparison all would
hang.
## What to do
Let every rank run the same modules in every pass, or keep the module that branches whole.
## How it is found
In a log: by DeepSpeed's exception.
## References
https://github.com/deepspeedai/DeepSpeed/issues/5799
https://github.com/deepspeedai/DeepSpeed/blob/v0.17.6/deepspeed/runtime/zero/utils.py
https://deepspeed.readthedocs.io/en/latest/training.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(
    id="DSP033", name="ranks-run-different-modules", severity=ERROR, since="0.1", affects={"deepspeed": ">=0.6"}
)

SIGNATURES = (
    Signature(
        r"RuntimeError: (?:Detected a )?disagreement (?:on list (?:contents|length) )?between rank0 and"
        r" rank(?P<other>\d{1,6})\b"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "under ZeRO-3 rank {other} ran other modules than rank 0",
        "The ranks gather the weights of each module together, so all must come to the same modules in the same order. "
        "Usual reasons: a batch with images on one rank and without on another, experts or layers that are chosen by "
        "the data, a rank that generates longer than the others, one that got no batch, or other code on a node.",
        "Let every rank run the same modules: a dummy image in batches without, `synced_gpus=True` in `generate`, "
        "batches of the same number on every rank. For a module that chooses its parts by the data (a mixture of "
        "experts) call `deepspeed.utils.set_z3_leaf_modules(model, [TheClass])` before training. Or use ZeRO-2.",
    ),
    zh=Words(
        "在 ZeRO-3 下 rank {other} 运行的模块与 rank 0 不同",
        "各 rank 共同收集每个模块的权重,因此必须以相同顺序经过相同的模块。常见原因:一个 rank 的批次有图像而另一个"
        "没有,由数据选择的专家或层,某个 rank 生成得比其他的长,某个 rank 没有批次,或某个节点上的代码不同。",
        "让每个 rank 运行相同的模块:无图像的批次放入占位图像,`generate` 使用 `synced_gpus=True`,各 rank 的批次数"
        "相同。对由数据选择部分的模块(混合专家),训练前调用 "
        "`deepspeed.utils.set_z3_leaf_modules(model, [TheClass])`。或改用 ZeRO-2。",
    ),
)

LOG_CONFIDENCE = LIKELY
