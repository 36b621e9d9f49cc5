"""GRPO refuses a LoRA adapter on `lm_head`.

## What it means
GRPO of TRL 1.15 and newer computes log probabilities from `lm_head.weight` directly, so an adapter on the
head would never be trained.
## What it does to a run
The trainer raises a ValueError when it is built, after the model was loaded.
## What to do
Take `lm_head` out of `target_modules`.
## How it is found
`target_modules` as written names `lm_head`, and the installed TRL is 1.15 or newer.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.15.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="PFT003", name="adapter-on-lm-head", severity=ERROR, since="0.1", affects={"trl": ">=1.15"})

SIGNATURES = (
    Signature(r"ValueError: Applying a PEFT adapter to `lm_head` is not supported"),
    Signature(
        r"ValueError: `use_liger_kernel=True` is incompatible with applying a PEFT adapter to `lm_head`",
    ),
    Signature(
        r"ValueError: `cast_lm_head_to_fp32=True` is not supported when the lm_head carries a PEFT"
        r" adapter",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a LoRA adapter sits on `lm_head`, where GRPO would never train it",
        "TRL computes log-probabilities from `lm_head.weight` itself, past the adapter, so it refuses "
        "one there (always from 1.15 on, with `use_liger_kernel` or `cast_lm_head_to_fp32` before).",
        'Take `lm_head` out of `target_modules` and `modules_to_save`; `target_modules="all-linear"` '
        "leaves it out by itself.",
    ),
    zh=Words(
        "LoRA 适配器位于 `lm_head`,GRPO 永远不会训练它",
        "TRL 直接用 `lm_head.weight` 计算对数概率,绕过适配器,因此拒绝(1.15 起始终拒绝,此前在使用 "
        "`use_liger_kernel` 或 `cast_lm_head_to_fp32` 时拒绝)。",
        '从 `target_modules` 和 `modules_to_save` 中去掉 `lm_head`;`target_modules="all-linear"` 本身就不包含它。',
    ),
)

MESSAGE = Message(
    en=Words(
        "`target_modules` holds `lm_head`, which GRPO of TRL {version} refuses",
        "TRL computes the log probabilities from `lm_head.weight` directly; an adapter there would never "
        "be trained, so it raises a ValueError.",
        "Take `lm_head` out of `target_modules`.",
    ),
    zh=Words(
        "`target_modules` 包含 `lm_head`,而 TRL {version} 的 GRPO 拒绝这样做",
        "TRL 直接用 `lm_head.weight` 计算对数概率,那里的适配器永远得不到训练,因此抛出 ValueError。",
        "从 `target_modules` 中删除 `lm_head`。",
    ),
)


@check(PROBLEM)
def adapter_on_lm_head(training: Training, packages: Packages) -> Judgement:
    """Judge a list that is written out."""
    setting = (training.lora or {}).get("target_modules")
    if not is_grpo(training) or setting is None:
        return
    if not setting.known:
        yield Skip("`target_modules` could not be read without running the script")
        return
    names = [setting.value] if isinstance(setting.value, str) else list(setting.value or ())
    if "lm_head" in names:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            version=installed(packages, "trl"),
        )
