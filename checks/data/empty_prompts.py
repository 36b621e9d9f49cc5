"""Some prompts of the dataset are empty.

## What it means
An empty prompt gives the model nothing to answer, and the reward of its completions is noise.
## What it does to a run
vLLM refuses a prompt without tokens with a ValueError in the middle of the run; without vLLM the
completions of such rows add noise to the advantages.
## What to do
Filter the rows out before the training.
## How it is found
The `prompt` column of the local dataset file.
## References
https://huggingface.co/docs/datasets/process#select-and-filter
https://github.com/vllm-project/vllm/issues/15016
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT007", name="empty-prompts", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{count} of {rows} rows read have an empty `prompt`, the first in line {line}",
        "vLLM refuses a prompt without tokens in the middle of the run; otherwise such rows add noise to "
        "the advantages.",
        "Filter these rows out.",
    ),
    zh=Words(
        "已读取的 {rows} 行中有 {count} 行的 `prompt` 为空,最早在第 {line} 行",
        "vLLM 会在训练途中拒绝没有 token 的 prompt;否则这些行会给优势值带来噪声。",
        "过滤掉这些行。",
    ),
)


@check(PROBLEM)
def empty_prompts(dataset: Dataset, training: Training) -> Judgement:
    """Judge the rows read; a script that processes them may well filter them out."""
    if not is_grpo(training) or not dataset.empty_prompt_count:
        return
    if training.dataset_processed:
        yield Skip("what the script makes of the dataset's rows is not seen")
        return
    first = dataset.empty_prompts[0] if dataset.empty_prompts else None
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=dataset.path, line=first),
        evidence=(Evidence(dataset.path, f"rows {', '.join(map(str, dataset.empty_prompts))}", first),),
        commands=('dataset = dataset.filter(lambda row: len(row["prompt"]) > 0)',),
        count=dataset.empty_prompt_count,
        rows=dataset.rows_read,
        line=first if first is not None else "?",
    )
