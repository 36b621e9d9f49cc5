"""fp16 is chosen for a model that was saved in bf16.

## What it means
bf16 has the range of fp32; the largest number of fp16 is 65504. Activations and gradients of a model
trained in bf16 can lie beyond it.
## What it does to a run
Overflows: the loss scale is halved again and again, steps are skipped, and DeepSpeed ZeRO ends with
"Current loss scale already at minimum" (with its defaults at the 18th overflow). Without a scaler the loss
becomes NaN.
## What to do
Use bf16 on GPUs of compute capability 8.0 and newer. On older ones train in fp32, or a model that was
trained in fp16.
## How it is found
`torch_dtype` of the local `config.json`, against the precision that training arguments, DeepSpeed JSON and
launcher give.
## References
https://huggingface.co/docs/transformers/perf_train_gpu_one#mixed-precision
https://github.com/huggingface/transformers/pull/14579
"""

from __future__ import annotations

from doctor.checks.numerics._precision import precision
from doctor.checks.trl._helpers import config_place, installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NUM001", name="fp16-for-bf16-model", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "fp16 for `{model}`, which was saved in bfloat16",
        "Values beyond 65504 overflow in fp16: steps are skipped, the loss scale falls to its minimum, and "
        "the run ends or learns nothing.",
        "Use bf16 where the GPUs have it (compute capability 8.0 and newer), else fp32.",
    ),
    zh=Words(
        "对以 bfloat16 保存的 `{model}` 使用 fp16",
        "超过 65504 的数值在 fp16 中会溢出:步被跳过,loss scale 降到最小值,训练终止或学不到东西。",
        "GPU 支持时(计算能力 8.0 及以上)使用 bf16,否则使用 fp32。",
    ),
)


@check(PROBLEM)
def fp16_for_bf16_model(
    training: Training, world: World, model: Model, packages: Packages, deepspeed: DeepspeedConfig | None
) -> Judgement:
    """Compare the run's precision with the model's."""
    chosen = precision(training, world, deepspeed, installed(packages, "trl"))
    if chosen is None:
        yield Skip("the precision of the run could not be read without running the script")
        return
    if chosen[0] != "fp16" or model.torch_dtype is None:
        return
    if model.torch_dtype.removeprefix("torch.") == "bfloat16":
        from_json = chosen[1] is not None and chosen[1].name.endswith(".enabled")
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(chosen[1], otherwise=config_place(training)),
            evidence=(*quoted(chosen[1]), Evidence(f"{model.folder}/config.json", f"torch_dtype: {model.torch_dtype}")),
            commands=('"bf16": {"enabled": true}',) if from_json else ("bf16=True",),
            confidence=LIKELY,
            model=model.name,
        )
