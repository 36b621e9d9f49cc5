"""The GPU is too old for vLLM's fp8 quantization.

## What it means
vLLM runs fp8 weights from compute capability 8.0 on, and from 7.5 on since 0.14.0. (Below 8.9 the
arithmetic is done in 16 bit: it saves memory, not time.)
## What it does to a run
The engine ends with `The quantization method fp8 is not supported for the current GPU`.
## What to do
Use the model without fp8, another quantization, or a newer card.
## How it is found
`--quantization fp8`, or a model that is saved so, against the compute capability that NVML reports.
In a log: by vLLM's own message.
## References
https://docs.vllm.ai/en/latest/features/quantization/
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/layers/quantization/fp8.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.vllm._helpers import capability, engine_gpus, release_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="VLL011", name="fp8-unsupported", severity=ERROR, since="0.1", affects={"vllm": ">=0.6"})

SIGNATURES = (
    Signature(
        r"The quantization method (?P<method>[\w\-]{1,40}) is not supported for the current GPU\."
        r" Minimum capability: (?P<least>\d{2,3})\. Current capability: (?P<have>\d{2,3})",
    ),
    Signature(
        r"Quantization (?P<method>scheme) is not supported for the current GPU\. (?:Min|Required)"
        r" capability: (?P<least>\d{2,3})\. Current capability: (?P<have>\d{2,3})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the quantization {method} needs compute capability {least}; this GPU has {have}",
        "The kernels of this quantization exist only for newer cards (7.5 is Turing, 8.0 Ampere, 8.9 "
        "Ada, 9.0 Hopper), so vLLM refuses the checkpoint before loading it.",
        "Use a checkpoint in another format (unquantized fp16, AWQ or GPTQ, which need less), take "
        "`--quantization` out where it was set by hand, or use a newer GPU. For fp8 on Turing install "
        "vLLM 0.14.0 or newer.",
    ),
    zh=Words(
        "量化方式{method}需要计算能力 {least};此 GPU 只有 {have}",
        "该量化的内核只支持较新的显卡(7.5 为 Turing,8.0 为 Ampere,8.9 为 Ada,9.0 为 Hopper),因此 vLLM 在"
        "加载前就拒绝该检查点。",
        "改用其他格式的检查点(未量化的 fp16,或要求更低的 AWQ、GPTQ);若手动设置了 `--quantization` 则删除;"
        "或换用更新的 GPU。在 Turing 上使用 fp8 需 vLLM 0.14.0 及以上。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpu} has compute capability {capability}, and fp8 needs {least} in vLLM {version}",
        "The engine ends with `The quantization method fp8 is not supported for the current GPU` while the "
        "model is built.",
        "Use the unquantized model or another quantization on this card.",
    ),
    zh=Words(
        "{gpu} 的计算能力为 {capability},而 vLLM {version} 的 fp8 需要 {least}",
        "构建模型时,引擎会以 `The quantization method fp8 is not supported for the current GPU` 退出。",
        "在这张卡上使用未量化的模型或其他量化方式。",
    ),
)


@check(PROBLEM)
def fp8_unsupported(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
    model: Model | None,
) -> Judgement:
    """Judge the GPUs on which the engine will run."""
    setting = serving.arguments.get("quantization") if serving is not None else None
    saved = model is not None and model.quantization == "fp8"
    asked = saved or (serving is not None and serving.quantization == "fp8")
    release = release_of(packages)
    if not asked or release is None or release.fp8_min_compute_capability is None:
        return
    least = release.fp8_min_compute_capability
    for gpu in engine_gpus(serving, training, world, gpus, environment, packages):
        if gpu.compute_capability is not None and gpu.compute_capability < least:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                least=".".join(map(str, least)),
                version=packages.version("vllm"),
                where=place_of(setting) or Where(gpu=gpu.index),
                evidence=(*proofs(setting), Evidence("NVML", f"{gpu.label}: compute capability {capability(gpu)}")),
            )
            return


def explain(hits: Hits) -> Finding | None:
    """VLLM tells capabilities as 75 for 7.5."""
    least, have = hits.get("least") or "", hits.get("have") or ""
    method = hits.get("method") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        method="of the checkpoint" if method == "scheme" else f"`{method}`",
        least=f"{least[:-1]}.{least[-1:]}",
        have=f"{have[:-1]}.{have[-1:]}",
    )
