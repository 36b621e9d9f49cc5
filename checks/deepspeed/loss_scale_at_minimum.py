"""DeepSpeed ended the run because the loss scale reached its minimum.

## What it means
Every fp16 overflow halves the loss scale. At `min_loss_scale` (1 by default) DeepSpeed cannot halve again and raises.
The gradients overflowed even unscaled, so the scale is the symptom: the loss or the gradients are infinite or NaN, or
the model was trained in bf16 and its activations do not fit into fp16.
## What it does to a run
It ends at the step of the last overflow; all the steps skipped before it changed nothing.
## What to do
Use bf16 where the GPUs have it. Else look for what overflows: the learning rate, a reward or loss that is infinite or
NaN, a model that was pre-trained in bf16.
## How it is found
The exception of DeepSpeed's DynamicLossScaler in the log.
## References
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
https://www.deepspeed.ai/docs/config-json/#fp16-training-options
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP018", name="loss-scale-at-minimum", severity=ERROR, since="0.1")

LOG_MESSAGE = Message(
    en=Words(
        "the fp16 loss scale reached its minimum and DeepSpeed gave up",
        "Every overflow halves the scale; at the minimum (`min_loss_scale`, 1 by default) the gradients overflow even "
        "unscaled. The scale is only the messenger: loss or gradients are infinite or NaN, or a model made for bf16 "
        "does not fit into the range of fp16.",
        "Train in bf16 (`bf16: {{enabled: true}}` in the DeepSpeed JSON and `bf16=True`, fp16 off) where the GPUs have "
        "it. Otherwise lower the learning rate, check the reward and loss for NaN and infinity at the first skipped "
        "step, and do not raise `initial_scale_power`: it only delays the end.",
    ),
    zh=Words(
        "fp16 的 loss scale 降到最小值,DeepSpeed 终止了训练",
        "每次溢出都会把 scale 减半;到达最小值(`min_loss_scale`,默认 1)时,梯度不缩放也会溢出。scale 只是表象:"
        "损失或梯度为无穷大或 NaN,或为 bf16 训练的模型超出 fp16 的范围。",
        "GPU 支持时改用 bf16(DeepSpeed JSON 中 `bf16: {{enabled: true}}`,并设 `bf16=True`,关闭 fp16)。否则降低学习率,"
        "在第一个被跳过的步检查奖励与损失是否为 NaN 或无穷大;不要增大 `initial_scale_power`,那只会推迟结束。",
    ),
)

SIGNATURES = (Signature(r"[Ll]oss scale already at minimum - cannot decrease scale anymore", symptom_of=("NUM006",)),)
