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
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="DAT012", name="dataset-smaller-than-batch", severity=ERROR, since="0.1", affects={"trl": ">=0.17"}
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
