"""A collective is handed a tensor that does not lie in one piece.

## What it means
torch.distributed sends memory as it lies. A transposed, expanded or sliced weight, as some checkpoints and export
steps leave behind, is refused.
## What it does to a run
`ValueError: Tensors must be contiguous`, where DeepSpeed or DDP send the weights round at their start, or where
weights go to the rollout engine.
## What to do
Call `.contiguous()` on what is sent, once after the model was loaded.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/deepspeedai/DeepSpeed/issues/6571
https://github.com/radixark/miles/pull/1608
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC021", name="tensors-not-contiguous", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"(?:ValueError|RuntimeError): Tensors must be contiguous"),)

LOG_MESSAGE = Message(
    en=Words(
        "a collective was handed a tensor that is not contiguous",
        "torch.distributed sends memory as it lies and refuses a view with gaps or swapped axes. Weights come to be "
        "such by transposing, tying or slicing when a checkpoint is loaded or exported; the frame below "
        "`torch.distributed` in the traceback says who sent it.",
        "Right after the model is loaded: `for p in model.parameters(): p.data = p.data.contiguous()`. Where weights "
        "go to the rollout engine, send `tensor.contiguous()` and keep it until the broadcast is done.",
    ),
    zh=Words(
        "集合通信收到了不连续的张量",
        "torch.distributed 按内存原样发送,拒绝有间隔或转置的视图。加载或导出检查点时的转置、绑定或切片会产生这样的权重;"
        "回溯中 `torch.distributed` 之下的栈帧说明是谁发送的。",
        "模型加载后立即执行 `for p in model.parameters(): p.data = p.data.contiguous()`。向 rollout 引擎同步权重时发送 "
        "`tensor.contiguous()`,并在广播结束前保留它。",
    ),
)
