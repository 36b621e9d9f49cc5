"""The rollout engine took new weights only in part.

## What it means
Between steps the trainer sends its weights to the engine, tensor by tensor. Where one does not fit (a name, a
shape, a layout that the engine changed after loading), or a second update begins before the first ended, the
engine is left with a mixture.
## What it does to a run
The run ends, or goes on with samples of broken weights, which is worse.
## What to do
Start the engine anew; make names and shapes of both sides fit.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/sgl-project/sglang/issues/26032
https://github.com/NovaSky-AI/SkyRL/issues/1605
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL068", name="weight-update-unfinished", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Failed to update parameter online: (?P<reason>[^\n]{1,200}?)\. The full weights",
    ),
    Signature(
        r"start_weight_update called while a weight update is (?P<active>already active)",
    ),
    Signature(
        r"The full weights of the ModelRunner are partially updated\. Please discard the whole weights",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a weight update of the rollout engine failed half way",
        "The engine now holds a mixture of old and new weights. Either a tensor did not fit (its name or "
        "shape differs, or the engine rearranged it after loading: FP8, MoE and other backends that "
        "transform weights), or a second update began while one was active because an earlier one failed "
        "or nobody finished it.",
        "Do not use samples after it: restart the rollout engine. Look for the first error before this "
        "one. Then use the releases that the framework pins, the same quantization and dtype on both "
        "sides, and another MoE or attention backend if the layout is at fault; for SkyRL and other "
        "frameworks with two paths of weight transfer upgrade, so that each update is finished "
        "(`finish_weight_update`) before the next.",
    ),
    zh=Words(
        "rollout 引擎的权重更新中途失败",
        "引擎现在混有新旧权重。要么某个张量不匹配(名称或形状不同,或引擎加载后改变了布局:FP8、MoE 及其他会"
        "变换权重的后端),要么前一次更新失败或无人结束,在其仍有效时又开始了第二次。",
        "不要使用其后的样本:重启 rollout 引擎。查看在此之前的第一个错误。然后使用框架锁定的版本,两侧保持"
        "相同的量化与 dtype;若是布局问题则换用其他 MoE 或注意力后端;SkyRL 等有两条权重传输路径的框架请升"
        "级,使每次更新先结束(`finish_weight_update`)再开始下一次。",
    ),
)

LOG_CONFIDENCE = LIKELY
