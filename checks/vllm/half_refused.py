"""vLLM refuses fp16 for a model that is unstable in it.

## What it means
Gemma 2, Gemma 3 and GLM-4 overflow in fp16, so vLLM refuses that dtype for these model types.
## What it does to a run
`ValueError: The model type 'gemma2' does not support float16. Reason: Numerical instability.` before
anything is loaded.
## What to do
Use bf16 on Ampere and newer, `--dtype float32` on older cards.
## How it is found
The dtype of the command and `model_type` of the model's config.json.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/config.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/model.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(
    id="VLL010", name="vllm-refuses-half-for-model", severity=ERROR, since="0.1", affects={"vllm": ">=0.11"}
)

SIGNATURES = (Signature(r"The model type '(?P<type>[\w\-]{1,60})' does not support float16\. Reason"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM runs no model of type `{type}` in fp16",
        "Models of this type overflow in fp16 and answer with NaN or garbage, so vLLM refuses the dtype "
        "before it loads anything.",
        "Use `--dtype bfloat16` on Ampere and newer cards, `--dtype float32` on older ones; train in bf16, too.",
    ),
    zh=Words(
        "vLLM 不以 fp16 运行 `{type}` 类型的模型",
        "这类模型在 fp16 下会溢出,产生 NaN 或乱码,因此 vLLM 在加载之前就拒绝该 dtype。",
        "Ampere 及以上显卡使用 `--dtype bfloat16`,更旧的显卡使用 `--dtype float32`;训练也用 bf16。",
    ),
)

LOG_COMMANDS = ("--dtype bfloat16",)

MESSAGE = Message(
    en=Words(
        "vLLM {version} runs no model of type `{model_type}` in fp16, which `--dtype {dtype}` asks for",
        "Such models overflow in fp16; vLLM ends with `The model type '{model_type}' does not support float16`.",
        "Use bf16, or float32 on a card older than Ampere.",
    ),
    zh=Words(
        "vLLM {version} 不以 fp16 运行 `{model_type}` 类型的模型,而 `--dtype {dtype}` 要求 fp16",
        "这类模型在 fp16 下会溢出;vLLM 会以 `The model type '{model_type}' does not support float16` 退出。",
        "使用 bf16;比 Ampere 旧的显卡使用 float32。",
    ),
)


REFUSED = {"gemma2", "gemma3", "gemma3_text", "glm4"}


@check(PROBLEM)
def half_refused(serving: Serving, model: Model, packages: Packages) -> Judgement:
    """The top-level model type, as vLLM compares it."""
    setting = serving.arguments.get("dtype")
    if setting is None or serving.dtype not in {"half", "float16"} or model.model_type not in REFUSED:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        model_type=model.model_type,
        dtype=serving.dtype,
        where=place_of(setting),
        commands=("--dtype bfloat16",),
        evidence=(proof(setting), Evidence(f"{model.folder}/config.json", f"model_type: {model.model_type}")),
    )
