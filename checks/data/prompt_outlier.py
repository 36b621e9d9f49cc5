"""One prompt is far longer than the others.

## What it means
The memory of a step and the window of the engine are decided by the longest prompt, and from TRL 0.26 the
prompts are no longer cut by default (from 0.28 they cannot be).
## What it does to a run
A run that fits for hours can run out of memory, or vLLM can refuse the prompt, when the row comes up.
## What to do
Filter such rows out, or size window and memory for them.
## How it is found
Median and longest length of the `prompt` column in characters; the longest is more than 20 times the median
and more than 20,000 characters.
## References
https://github.com/huggingface/trl/releases/tag/v0.28.0
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT008", name="prompt-outlier", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "the longest prompt has {longest} characters, {times} times the median",
        "Window and memory must hold it; when that row comes up, the run can fail after hours.",
        "Look at row {row}; filter by length before the training if it is an accident.",
    ),
    zh=Words(
        "最长的 prompt 有 {longest} 个字符,是中位数的 {times} 倍",
        "窗口和显存必须容得下它;轮到该行时,训练可能在数小时后失败。",
        "查看第 {row} 行;如果属于意外,请在训练前按长度过滤。",
    ),
)

#: how many medians make an outlier: twenty, our own choice, far above the spread of ordinary prompt sets
TIMES = 20

#: below this length no window of today's models is in danger: about 5,000 tokens of English at 4 characters each
CHARACTERS = 20_000


@check(PROBLEM)
def prompt_outlier(dataset: Dataset, training: Training) -> Judgement:
    """Judge lengths in characters; tokens are not counted."""
    median, longest = dataset.prompt_chars_median, dataset.prompt_chars_max
    if not is_grpo(training) or not median or not longest or training.dataset_processed:
        return
    if longest > TIMES * median and longest > CHARACTERS:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=dataset.path, line=dataset.longest_row),
            evidence=(Evidence(dataset.path, f"median {median}, longest {longest} characters", dataset.longest_row),),
            longest=longest,
            times=longest // median,
            row=dataset.longest_row or "?",
        )
