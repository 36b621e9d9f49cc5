"""Only the form of the answers is rewarded, never their content.

## What it means
A reward function that looks at the form (`format_reward`, `xmlcount`, tags) gives rewards, and the one that looks at
the answer gives exactly 0 to every completion. The answer is not recognised (parser, type or column of the ground
truth, completions cut off before the answer), or the task is too hard for the model to be right even once.
## What it does to a run
The reward rises and looks well, but the policy learns tags alone; once all answers have the form, the deviation within
each group is zero and nothing is learned any more.
## What to do
Print some completions beside the ground truth and the reward of each function. Give the accuracy function a completion
that is right by hand; check parser, ground-truth column and `max_completion_length`; begin with easier prompts.
## How it is found
Metrics `rewards/<function>/mean` or rollouts that were kept: a function named after form earns something, and every
other one is exactly 0, in 30 logged steps running, or in all steps of a run that logged at least 10.
## References
https://github.com/huggingface/trl/issues/3903
https://github.com/huggingface/open-r1/issues/255
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
"""

from __future__ import annotations

import re
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="RLX020", name="reward-for-format-only", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{form} earns rewards and {content} is 0 in {count} logged steps running, since step {step}",
        "Only the form of the answers is rewarded, so only that is learned. The answer itself is never recognised, or "
        "the task is too hard for the model.",
        "Print completions beside ground truth and rewards; call the function that gives 0 with a right answer by "
        "hand; check parser, ground-truth column and `max_completion_length`; begin with easier prompts.",
    ),
    zh=Words(
        "自第 {step} 步起连续 {count} 个记录步 {form} 获得奖励而 {content} 为 0",
        "只有回答的格式得到奖励,因此只学到格式。答案本身从未被识别,或任务对模型来说太难。",
        "把生成与标准答案、奖励一起打印出来;用一个正确答案手动调用返回 0 的函数;检查解析、标准答案列和 "
        "`max_completion_length`;先用更简单的 prompt。",
    ),
)

#: what functions that look at the form alone are called
FORM = re.compile(r"format|xml|\btags?\b|_tags?\b|tag_count|structure|strict|soft_", re.IGNORECASE)

#: what functions that look at the answer are called; others may be 0 for good (a penalty that was never due)
CONTENT = re.compile(r"acc|correct|answer|math|solution|verif|exact|equation|result", re.IGNORECASE)

#: logged steps running, and steps of a whole run; a hard task can begin with zeros
RUNNING, WHOLE_RUN = 30, 10

#: functions watched; nobody has more
MOST_FUNCTIONS = 32


@rule(PROBLEM, needs=("rewards/*", "reward_std"), symptom_of=("RLX011",))
class RewardForFormatOnly:
    """Gathers the functions of a step and judges them when `reward_std`, which comes behind them, does."""

    def __init__(self) -> None:
        self._now: dict[str, float] = {}
        self._alarm = Alarm(RUNNING, calm=1)
        self._rows = 0
        self._last: Optional[Point] = None
        self._form = self._content = ""

    def update(self, point: Point) -> Optional[Finding]:
        """Take a function's mean in, or judge the step."""
        if point.name != "reward_std":
            name, _, figure = point.name[len("rewards/") :].rpartition("/")
            if figure != "std" and len(self._now) < MOST_FUNCTIONS:
                self._now[name or figure] = point.value
            return None
        functions, self._now = self._now, {}
        if not functions:
            return None
        self._rows += 1
        bad = self._form_alone(functions)
        self._last = point if bad else self._last
        return self._found(point) if self._alarm.see(bad, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where some function for the content always gives something, or none looks at it or the form."""
        names = list(stretch.columns)
        functions = [name for name in names if name.startswith("rewards/")]
        if not functions and not self._now:
            return True
        if not stretch.alike or self._now or len(functions) > MOST_FUNCTIONS or "reward_std" not in names:
            return False
        given: dict[str, str] = {}
        for name in functions:
            function, _, figure = name[len("rewards/") :].rpartition("/")
            if figure != "std":
                given[function or figure] = name
        content = [name for own, name in given.items() if not FORM.search(own) and CONTENT.search(own)]
        behind = names.index("reward_std") > max(map(names.index, functions))
        judged = content and any(map(FORM.search, given))
        if not behind or (judged and not any(0.0 not in stretch[name].values for name in content)):
            return False
        self._rows += len(stretch.rows)
        self._alarm.rest(len(stretch.rows))
        return True

    def _form_alone(self, functions: dict[str, float]) -> bool:
        form = [name for name in functions if FORM.search(name)]
        content = [name for name in functions if name not in form and CONTENT.search(name)]
        earned = [name for name in form if functions[name] > 0]
        if not earned or not content or any(functions[name] != 0 for name in content):
            return False
        self._form = ", ".join(f"`{name}`" for name in earned[:2])
        self._content = ", ".join(f"`{name}`" for name in content[:2])
        return True

    def _found(self, point: Point) -> Finding:
        began = self._alarm.since
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, form=self._form, content=self._content, count=self._alarm.bad,
            step=step_text(began), **sighting(point, began, f"{self._content} = 0 up to step {step_text(point.step)}"),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._last is None or not WHOLE_RUN <= self._rows == self._alarm.bad:
            return None
        return self._found(self._last)
