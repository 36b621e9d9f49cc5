"""The answers to one prompt are all the same text.

## What it means
A group of answers to one prompt holds the same text several times over: decoding is greedy (temperature 0, `top_k=1`,
`do_sample=False`), every request carries the same seed, the engine ignores the sampling parameters, or the policy has
become so sure of itself that sampling finds one answer only.
## What it does to a run
Equal answers have equal rewards, so every advantage is zero: loss 0, gradient 0. The run goes on and learns nothing.
## What to do
Sample with temperature 1, without `top_k=1` and without a seed per request; with a patched or unusual model see that
`generate` gets `num_return_sequences` or repeated prompts and honours them. Where answers became equal in the course of
the run, its entropy has collapsed: go back to a checkpoint from before.
## How it is found
Rollouts that were kept: in 90 % of the groups of three or more answers all are the same text, in 5 steps running or in
all steps of a shorter run. Folders named after an evaluation are left out, which may well be greedy.
## References
https://arxiv.org/abs/2402.03300
https://github.com/modelscope/ms-swift/issues/5967
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.shares import BadShare

PROBLEM = Problem(id="RLX019", name="answers-identical", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "all answers to one prompt are the same text in {share} of the groups, since step {step}",
        "Equal answers get equal rewards, so every advantage is zero and nothing is learned.",
        "Sample with temperature 1, without `top_k=1`, `do_sample=False` or a fixed seed per request; where the "
        "answers became equal on the way, the entropy has collapsed: go back to a checkpoint from before.",
    ),
    zh=Words(
        "自第 {step} 步起,{share} 的组中同一 prompt 的所有回答完全相同",
        "相同的回答得到相同的奖励,所有优势值为零,学不到东西。",
        "以 temperature 1 采样,不要使用 `top_k=1`、`do_sample=False` 或为每个请求固定种子;如果回答是在训练途中变得"
        "相同的,说明熵已坍缩:请回到之前的检查点。",
    ),
)

#: share of the groups, and steps running
SHARE, RUNNING = 0.9, 5

#: steps that a whole run must have to be judged at its end
WHOLE_RUN = 3


@rule(PROBLEM, needs=("completions/identical_ratio",), symptom_of=("RLX005", "RLX012"))
class AnswersIdentical:
    """Watches the share of groups without two different answers."""

    def __init__(self) -> None:
        self._share = BadShare(SHARE, RUNNING, WHOLE_RUN)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        return self._found(point) if self._share.sees(point) else None

    def _found(self, point: Point) -> Finding:
        began = self._share.since
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * point.value:.0f} %", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        last = self._share.at_end()
        return self._found(last) if last is not None else None
