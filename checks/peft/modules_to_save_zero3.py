"""LoRA with `modules_to_save` under ZeRO-3 hits a bug of DeepSpeed.

## What it means
From DeepSpeed 0.16.5 to 0.19.2 the backward hooks of ZeRO-3 are made once per module and found by
`hasattr`; PEFT's wrapper of a saved module forwards that question to the module inside, and its own counter
is never made.
## What it does to a run
The first backward pass dies with `'Linear' object has no attribute 'ds_grads_remaining'` (or another
module's name).
## What to do
Install DeepSpeed 0.19.3 or newer (or 0.16.4), use ZeRO-2, or do without `modules_to_save`.
## How it is found
`LoraConfig` has `modules_to_save`, the run uses ZeRO stage 3 and the installed DeepSpeed is in the broken
range.
In a log: by the AttributeError of the backward hook.
## References
https://github.com/deepspeedai/DeepSpeed/issues/7203
https://github.com/deepspeedai/DeepSpeed/pull/8144
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="PFT002",
    name="modules-to-save-zero3",
    severity=ERROR,
    since="0.1",
    affects={"deepspeed": ">=0.16.5,<0.19.3"},
)

SIGNATURES = (Signature(r"object has no attribute 'ds_grads_remaining'"),)

LOG_MESSAGE = Message(
    en=Words(
        "ZeRO-3 lost its hook on a LoRA module (`ds_grads_remaining`)",
        "DeepSpeed 0.16.5 to 0.19.2 puts its state on classes of modules and mistakes PEFT's wrapper of "
        "`modules_to_save` for the module inside it, so the backward pass meets a module without that "
        "state.",
        "Install DeepSpeed 0.19.3 or newer, or 0.16.4, or do without `modules_to_save` (put `lm_head` or "
        "`embed_tokens` into `target_modules`).",
    ),
    zh=Words(
        "ZeRO-3 丢失了 LoRA 模块上的钩子(`ds_grads_remaining`)",
        "DeepSpeed 0.16.5 至 0.19.2 把状态放在模块类上,并把 PEFT 的 `modules_to_save` 包装误认为其内部模"
        "块,反向传播因此遇到没有该状态的模块。",
        "安装 DeepSpeed 0.19.3 及以上版本或 0.16.4,或不用 `modules_to_save`(把 `lm_head` 或 "
        "`embed_tokens` 放进 `target_modules`)。",
    ),
)

LOG_COMMANDS = ("pip install -U 'deepspeed>=0.19.3'",)

MESSAGE = Message(
    en=Words(
        "LoRA with `modules_to_save={modules}` under ZeRO-3 of DeepSpeed {version}",
        'This is a bug of DeepSpeed {version}: the first backward pass dies with "object has no attribute '
        "'ds_grads_remaining'\".",
        "Install DeepSpeed 0.19.3 or newer, or do without `modules_to_save` or ZeRO-3.",
    ),
    zh=Words(
        "在 DeepSpeed {version} 的 ZeRO-3 下使用带 `modules_to_save={modules}` 的 LoRA",
        "这是 DeepSpeed {version} 的缺陷:第一次反向传播会以 object has no attribute 'ds_grads_remaining' 终止。",
        "安装 DeepSpeed 0.19.3 及以上版本,或不用 `modules_to_save` 或 ZeRO-3。",
    ),
)

ZERO_3 = 3


@check(PROBLEM)
def modules_to_save_zero3(training: Training, world: World, packages: Packages) -> Judgement:
    """Judge the three together; the engine has compared the version."""
    setting = (training.lora or {}).get("modules_to_save")
    if setting is None or (setting.known and not setting.value) or world.backend not in {"deepspeed", None}:
        return
    if world.zero_stage is None and world.backend == "deepspeed":
        yield Skip("the ZeRO stage is not known")
        return
    if world.zero_stage != ZERO_3:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=('pip install "deepspeed>=0.19.3"',),
        confidence=CONFIRMED if setting.known else LIKELY,
        modules=setting.text or setting.value,
        version=installed(packages, "deepspeed"),
    )
