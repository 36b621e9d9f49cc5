"""A tensor made in inference mode got into training.

## What it means
Tensors made under `torch.inference_mode()` carry no version counter and cannot take part in autograd. vLLM
and other engines run so; a cache, a buffer or weights that were made there first and are used by the trainer
in the same process raise.
## What it does to a run
The forward or backward pass of training raises RuntimeError.
## What to do
Make the tensor outside of inference mode, or clone it.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
https://github.com/unslothai/unsloth/issues/2610
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR033", name="inference-tensor-trained", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Inference tensors cannot be saved for backward"),
    Signature(r"RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a tensor made in inference mode was used in training",
        "Something ran under `torch.inference_mode()` first (an engine such as vLLM in the same "
        "process, own evaluation code) and left weights, a buffer or a cache that autograd "
        "cannot use.",
        "Replace `torch.inference_mode()` by `torch.no_grad()` in own code, or `.clone()` the "
        "tensor outside of it. With Unsloth upgrade both packages together: `pip install -U "
        "unsloth unsloth_zoo`; with colocated vLLM build the trainer's model before the engine.",
    ),
    zh=Words(
        "在推理模式下创建的张量被用于训练",
        "某段代码先在 `torch.inference_mode()` 下运行(同一进程中的 vLLM 等引擎,或自己的评估代码),"
        "留下了自动求导无法使用的权重、缓冲区或缓存。",
        "在自己的代码中用 `torch.no_grad()` 代替 `torch.inference_mode()`,或在其外对张量 "
        "`.clone()`。使用 Unsloth 时一起升级两个包:`pip install -U unsloth unsloth_zoo`;同进程 "
        "vLLM 时先构建训练模型再启动引擎。",
    ),
)
