"""An operation met tensors of two devices.

## What it means
Weights and inputs of one operation lie on different GPUs, or one of them on the CPU. Usual causes:
`device_map` spread the model over the GPUs that the process sees while trainer, DeepSpeed or DataParallel put
the batch on one; CPU offload moved a part; a tensor was made in own code without `device=`.
## What it does to a run
The first forward pass (or the first that takes this path) raises RuntimeError.
## What to do
Keep model and batch on one GPU: one process a GPU without `device_map`, or one visible GPU.
## How it is found
In a log: by torch's exception; hooks of Accelerate and DataParallel in its traceback tell which cause it is.
## References
https://huggingface.co/docs/accelerate/concept_guides/big_model_inference
https://github.com/huggingface/peft/issues/776
https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR026", name="tensors-on-two-devices", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Expected all tensors to be on the same device, but (?:found at least two devices, "
        r"(?P<one>[a-z]{2,8}(?::\d{1,3})?) and (?P<two>[a-z]{2,8}(?::\d{1,3})?)|got \w{1,40} is "
        r"on (?P<first>[a-z]{2,8}(?::\d{1,3})?), different from other tensors on "
        r"(?P<second>[a-z]{2,8}(?::\d{1,3})?))"
    ),
    Signature(
        r"module must have its parameters and buffers on device (?P<one>[a-z]{2,8}:\d{1,3}) "
        r"\(device_ids\[0\]\) but found one of them on device: (?P<two>[a-z]{2,8}(?::\d{1,3})?)"
    ),
    Signature(r"Input type \((?:torch\.)?cuda\.\w{1,30}\) and weight type \(torch\.\w{1,30}\) should be the same"),
)


LOG_MESSAGE = Message(
    en=Words(
        "one operation met tensors on `{one}` and on `{two}`",
        "Model and data, or two parts of the model, lie on different devices. Mostly "
        '`device_map="auto"` spread the model over several GPUs (or to the CPU) while the '
        "trainer, DeepSpeed or own code works on one; or a tensor was made without `device=`.",
        'For training load without `device_map` (or with `device_map={{"": '
        "PartialState().process_index}}`) and start one process per GPU, or show a single GPU: "
        "`CUDA_VISIBLE_DEVICES=0`. In own code move the tensor: `x.to(model.device)`.",
    ),
    zh=Words(
        "一次运算遇到了位于 `{one}` 和 `{two}` 的张量",
        '模型与数据(或模型的两部分)位于不同设备。多半是 `device_map="auto"` 把模型分散到多张 '
        "GPU(或 CPU),而训练器、DeepSpeed 或自己的代码只在一张上工作;也可能是创建张量时没有写 "
        "`device=`。",
        '训练时不带 `device_map` 加载(或用 `device_map={{"": PartialState().process_index}}`),'
        "每张 GPU 一个进程;或只让一张 GPU 可见:`CUDA_VISIBLE_DEVICES=0`。自己的代码中移动张量:"
        "`x.to(model.device)`。",
    ),
)

PARALLEL = Message(
    en=Words(
        "`DataParallel` wants the model on `{one}` and found a part of it on `{two}`",
        "The Trainer wraps the model in DataParallel where one process sees several GPUs and the "
        "model was not marked as split; `device_map` had put a part of it on another GPU.",
        "Show a single GPU (`CUDA_VISIBLE_DEVICES=0 python ...`), or start one process per GPU "
        "with `torchrun`/`accelerate launch` and load without `device_map`.",
    ),
    zh=Words(
        "`DataParallel` 要求模型位于 `{one}`,但发现其中一部分在 `{two}`",
        "当一个进程能看到多张 GPU 且模型未标记为拆分时,Trainer 会用 DataParallel 包装模型;而 "
        "`device_map` 已把一部分放到另一张 GPU。",
        "只让一张 GPU 可见(`CUDA_VISIBLE_DEVICES=0 python ...`),或用 `torchrun`/`accelerate "
        "launch` 每张 GPU 一个进程,并且不带 `device_map` 加载。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """DataParallel words it in its own way; elsewhere the two devices are named."""
    parallel = bool(hits.of(1)) or any("data_parallel" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, PARALLEL if parallel else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, one=hits.get("one") or hits.get("first") or "cuda",
        two=hits.get("two") or hits.get("second") or "cpu",
    )  # fmt: skip
