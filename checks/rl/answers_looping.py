"""Many answers end by repeating one piece of text without an end.

## What it means
The policy falls into a loop and never gives an end token: the same sentence or line stands at the end of the answer
again and again, until the length limit. Too many steps on one reward, a learning rate that is too high, a reward that
favours length, a base model without a chat template, or an end token that generation does not know do this.
## What it does to a run
Each such answer costs its maximum of tokens and holds no answer to be rewarded. Where a reward counts length or matches
a fixed text, the loop is even rewarded, and spreads.
## What to do
Read the examples beside their rewards. Go back to a checkpoint from before it began; lower the learning rate or raise
`beta`; see that the reward gives nothing for length alone, and that the model's end token is the one that generation
stops at.
## How it is found
Rollouts that were kept: an answer ends in a loop when one piece of text stands there at least 6 times running and
covers 240 characters. Found when 30 % of the answers do in 5 steps running, or in all steps of a shorter run.
## References
https://arxiv.org/abs/1904.09751
https://github.com/unslothai/unsloth/issues/2424
https://github.com/NEUIR/LegalDelta/issues/2
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.shares import BadShare

PROBLEM = Problem(id="RLX018", name="answers-looping", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{share} of the answers end by repeating one piece of text, since step {step}",
        "They never come to an end or to an answer, cost the full length each, and teach nothing, or teach the loop "
        "where the reward counts length.",
        "Read the examples beside their rewards; go back to a checkpoint from before step {step}, with a lower "
        "learning rate or a higher `beta`, and see that generation stops at the model's own end token.",
    ),
    zh=Words(
        "自第 {step} 步起 {share} 的回答以不断重复同一段文本结尾",
        "这些回答既不结束也不给出答案,每个都耗尽长度上限,学不到东西;如果奖励与长度有关,还会学会重复。",
        "把示例与其奖励一起查看;回到第 {step} 步之前的检查点,降低学习率或提高 `beta`,并确认生成会在模型自己的结束 "
        "token 处停止。",
    ),
)

#: share of the answers, and steps running; a base model loops now and then at first
SHARE, RUNNING = 0.3, 5

#: steps that a whole run must have to be judged at its end
WHOLE_RUN = 2


@rule(PROBLEM, needs=("completions/looping_ratio",), symptom_of=("RLX005",))
class AnswersLooping:
    """Watches the share of answers that end in a loop."""

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
