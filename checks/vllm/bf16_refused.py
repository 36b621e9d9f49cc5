"""vLLM refuses bf16 on a GPU older than Ampere.

## What it means
vLLM runs bf16 only from compute capability 8.0 on: not on V100 (7.0), T4 or RTX 20 (7.5). Named outright,
`--dtype bfloat16` is refused by every release; a bf16 model under the default dtype is refused before 0.9.0
and falls back to fp16 since.
## What it does to a run
`ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0` when the workers
start.
## What to do
Say `--dtype half`.
## How it is found
The dtype of the command, or of the model's config.json, against the compute capability that NVML reports
for the GPUs that the server takes.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/platforms/cuda.py
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/worker/worker.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.vllm._helpers import capability, release_of, served_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL009", name="vllm-refuses-bf16", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Bfloat16 is only supported on GPUs with compute capability of at least 8\.0\. Your"
        r" (?P<gpu>[^\n]{1,80}?) GPU (?:has compute capability (?P<capability>\d{1,2}\.\d)|does not)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "bf16 was asked for on {gpu}, whose compute capability ({capability}) has none",
        "bf16 came with Ampere (8.0); T4, V100 and older cards compute in fp16. The dtype comes from the "
        "model's configuration where none was set, and vLLM before 0.9.0 does not fall back by itself.",
        "Start vLLM with `--dtype half` (in TRL's colocate mode train with `fp16=True`, `bf16=False`), "
        "or install vLLM 0.9.0 or newer, which falls back to fp16 when the dtype is `auto`.",
    ),
    zh=Words(
        "在 {gpu} 上要求了 bf16,而其计算能力({capability})没有 bf16",
        "bf16 自 Ampere(8.0)起才有;T4、V100 及更旧的显卡用 fp16 计算。未设置时 dtype 取自模型配置,而 "
        "0.9.0 之前的 vLLM 不会自动回退。",
        "用 `--dtype half` 启动 vLLM(TRL 的 colocate 模式下用 `fp16=True`、`bf16=False` 训练),或安装 "
        "vLLM 0.9.0 及以上版本:dtype 为 `auto` 时会回退到 fp16。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpu} has compute capability {capability}, and the server is to run in bf16",
        "vLLM ends with `Bfloat16 is only supported on GPUs with compute capability of at least 8.0` as "
        "soon as its workers start.",
        "Use fp16 on this card.",
    ),
    zh=Words(
        "{gpu} 的计算能力为 {capability},而服务器要以 bf16 运行",
        "vLLM 的 worker 一启动就会以 `Bfloat16 is only supported on GPUs with compute capability of at least 8.0` 退"
        "出。",
        "在这张卡上使用 fp16。",
    ),
)


@check(PROBLEM)
def bf16_refused(
    serving: Serving, packages: Packages, gpus: Gpus, environment: Environment, model: Model | None
) -> Judgement:
    """A dtype said outright counts for every release; the model's own only where `auto` does not fall back."""
    setting = serving.arguments.get("dtype")
    if serving.dtype in (None, "auto"):
        release = release_of(packages)
        if model is None or model.torch_dtype != "bfloat16" or (setting is not None and not setting.known):
            return
        if release is None or release.auto_dtype_falls_back is not False:
            return
        said: tuple[Evidence, ...] = (Evidence(f"{model.folder}/config.json", "torch_dtype: bfloat16"),)
    elif serving.dtype == "bfloat16":
        said = proofs(setting)
    else:
        return
    for gpu in served_gpus(serving, gpus, environment):
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < (8, 0):
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                where=place_of(setting) or Where(gpu=gpu.index),
                commands=("--dtype half",),
                evidence=(*said, Evidence("NVML", f"{gpu.label}: compute capability {capability(gpu)}")),
            )
            return


def explain(hits: Hits) -> Finding | None:
    """Name the card; a platform that has no capability tells none."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("--dtype half",),
        gpu=hits.get("gpu"),
        capability=hits.get("capability") or "below 8.0",
    )
