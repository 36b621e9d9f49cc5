"""bf16 training on a GPU that has no bf16 arithmetic.

## What it means
Cards below compute capability 8.0 (V100, T4, RTX 20) have no bf16 units. torch reports bf16 as supported because it
can emulate it, so neither transformers nor TRL stops, and TRL from 0.19 on chooses bf16 by itself.
## What it does to a run
Training runs at a fraction of the speed that fp16 would have, and vLLM on the same card uses fp16 or refuses bf16.
## What to do
Set `fp16=True` and `bf16=False`, and `dtype="half"` for vLLM; watch the loss scale. A model that was saved in bf16 may
overflow in fp16 (NUM001): then train in fp32, with both `False`.
## How it is found
Compute capability of the visible GPUs from NVML, and the precision that the training arguments or the installed
TRL's default ask for.
## References
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/cuda/__init__.py
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="GPU013", name="gpu-bf16-emulated", severity=WARNING, since="0.1")

NATIVE = (8, 0)

ASKED = Message(
    en=Words(
        "`bf16` is set, and {gpu} has compute capability {capability}",
        "The card has no bf16 units: torch emulates them, slowly, and vLLM on the same card will not use bf16.",
        "Train in fp16 on this card, or in fp32 (`fp16=False, bf16=False`) where fp16 overflows, as models saved in "
        "bf16 do.",
    ),
    zh=Words(
        "设置了 `bf16`,而 {gpu} 的计算能力为 {capability}",
        "该卡没有 bf16 运算单元,torch 只能缓慢地模拟,同一块卡上的 vLLM 也不会使用 bf16。",
        "在这块卡上请使用 fp16 训练;若 fp16 溢出(以 bf16 保存的模型可能如此),则用 fp32(`fp16=False, bf16=False`)。",
    ),
)

DEFAULT = Message(
    en=Words(
        "TRL {trl} trains in bf16 by default, and {gpu} has compute capability {capability}",
        "The card has no bf16 units: torch emulates them, slowly, and vLLM on the same card will not use bf16.",
        "Train in fp16 on this card, or in fp32 (`fp16=False, bf16=False`) where fp16 overflows, as models saved in "
        "bf16 do.",
    ),
    zh=Words(
        "TRL {trl} 默认使用 bf16 训练,而 {gpu} 的计算能力为 {capability}",
        "该卡没有 bf16 运算单元,torch 只能缓慢地模拟,同一块卡上的 vLLM 也不会使用 bf16。",
        "在这块卡上请使用 fp16 训练;若 fp16 溢出(以 bf16 保存的模型可能如此),则用 fp32(`fp16=False, bf16=False`)。",
    ),
)


@check(PROBLEM)
def bf16_emulated(gpus: Gpus, training: Training, packages: Packages, world: World) -> Judgement:
    """The first visible card without bf16 stands for all."""
    setting = training.get("bf16")
    by_default = _is_default(training, packages)
    if not by_default and not (setting is not None and setting.known and setting.value is True):
        return
    for gpu in gpus.gpus:
        if world.visible_gpus is None or gpu.index not in world.visible_gpus:
            continue
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
            continue
        if gpu.compute_capability >= NATIVE:
            continue
        place = setting.place if setting else None
        capability = ".".join(map(str, gpu.compute_capability))
        yield found(
            PROBLEM,
            DEFAULT if by_default else ASKED,
            gpu=gpu.label,
            capability=capability,
            trl=packages.version("trl"),
            where=Where(place.file, place.line, place.column) if place else Where(gpu=gpu.index),
            commands=("fp16=True, bf16=False",),
            evidence=(Evidence("NVML", f"compute capability of GPU {gpu.index}: {capability}"),),
        )
        return


def _is_default(training: Training, packages: Packages) -> bool:
    """TRL's own configs choose bf16 from 0.19.0 on unless fp16 is set (`bf16 = not fp16`)."""
    explicit = {name for name in ("bf16", "fp16", "use_cpu") if training.get(name) is not None}
    is_trl = training.trainer is not None and training.config_class not in (None, "TrainingArguments")
    return is_trl and training.complete and not explicit and packages.matches("trl", ">=0.19.0") is True
