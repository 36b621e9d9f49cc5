"""The GPU is older than anything the installed vLLM is built for.

## What it means
vLLM's wheel holds code for compute capability 7.0 and newer, from 0.20.0 on (CUDA 13) for 7.5 and newer, so
a V100 is out there.
## What it does to a run
`CUDA error: no kernel image is available for execution on the device` when the engine starts.
## What to do
Install an older vLLM, or use a newer card.
## How it is found
The least compute capability of the release against what NVML reports for the GPUs on which the engine will
run.
## References
https://docs.vllm.ai/en/latest/getting_started/installation/gpu.html
https://github.com/vllm-project/vllm/blob/v0.20.0/docker/Dockerfile
"""

from __future__ import annotations

from doctor.checks.vllm._helpers import capability, engine_gpus, release_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="VLL012", name="gpu-too-old-for-vllm", severity=ERROR, since="0.1", affects={"vllm": ">=0.6"})

SIGNATURES = (
    Signature(r"ImportError: punica LoRA kernels (?P<what>require compute capability >= 8\.0|could not be imported)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "this vLLM's LoRA kernels (punica) do not run here: GPU too old, or not built",
        "Up to vLLM 0.5.3 adapters are computed by compiled kernels for compute capability 8.0 and newer (Ampere); T4 "
        "(7.5) and V100 (7.0) are older, and a build from source leaves them out unless it is told otherwise.",
        "Upgrade vLLM (0.5.4 and newer compute LoRA by Triton kernels, which run on these cards, too), or merge "
        "the adapter into the model (`merge_and_unload()`) and serve it without `--enable-lora`, or use a newer "
        "GPU. A build of the old release: `VLLM_INSTALL_PUNICA_KERNELS=1`.",
    ),
    zh=Words(
        "此 vLLM 的 LoRA 内核(punica)无法在此运行:GPU 对它们过旧,或未编译它们",
        "到 vLLM 0.5.3 为止,适配器由针对计算能力 8.0 及以上(Ampere)编译的内核计算;T4(7.5)与 V100(7.0)更旧,从源码编译时"
        "默认也不包含它们。",
        "升级 vLLM(0.5.4 起用 Triton 内核计算 LoRA,也能在这些卡上运行),或把适配器合并到模型(`merge_and_unload()`)后"
        "不用 `--enable-lora`,或使用更新的 GPU。旧版源码编译:`VLLM_INSTALL_PUNICA_KERNELS=1`。",
    ),
)

LOG_CONFIDENCE = LIKELY

MESSAGE = Message(
    en=Words(
        "{gpu} has compute capability {capability}, and vLLM {version} starts at {least}",
        "The wheel holds no code for this card: the engine ends with "
        "`no kernel image is available for execution on the device`.",
        "Install a vLLM that was built for this card, or use a newer one.",
    ),
    zh=Words(
        "{gpu} 的计算能力为 {capability},而 vLLM {version} 最低要求 {least}",
        "该 wheel 不含这张卡的代码:引擎会以 `no kernel image is available for execution on the device` 退出。",
        "安装为这张卡构建的 vLLM,或换用更新的显卡。",
    ),
)


@check(PROBLEM, requires=("TOR003",))
def gpu_too_old(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """A local version (`+cu126`) is another build, whose architectures nobody states."""
    release, version = release_of(packages), packages.version("vllm") or ""
    if release is None or release.min_compute_capability is None or "+" in version:
        return
    least = release.min_compute_capability
    for gpu in engine_gpus(serving, training, world, gpus, environment, packages):
        if gpu.compute_capability is not None and gpu.compute_capability < least:
            sure = release.min_compute_capability_confidence == "confirmed"
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                least=".".join(map(str, least)),
                version=version,
                where=Where(gpu=gpu.index),
                confidence=CONFIRMED if sure else LIKELY,
                commands=("pip install 'vllm<0.20'",) if gpu.compute_capability >= (7, 0) else (),
                evidence=(Evidence("NVML", f"{gpu.label}: compute capability {capability(gpu)}"),),
            )
            return
