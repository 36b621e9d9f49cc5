"""Completions have shrunk to nearly nothing.

## What it means
The policy ends its answers almost at once: a tenth of the former length and fewer than 10 tokens, or no more than the
end
token from the beginning.
## What it does to a run
Empty answers teach nothing. A reward that subtracts for length, or one that gives a default for what it cannot parse,
makes silence the best policy; a wrong chat template makes the model stop before it begins.
## What to do
Read some completions. Take the length term out of the reward, or score an empty answer lowest; from the first step on:
check chat template, `eos_token` and stop words.
## How it is found
The median of `completions/mean_length` over the last 10 logged steps, against that of the first 10. In rollouts that
were kept: half of the answers are empty in 5 steps running (in all of a shorter run), or the median length in
characters has fallen to a tenth and below 40.
## References
https://huggingface.co/docs/trl/grpo_trainer
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="RLX012", name="completions-shrinking", severity=WARNING, since="0.1")

SHRUNK = Message(
    en=Words(
        "completions have shrunk from {before} to {now} tokens by step {step}",
        "The policy ends its answers almost at once. A reward that punishes length, or that does not punish "
        "silence, leads there.",
        "Read some completions; take the length term out of the reward, score an empty answer lowest, and go "
        "back to a checkpoint from before the fall.",
    ),
    zh=Words(
        "生成长度到第 {step} 步已从 {before} 个 token 缩短到 {now} 个",
        "策略几乎立刻结束回答。惩罚长度的奖励,或不惩罚沉默的奖励,都会导致这种结果。",
        "查看一些生成;去掉奖励中的长度项,给空回答最低分,并回到缩短之前的检查点。",
    ),
)
EMPTY = Message(
    en=Words(
        "completions are {now} tokens long from the first step on",
        "The model stops before it says anything, so there is nothing to reward. A wrong chat template, an "
        "end token at the end of the prompt, or a stop word does this.",
        "Print a prompt as the model gets it; check chat template, `eos_token` and stop words.",
    ),
    zh=Words(
        "从第一步起生成长度就只有 {now} 个 token",
        "模型什么都没说就停止了,没有可评分的内容。错误的 chat template、prompt 末尾的结束 token 或停止词都会造"
        "成这种情况。",
        "打印模型实际收到的 prompt;检查 chat template、`eos_token` 和停止词。",
    ),
)
ANSWERS_EMPTY = Message(
    en=Words(
        "{share} of the answers are empty, since step {step}",
        "An empty answer teaches nothing. The model stops before it says anything (chat template, end token at the end "
        "of the prompt, stop word), or a reward that does not punish silence has taught it to.",
        "Print a prompt as the model gets it; check chat template, `eos_token` and stop words, and score an empty "
        "answer lowest.",
    ),
    zh=Words(
        "自第 {step} 步起 {share} 的回答为空",
        "空回答学不到东西。模型什么都没说就停止(chat template、prompt 末尾的结束 token、停止词),或者不惩罚沉默的"
        "奖励让它学会了沉默。",
        "打印模型实际收到的 prompt;检查 chat template、`eos_token` 和停止词,并给空回答最低分。",
    ),
)
CHARACTERS = Message(
    en=Words(
        "answers have shrunk from {before} to {now} characters by step {step}",
        SHRUNK.en.explanation,
        SHRUNK.en.remedy,
    ),
    zh=Words(
        "回答长度到第 {step} 步已从 {before} 个字符缩短到 {now} 个",
        SHRUNK.zh.explanation if SHRUNK.zh else "",
        SHRUNK.zh.remedy if SHRUNK.zh else "",
    ),
)

#: logged steps of the medians
STEPS = 10

#: fewer tokens than any reasoned answer has, and the share of the former length
SHORT, SHARE = 10.0, 0.1

#: the end token and half of the completions with one more
EMPTY_LENGTH = 1.5

#: share of empty answers, steps running, and steps that a whole run must have to be judged at its end
EMPTY_SHARE, EMPTY_RUNNING, WHOLE_RUN = 0.5, 5, 2

#: fewer characters than any reasoned answer has
FEW_CHARACTERS = 40.0


@rule(PROBLEM, needs=("completions/clipped_ratio", "completions/mean_length"))
class CompletionsShrinking:
    """Compares the median of the last steps with that of the first; a limit of one token is no silence."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(STEPS, calm=STEPS)
        self._cut_off = False

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one length."""
        if point.name == "completions/clipped_ratio":
            self._cut_off = point.value >= 0.5
            return None
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        before = self._base.median
        if before is None or not self._recent.full:
            return None
        now = self._recent.median
        empty = now <= EMPTY_LENGTH and before <= EMPTY_LENGTH and not self._cut_off
        if not self._alarm.see(empty or now < min(SHORT, SHARE * before), point.step):
            return None
        return found(
            PROBLEM, EMPTY if empty else SHRUNK, confidence=LIKELY, before=f"{before:.0f}", now=f"{now:.2g}",
            step=step_text(point.step), **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose lengths are all long enough."""
        lengths, before = stretch["completions/mean_length"], self._base.median
        if before is None or not self._recent.full or not lengths.finite:
            return False
        shortest = min(lengths.low, self._recent.low)
        if shortest <= EMPTY_LENGTH or shortest < min(SHORT, SHARE * before):
            return False
        self._recent.extend(lengths.values)
        self._alarm.rest(len(lengths))
        for share in stretch["completions/clipped_ratio"].values[-1:]:
            self._cut_off = share >= 0.5
        return True


@rule(PROBLEM, needs=("completions/empty_ratio", "completions/mean_characters"))
class AnswersShrinking:
    """The same in rollouts that were kept, where answers are told in characters."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._short = Alarm(STEPS, calm=STEPS)
        self._empty = Alarm(EMPTY_RUNNING, calm=EMPTY_RUNNING)
        self._rows = 0
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one figure."""
        if point.name == "completions/empty_ratio":
            self._rows += 1
            self._last = point
            return self._of_empty(point) if self._empty.see(point.value >= EMPTY_SHARE, point.step) else None
        if not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        before = self._base.median
        if before is None or not self._recent.full or self._empty.on:
            return None
        now = self._recent.median
        if not self._short.see(now < min(FEW_CHARACTERS, SHARE * before), point.step):
            return None
        return found(
            PROBLEM, CHARACTERS, confidence=LIKELY, before=f"{before:.0f}", now=f"{now:.2g}",
            step=step_text(point.step), **sighting(point, self._short.since),
        )  # fmt: skip

    def _of_empty(self, point: Point) -> Finding:
        began = self._empty.since
        return found(
            PROBLEM, ANSWERS_EMPTY, confidence=LIKELY, share=f"{100 * point.value:.0f} %", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._empty.on or self._last is None or not WHOLE_RUN <= self._rows == self._empty.bad:
            return None
        return self._of_empty(self._last)
