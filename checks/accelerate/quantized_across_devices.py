"""A model spread over devices at load time meets distributed training.

## What it means
`device_map="auto"` spreads one copy of the model over all GPUs that a process sees; distributed training
wants one whole copy per process on its own GPU.
## What it does to a run
`prepare` raises ValueError on every rank, after the model was loaded.
## What to do
Load each process's copy on its own GPU, or start a single process.
## How it is found
In a log: by accelerate's exception.
## References
https://huggingface.co/docs/accelerate/concept_guides/big_model_inference
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC013", name="model-loaded-across-devices", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: You can't train a model that has been loaded (?:in 8-bit(?: or 4-bit)? precision"
        r" (?:on multiple devices|on a different device|with CPU or disk offload)|with"
        r" `device_map='auto'` in any distributed mode)",
    ),
    Signature(
        r"ValueError: DistributedDataParallel device_ids and output_device arguments only work with [^\n]{1,120}, "
        r"but got device_ids [^\n]{1,80}, and module parameters \{(?P<devices>[^\n}]{1,300})\}"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model was loaded on other devices than the one that each process trains on",
        '`device_map="auto"` (or a fixed device) put the weights on several GPUs, on another GPU or '
        "partly on the CPU; in distributed training every process needs a whole copy on its own GPU.",
        'Load with `device_map={{"": PartialState().process_index}}` (`from accelerate import '
        "PartialState`) or without `device_map`, or start a single process: `accelerate launch "
        "--num_processes 1`. If the model does not fit on one GPU, use DeepSpeed ZeRO-3 or FSDP instead "
        "of `device_map`.",
    ),
    zh=Words(
        "模型加载到的设备与各进程训练所用的设备不同",
        '`device_map="auto"`(或固定设备)把权重放到了多张 GPU、另一张 GPU 或部分放在 CPU 上;分布式训练中每'
        "个进程都需要在自己的 GPU 上有完整副本。",
        '用 `device_map={{"": PartialState().process_index}}`(`from accelerate import PartialState`)或不'
        "带 `device_map` 加载,或只启动一个进程:`accelerate launch --num_processes 1`。如果一张 GPU 放不下"
        "模型,用 DeepSpeed ZeRO-3 或 FSDP 代替 `device_map`。",
    ),
)

LOG_MESSAGE_CPU = Message(
    en=Words(
        "the model lies on the CPU, at least in part, when DDP is to wrap it for a GPU",
        "DDP with `device_ids` needs all parameters on the one GPU of its process; the model was not moved there, or "
        "`device_map` left a part of it on the CPU.",
        "Load without `device_map` and move it before it is wrapped: `model.to(int(os.environ['LOCAL_RANK']))` "
        "(Accelerate and Trainer do so by themselves). If it does not fit on one GPU, use DeepSpeed ZeRO-3 or FSDP.",
    ),
    zh=Words(
        "DDP 要为 GPU 包装模型,而模型(至少一部分)在 CPU 上",
        "带 `device_ids` 的 DDP 要求所有参数位于该进程的那一张 GPU;模型没有移过去,或 `device_map` 把一部分留在了 CPU。",
        "加载时不用 `device_map`,并在包装之前移动:`model.to(int(os.environ['LOCAL_RANK']))`(Accelerate 和 Trainer 会"
        "自行处理)。若一张 GPU 放不下,使用 DeepSpeed ZeRO-3 或 FSDP。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Several GPUs, or the CPU; weights on `meta` were never loaded, which is another matter."""
    if "meta" in (hits.first.groups.get("devices") or ""):
        return None
    message = LOG_MESSAGE_CPU if "cpu" in (hits.first.groups.get("devices") or "") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
