"""FlashAttention-2 on a GPU that it does not support.

## What it means
FlashAttention-2 is written for compute capability 8.0 and newer: A100, RTX 30 and 40, H100. V100, T4 and RTX 20 are
older.
## What it does to a run
The model loads, and the first forward pass ends with `FlashAttention only supports Ampere GPUs or newer`.
## What to do
Use `attn_implementation="sdpa"`.
## How it is found
`attn_implementation` as the run will have it, and the compute capability of the visible GPUs from NVML.
In a log: by the message that the program or the driver prints.
## References
https://github.com/Dao-AILab/flash-attention/issues/762
https://github.com/Dao-AILab/flash-attention#nvidia-cuda-support
"""

from __future__ import annotations

from doctor.checks.flash_attn._helpers import asked_attention, flash_version
from doctor.checks.torch._helpers import trains_on_cpu, used_gpus
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.gpus import Gpus
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="FLA002", name="flash-attn-gpu-too-old", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"FlashAttention only supports Ampere GPUs or newer"),)

LOG_MESSAGE = Message(
    en=Words(
        "FlashAttention-2 was started on a GPU older than Ampere",
        "It is written for compute capability 8.0 and newer; V100, T4 and RTX 20 are older.",
        'Take `attn_implementation="sdpa"` (or `eager`). For vLLM choose another backend, such as '
        "`--attention-backend TRITON_ATTN` (VLLM_ATTENTION_BACKEND=XFORMERS in older releases).",
    ),
    zh=Words(
        "在 Ampere 之前的 GPU 上启动了 FlashAttention-2",
        "它只支持计算能力 8.0 及以上;V100、T4 和 RTX 20 更旧。",
        '使用 `attn_implementation="sdpa"`(或 `eager`)。vLLM 请换用其他后端,如 `--attention-backend '
        "TRITON_ATTN`(旧版为 VLLM_ATTENTION_BACKEND=XFORMERS)。",
    ),
)

LOG_COMMANDS = ('attn_implementation="sdpa"',)

OLDEST = (8, 0)

MESSAGE = Message(
    en=Words(
        '`attn_implementation="{attention}"`, and {gpu} has compute capability {capability}',
        "The model loads, and the first forward pass ends with `FlashAttention only supports Ampere GPUs or newer`.",
        "Use `sdpa` on this card.",
    ),
    zh=Words(
        '设置了 `attn_implementation="{attention}"`,而 {gpu} 的计算能力为 {capability}',
        "模型可以加载,但第一次前向传播会以 `FlashAttention only supports Ampere GPUs or newer` 失败。",
        "在这块卡上请使用 `sdpa`。",
    ),
)


@check(PROBLEM)
def gpu_too_old(training: Training, gpus: Gpus, world: World | None) -> Judgement:
    """The first card that is too old stands for all."""
    setting = asked_attention(training)
    if setting is None or trains_on_cpu(training, world):
        return
    if flash_version(setting.value) != 2 and not setting.value.startswith("kernels-community/flash-attn"):
        return
    for gpu in used_gpus(gpus, world):
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < OLDEST:
            capability = ".".join(map(str, gpu.compute_capability))
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=(*quoted(setting), Evidence("NVML", f"compute capability of GPU {gpu.index}: {capability}")),
                commands=('attn_implementation="sdpa"',),
                attention=setting.value,
                gpu=gpu.label,
                capability=capability,
            )
            return
