"""`sync_ref_model` is on and there is no reference model.

## What it means
With `beta=0.0`, TRL's default since 0.19.0, GRPO makes no reference model, so there is nothing to
synchronise. With PEFT there is none either.
## What it does to a run
TRL 0.28.0 and newer raise an error when the trainer is built, after the model was loaded.
## What to do
Set `beta` to a positive number, or `sync_ref_model=False`.
## How it is found
`sync_ref_model` is true, and `beta` is 0 as set or by the default of the installed TRL, or the model is
trained with PEFT.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import argument, installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import number, place_of, truth
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL032", name="sync-ref-model-without-beta", severity=ERROR, since="0.1", affects={"trl": ">=0.28"}
)

SIGNATURES = (
    Signature(r"ValueError: You passed `sync_ref_model=True` while `beta=0\.0`"),
    Signature(r"NotImplementedError: You passed `sync_ref_model=True` while using a PEFT model"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`sync_ref_model=True` without a reference model to synchronize",
        "With `beta=0.0`, TRL's default, there is no KL term and no reference model; with a LoRA adapter "
        "the reference is the base model with the adapter off, which cannot be synchronized either.",
        "Take `sync_ref_model` out, or set `beta` above 0 and train the whole model.",
    ),
    zh=Words(
        "`sync_ref_model=True`,但没有可同步的参考模型",
        "`beta=0.0`(TRL 的默认值)时没有 KL 项和参考模型;使用 LoRA 适配器时,参考模型是关闭适配器的基座模型"
        ",同样无法同步。",
        "删除 `sync_ref_model`;或把 `beta` 设为大于 0 并训练完整模型。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`sync_ref_model=True` with `beta=0.0`: there is no reference model",
        "TRL {version} makes a reference model only for a `beta` above 0 (0.0 is the default since 0.19) "
        "and raises a ValueError.",
        "Set `beta` to what it was before 0.19 if a reference model is wanted, else switch the synchronisation off.",
    ),
    zh=Words(
        "`sync_ref_model=True` 而 `beta=0.0`:没有参考模型",
        "TRL {version} 只在 `beta` 大于 0 时创建参考模型(自 0.19 起默认 0.0),因此抛出 ValueError。",
        "如需参考模型,请把 `beta` 设为 0.19 之前的默认值;否则关闭同步。",
    ),
)

PEFT = Message(
    en=Words(
        "`sync_ref_model=True` with PEFT: there is no reference model of its own",
        "With an adapter the reference is the model with the adapter switched off, so TRL {version} raises "
        "NotImplementedError.",
        "Switch the synchronisation off.",
    ),
    zh=Words(
        "`sync_ref_model=True` 与 PEFT 同用:没有独立的参考模型",
        "使用适配器时,参考模型就是关闭适配器的模型,因此 TRL {version} 抛出 NotImplementedError。",
        "关闭同步。",
    ),
)


@check(PROBLEM)
def sync_ref_without_beta(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch against `beta` and PEFT."""
    version, setting = installed(packages, "trl"), training.get("sync_ref_model")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    beta = argument(training, "beta", version)
    if beta is None:
        yield Skip("`beta` could not be read without running the script")
        return
    zero = number(beta.value) == 0.0
    if not zero and training.lora is None:
        return
    yield found(
        PROBLEM,
        MESSAGE if zero else PEFT,
        where=place_of(setting),
        evidence=quoted(setting, beta.setting),
        commands=("beta=0.04", "sync_ref_model=False") if zero else ("sync_ref_model=False",),
        version=version,
    )
