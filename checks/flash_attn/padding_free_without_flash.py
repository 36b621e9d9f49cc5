"""SFT without padding, and the attention cannot keep the samples apart.

## What it means
`padding_free=True`, and packing with the strategy `bfd` (`ffd` in TRL 0.19), put several samples into one row. Only
flash attention is known to attend within each of them by the position ids; the attention asked for is another one.
## What it does to a run
Samples see each other. Nothing fails: TRL warns once, and the model learns from mixed contexts.
## What to do
Use flash attention, or pack with the strategy `wrapped`, or leave padding on.
## How it is found
The arguments of SFT and `attn_implementation` as the run will have it.
## References
https://github.com/huggingface/trl/blob/v0.24.0/trl/trainer/sft_trainer.py
https://huggingface.co/docs/trl/reducing_memory_usage
"""

from __future__ import annotations

from doctor.checks.flash_attn._helpers import asked_attention, flash_version, is_kernel
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.base import Setting
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value

PROBLEM = Problem(
    id="FLA006", name="padding-free-without-flash", severity=WARNING, since="0.1", affects={"trl": ">=0.18,<0.26"}
)

MESSAGE = Message(
    en=Words(
        "`{name}` joins samples in one row, and the attention is `{attention}`",
        "Only flash attention is known to keep joined samples apart. With another one they can see each other: nothing "
        "fails, and the model learns from mixed contexts.",
        "Use flash attention, or leave padding on.",
    ),
    zh=Words(
        "`{name}` 会把多个样本拼成一行,而注意力实现是 `{attention}`",
        "已知只有 flash attention 能把拼接的样本区分开。换成别的实现,样本会互相可见:不会报错,"
        "但模型学到的是混合的上下文。",
        "使用 flash attention,或保留填充。",
    ),
)

DEFAULT = "the default of the model, sdpa or eager"


def _joins(training: Training, packages: Packages) -> Setting | None:
    """Return the setting that joins samples, None when none certainly does."""
    free = training.get("padding_free")
    if free is not None and free.known and truth(free.value):
        return free
    packing = training.get("packing")
    if packing is None or not packing.known or not truth(packing.value):
        return None
    strategy = effective_value(training, packages, "packing_strategy")
    joins = packages.matches("trl", ">=0.19") and strategy is not None and strategy.value in {"bfd", "ffd"}
    return packing if joins else None


@check(PROBLEM)
def padding_free_without_flash(training: Training, packages: Packages) -> Judgement:
    """An attention that is set by means that cannot be read is given the benefit of the doubt."""
    if training.config_class != "SFTConfig" and training.trainer != "SFTTrainer":
        return
    joining = _joins(training, packages)
    written = training.model_arguments.get("attn_implementation") or training.nested.get(
        "model_init_kwargs.attn_implementation"
    )
    attention = asked_attention(training)
    if joining is None or (attention is None and (written is not None or not training.complete)):
        return
    if attention is not None and (flash_version(attention.value) or is_kernel(attention.value)):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY,
        where=place_of(joining, attention),
        evidence=quoted(joining, attention),
        commands=('attn_implementation="flash_attention_2"', "padding_free=False, packing=False"),
        name=joining.name,
        attention=attention.value if attention is not None else DEFAULT,
    )
