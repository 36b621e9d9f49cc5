"""The DeepSpeed configuration turns fp16 and bf16 on together, or another precision than the training.

## What it means
`fp16.enabled` and `bf16.enabled` are both true, or one of them is while the training arguments ask for the other.
## What it does to a run
DeepSpeed ends with `bfloat16 and fp16 modes cannot be simultaneously enabled`; accelerate with `--mixed_precision arg
cannot be set to bf16 when fp16 is set in the DeepSpeed config file`.
## What to do
Turn one of them on, or write "auto" for both and set the precision in the training arguments.
## How it is found
The two switches of the JSON, and `fp16`, `bf16` of the training.
In a log: by the assertion of DeepSpeed or the exception of accelerate.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/config.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import compares_arguments, setting_of, unread
from doctor.checks.launch._helpers import effective, proofs, written
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP006", name="deepspeed-two-precisions", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled"),
    Signature(
        r"`--mixed_precision` arg cannot be set to `(?P<theirs>\w{1,8})` when `(?P<ours>\w{1,8})` is"
        r" set in the DeepSpeed config",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "fp16 and bf16 are both on for DeepSpeed",
        "DeepSpeed trains in one of them; the two may come from the DeepSpeed JSON, the accelerate "
        "configuration (`mixed_precision`) and the training arguments.",
        'Keep one: `bf16` from Ampere (A100, RTX 30) on, else `fp16`. Write `"auto"` for `fp16.enabled` '
        "and `bf16.enabled` in the DeepSpeed JSON and decide in the training arguments alone.",
    ),
    zh=Words(
        "DeepSpeed 同时开启了 fp16 和 bf16",
        "DeepSpeed 只用其中之一训练;两者可能分别来自 DeepSpeed JSON、accelerate 配置(`mixed_precision`)和训练参数。",
        "保留其一:Ampere(A100、RTX 30)及以上用 `bf16`,否则用 `fp16`。在 DeepSpeed JSON 中把 "
        '`fp16.enabled` 和 `bf16.enabled` 写成 `"auto"`,只在训练参数中决定。',
    ),
)

BOTH = Message(
    en=Words(
        "`fp16.enabled` and `bf16.enabled` are both true in the DeepSpeed configuration",
        "DeepSpeed takes one of them and ends with `bfloat16 and fp16 modes cannot be simultaneously enabled`.",
        "Turn one of them off.",
    ),
    zh=Words(
        "DeepSpeed 配置中 `fp16.enabled` 和 `bf16.enabled` 同时为 true",
        "DeepSpeed 只接受其一,会以 `bfloat16 and fp16 modes cannot be simultaneously enabled` 退出。",
        "关闭其中一个。",
    ),
)
OTHER = Message(
    en=Words(
        "DeepSpeed is set to {ours}, and the training asks for {theirs} ({place})",
        "accelerate ends with `--mixed_precision arg cannot be set to {theirs} when {ours} is set in the DeepSpeed "
        "config file`.",
        'Write "auto" for `fp16.enabled` and `bf16.enabled`, or choose the same precision.',
    ),
    zh=Words(
        "DeepSpeed 设为 {ours},而训练要求 {theirs}({place})",
        "accelerate 会以 `--mixed_precision arg cannot be set to {theirs} when {ours} is set in the DeepSpeed config "
        "file` 退出。",
        '把 `fp16.enabled` 和 `bf16.enabled` 写成 "auto",或选用相同的精度。',
    ),
)


@check(PROBLEM)
def two_precisions(
    deepspeed: DeepspeedConfig | None, training: Training | None, packages: Packages | None
) -> Judgement:
    """The JSON alone first, then against the training."""
    if deepspeed is None:
        yield from unread(training)
        return
    fp16, bf16 = (setting_of(deepspeed, f"{name}.enabled") for name in ("fp16", "bf16"))
    ours = [each for each in (fp16, bf16) if each is not None and truth(each.value)]
    if len(ours) == 2:
        yield found(PROBLEM, BOTH, where=place_of(*ours), evidence=proofs(*ours))
        return
    if not ours or training is None or not compares_arguments(training, packages):
        return
    name = ours[0].name.partition(".")[0]
    other = "bf16" if name == "fp16" else "fp16"
    wanted = effective(training, packages, other)
    if wanted is not None and truth(wanted.value):
        yield found(
            PROBLEM,
            OTHER,
            ours=name,
            theirs=other,
            place=written(wanted),
            where=place_of(ours[0], wanted),
            evidence=proofs(ours[0], wanted),
        )
