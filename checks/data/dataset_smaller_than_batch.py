"""The dataset has fewer prompts than one generation batch.

## What it means
TRL's sampler deals out whole generation batches of different prompts and drops what does not fill one.
## What it does to a run
No batch is ever made: the Trainer warns that there seems not to be a single sample and stops at once, with
success and an untrained model.
## What to do
Lower the batch, raise `num_generations`, or use more prompts.
## How it is found
The number of rows of the local dataset, and the generation batch as the installed TRL computes it.
In a log: by the Trainer's warning that it stops at step 0.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/utils.py
https://github.com/huggingface/transformers/blob/v4.51.3/src/transformers/trainer.py#L2654
"""

from __future__ import annotations

from doctor.checks.trl._batch import train_batch
from doctor.checks.trl._helpers import installed, is_grpo, unsloth_replaces
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="DAT012", name="dataset-smaller-than-batch", severity=ERROR, since="0.1", affects={"trl": ">=0.17"}
)

SIGNATURES = (
    Signature(
        r"There seems (?:not to be|to be not) a single sample in your (?:epoch_iterator|train_dataloader), stopping"
        r" training at step 0!",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no batch was made: the run stopped at step 0 with success, and nothing was trained",
        "The dataset is empty, or has fewer rows than one (generation) batch over all processes, and incomplete "
        "batches are dropped; an iterable dataset may be used up or filtered to nothing.",
        "Print `len(dataset)` after the last `filter` or `map`; use more prompts, or lower "
        "`per_device_train_batch_size`, `gradient_accumulation_steps` (for GRPO the prompts of a step are processes x "
        "batch x accumulation / `num_generations`) or the number of processes.",
    ),
    zh=Words(
        "没有产生任何批次:运行在第 0 步以成功状态停止,什么都没有训练",
        "数据集为空,或行数少于所有进程上的一个(生成)批次,而不完整的批次会被丢弃;可迭代数据集可能已耗尽或被过滤为空。",
        "在最后一次 `filter` 或 `map` 之后打印 `len(dataset)`;使用更多 prompt,或减小 `per_device_train_batch_size`、"
        "`gradient_accumulation_steps`(GRPO 每步的 prompt 数为 进程数 x 批大小 x 累积 / `num_generations`)或进程数。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{rows} rows are fewer than the {prompts} prompts of one generation batch",
        "TRL drops incomplete batches, so the run ends at once without training and without an error.",
        "Lower `per_device_train_batch_size` or the gradient accumulation, or use more prompts.",
    ),
    zh=Words(
        "数据集只有 {rows} 行,少于一个生成批次所需的 {prompts} 个 prompt",
        "TRL 会丢弃不完整的批次,因此训练会立即结束,既没有训练也没有报错。",
        "降低 `per_device_train_batch_size` 或梯度累积,或使用更多 prompt。",
    ),
)


@check(PROBLEM)
def dataset_smaller_than_batch(
    training: Training, world: World, packages: Packages, dataset: Dataset, script: Script | None
) -> Judgement:
    """Compare the rows with the prompts of a generation batch."""
    if not is_grpo(training) or dataset.rows is None or training.dataset_processed or unsloth_replaces(script):
        return
    batch = train_batch(training, world, installed(packages, "trl"))
    if isinstance(batch, str):
        yield Skip(batch)
        return
    prompts = batch.completions // max(1, batch.generations)
    if 0 < dataset.rows < prompts:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=dataset.path),
            evidence=(Evidence("batch rule", f"{batch.sum}, {batch.generations} for each prompt"),),
            confidence=LIKELY,
            rows=dataset.rows,
            prompts=prompts,
        )
