"""TRL 0.19.0 in colocate mode dies where `generation_kwargs` is not set.

## What it means
0.19.0 adds `args.generation_kwargs` to the sampling parameters of a colocated vLLM without looking whether
there are any.
## What it does to a run
The first generation raises "'NoneType' object is not iterable", which looks like a mistake of a reward function.
## What to do
Set `generation_kwargs={}`, or install another release.
## How it is found
In a log: the line of TRL that adds them, in the traceback of that error.
## References
https://github.com/huggingface/trl/issues/3633
https://github.com/huggingface/trl/pull/3634
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL049", name="generation-kwargs-none", severity=ERROR, since="0.1", affects={"trl": "==0.19.0"})

SIGNATURES = (
    Signature(
        r"^TypeError: 'NoneType' object is not iterable",
        frame=r"(?:grpo_trainer|GRPOTrainer)\.py:_generate_and_score_completions$",
    ),
    Signature(r"^\s{0,12}generation_kwargs\.update\(self\.args\.generation_kwargs\)", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "TRL adds `generation_kwargs` to vLLM's sampling parameters, and it is None",
        "TRL 0.19.0 forgets to look whether `generation_kwargs` is set when vLLM is colocated. It is no "
        "mistake of the reward functions.",
        "Set `generation_kwargs={{}}` in `GRPOConfig`, or install TRL 0.19.1 or newer.",
    ),
    zh=Words(
        "TRL 把值为 None 的 `generation_kwargs` 并入 vLLM 的采样参数",
        "TRL 0.19.0 在 colocate 模式下没有检查 `generation_kwargs` 是否设置。这不是奖励函数的错误。",
        "在 `GRPOConfig` 中设置 `generation_kwargs={{}}`,或安装 TRL 0.19.1 及以上版本。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only with TRL's own line in the traceback: the exception alone has many causes."""
    if not hits.of(0) or not hits.of(1):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())
