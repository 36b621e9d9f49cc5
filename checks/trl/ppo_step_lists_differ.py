"""The lists given to a step of TRL's old PPO trainer are not as long as its batch.

## What it means
`PPOTrainer.step(queries, responses, scores)` (TRL before 0.12) wants three lists of tensors, each with `batch_size`
entries, and of each score one number.
## What it does to a run
ValueError in the first step, or in the last one of an epoch, whose batch is smaller.
## What to do
Give one score for each response, and leave out the last incomplete batch.
## How it is found
In a log: by the trainer's check of its arguments.
## References
https://github.com/huggingface/trl/blob/v0.11.4/trl/trainer/ppo_trainer.py
https://github.com/hiyouga/LlamaFactory/issues/216
https://github.com/huggingface/trl/issues/148
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL072", name="ppo-step-lists-differ", severity=ERROR, since="0.1", affects={"trl": "<0.12"})

SIGNATURES = (
    Signature(
        r"^ValueError: Batch size \((?P<batch>\d{1,7})\) does not match number of examples - but got "
        r"(?P<given>\d{1,7}) "
        r"for: (?P<list>queries|responses|scores)"
    ),
    Signature(
        r"^ValueError: (?:Elements in )?(?P<list>queries|responses|scores) must be (?:a list of )?tensors - got "
        r"<class '(?P<type>[\w.]{1,60})'>"
    ),
    Signature(r"^ValueError: (?P<list>Scores) must be 1-dimensional - got (?P<dimensions>\d)"),
)

NUMBER = Message(
    en=Words(
        "`PPOTrainer.step` got {given} {list} for a batch of {batch}",
        "It wants one query, one response and one score (reward) per sample of the batch. More scores than samples are "
        "mostly rewards for each token (a reward model's output not reduced to its last position); fewer samples are "
        "the last, incomplete batch of the dataset.",
        "Reduce the reward to one number for each response (the value at its last token) and pass lists: "
        "`[torch.tensor(r) for r in rewards]`. For the last batch: `drop_last=True` in the loader, or a `batch_size` "
        "that divides the dataset. In LLaMA-Factory update (`git pull`), whose early PPO had this fault.",
    ),
    zh=Words(
        "`PPOTrainer.step` 收到 {given} 个 {list},而批大小为 {batch}",
        "它要求批中每个样本有一个 query、一个 response 和一个 score(奖励)。score 比样本多,多半是逐 token 的奖励(奖励模"
        "型的输出没有取最后位置);样本较少则是数据集最后不完整的一批。",
        "把奖励归约为每个回答一个数(其最后一个 token 处的值),并传入列表:`[torch.tensor(r) for r in rewards]`。对最后一"
        "批:在 loader 中设 `drop_last=True`,或选择能整除数据集的 `batch_size`。LLaMA-Factory 请更新(`git pull`),其早期 "
        "PPO 有此缺陷。",
    ),
)
FORM = Message(
    en=Words(
        "`PPOTrainer.step` got {list} in another form than a list of tensors",
        "Queries and responses are lists of tensors of ids, scores a list of tensors with one number each; a batched "
        "tensor, a list of floats or a column of numbers for each token is refused.",
        "Split a batched tensor (`list(batch)`), and wrap floats: `[torch.tensor(r, dtype=torch.float32) for r in "
        "rewards]`; each score has no dimension or one entry (`score.squeeze()`).",
    ),
    zh=Words(
        "`PPOTrainer.step` 收到的 {list} 不是张量列表的形式",
        "queries 与 responses 是 id 张量的列表,scores 是每项一个数的张量列表;成批的张量、浮点数列表或逐 token 的数列都"
        "会被拒绝。",
        "拆分成批的张量(`list(batch)`),并包装浮点数:`[torch.tensor(r, dtype=torch.float32) for r in rewards]`;每个 "
        "score 没有维度或只有一项(`score.squeeze()`)。",
    ),
)

MESSAGES = (NUMBER, FORM)


def explain(hits: Hits) -> Finding:
    """Tell a wrong number from a wrong form."""
    groups = hits.first.groups
    return found(
        PROBLEM, NUMBER if "batch" in groups else FORM, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, batch=groups.get("batch"), given=groups.get("given"), list=groups["list"].lower(),
    )  # fmt: skip
