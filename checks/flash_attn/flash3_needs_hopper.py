"""FlashAttention-3 or -4 on a GPU that Transformers does not allow it on.

## What it means
FlashAttention-3 and -4 use instructions of Hopper and newer cards. Transformers up to 5.1 asks for compute capability
9.0 for the third, and every release asks for it for the fourth.
## What it does to a run
Loading the model ends with `Flash Attention 3 requires compute capability >= 9.0`.
## What to do
Use `flash_attention_2` or `sdpa` on these cards.
## How it is found
`attn_implementation` as the run will have it, and the compute capability of the visible GPUs from NVML.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py
https://github.com/Dao-AILab/flash-attention#flashattention-3-beta-release
"""

from __future__ import annotations

from doctor.checks.flash_attn._helpers import asked_attention, flash_version
from doctor.checks.torch._helpers import used_gpus
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="FLA005", name="flash3-needs-hopper", severity=ERROR, since="0.1")

HOPPER = (9, 0)

MESSAGE = Message(
    en=Words(
        '`attn_implementation="{attention}"` needs compute capability 9.0; {gpu} has {capability}',
        "Transformers refuses it on this card when the model is loaded.",
        "Use `flash_attention_2` or `sdpa` on this card.",
    ),
    zh=Words(
        '`attn_implementation="{attention}"` 需要计算能力 9.0,而 {gpu} 为 {capability}',
        "加载模型时 Transformers 会在这块卡上拒绝它。",
        "在这块卡上请使用 `flash_attention_2` 或 `sdpa`。",
    ),
)


@check(PROBLEM)
def flash3_needs_hopper(training: Training, gpus: Gpus, packages: Packages, world: World | None) -> Judgement:
    """Newer Transformers leave FlashAttention-3 on older cards to the package itself."""
    setting = asked_attention(training)
    version = flash_version(setting.value) if setting is not None else None
    if setting is None or version not in {3, 4}:
        return
    if version == 3 and packages.matches("transformers", "<5.2") is not True:
        return
    for gpu in used_gpus(gpus, world):
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < HOPPER:
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
