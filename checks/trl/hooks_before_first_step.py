"""TRL 0.14 looks for the optimizer of a model that DeepSpeed has not wrapped yet.

## What it means
Around generation under ZeRO-3, TRL takes DeepSpeed's hooks off and puts them on again. TRL 0.14 expects an optimizer
on the model, which is there only after `accelerator.prepare`: a reference model or the first generation has none.
## What it does to a run
The first generation raises AttributeError.
## What to do
Upgrade TRL.
## How it is found
In a log: by the exception with TRL's own function in the traceback.
## References
https://github.com/huggingface/trl/issues/2782
https://github.com/huggingface/trl/pull/2776
https://github.com/huggingface/open-r1/issues/145
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL052", name="hooks-before-first-step", severity=ERROR, since="0.1", affects={"trl": "<0.15"})

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<model>\w{1,80})' object has no attribute 'optimizer'",
        frame=r"(?:trl[\\/]models[\\/]|[\\/])utils\.py:(?:add|remove)_hooks$",
    ),
    Signature(
        r"^AttributeError: '(?P<model>\w{1,80}For(?:CausalLM|ConditionalGeneration))' object has no attribute "
        r"'optimizer'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "TRL looks for an optimizer on `{model}`, which DeepSpeed has not wrapped yet",
        "For generation under ZeRO-3 TRL takes DeepSpeed's hooks off and on; before 0.15 it does not look whether the "
        "model has an optimizer already. The configuration is not at fault.",
        "Upgrade: `pip install -U 'trl>=0.15'`. In the same release, ZeRO-2 does not take this way.",
    ),
    zh=Words(
        "TRL 在 `{model}` 上查找优化器,而 DeepSpeed 尚未包装该模型",
        "在 ZeRO-3 下生成时,TRL 会摘下并重新挂上 DeepSpeed 的钩子;0.15 之前它不检查模型是否已有优化器。配置没有问题。",
        "升级:`pip install -U 'trl>=0.15'`。若留在原版本,ZeRO-2 不走这条路径。",
    ),
)

_HOOKS = 0


def explain(hits: Hits) -> Finding | None:
    """A copied line without its traceback can hardly mean anything else: no other code asks a bare model for it."""
    traced = bool(hits.of(_HOOKS))
    if not traced and hits.first.frames:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if traced else LIKELY, model=hits.get("model") or "",
    )  # fmt: skip


LOG_COMMANDS = ("pip install -U 'trl>=0.15'",)
