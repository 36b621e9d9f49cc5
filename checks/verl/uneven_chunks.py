"""A batch of veRL does not divide by the processes it is sent to.

## What it means
veRL sends each worker an equal share of every batch: training (batch size times `rollout.n`), validation,
generation and the last batch of a data set. Micro batches are cut out of such a share the same way.
## What it does to a run
The step (or the validation, or the end of the epoch) fails with an assertion.
## What to do
Batch sizes that are multiples of GPUs times nodes.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/verl-project/verl/issues/473
https://github.com/hiyouga/EasyR1/issues/44
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL017", name="verl-uneven-chunks", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"only support equal chunk\. Got size of DataProto (?P<size>\d{1,9}) and chunk"
        r" (?P<chunks>\d{1,6})",
    ),
    Signature(
        r"len\(batch_lst\) \((?P<got>\d{1,9})\) != chunks \((?P<chunks>\d{1,6})\)",
    ),
    Signature(
        r"number of items:\[(?P<size>\d{1,9})\] < k_partitions:\[(?P<chunks>\d{1,6})\]",
    ),
    Signature(
        r"Size of DataProto (?P<size>\d{1,9}) (?:is|must be|should be) [^\n]{0,40}divisible by"
        r" (?:chunks? |size_divisor )?\(?(?P<chunks>\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a batch{size} was to be split evenly over {chunks} processes and does not divide",
        "veRL gives every worker the same share. The number of samples (`data.train_batch_size` times "
        "`rollout.n`, the validation batch, what a filter or an agent loop left over, or the last batch "
        "of the data set) is no multiple of {chunks}: the GPUs (`trainer.n_gpus_per_node` times "
        "`trainer.nnodes`) or micro batches.",
        "Set `data.train_batch_size` (and `ppo_mini_batch_size`, `data.val_batch_size`, the batch of a "
        "generation script) to a multiple of the number of GPUs, here {chunks}; or change the number of "
        "GPUs. Where samples are filtered or multi-turn, pad before the call "
        "(`pad_dataproto_to_divisor`) or drop the rest. In EasyR1 the same holds for "
        "`rollout_batch_size` and `val_batch_size`.",
    ),
    zh=Words(
        "一个批次{size_zh}要平均分给 {chunks} 个进程,但不能整除",
        "veRL 给每个 worker 相同的份额。样本数(`data.train_batch_size` 乘以 `rollout.n`、验证批次、过滤或"
        " agent loop 之后剩下的样本,或数据集的最后一批)不是 {chunks} 的整数倍:即 GPU 数"
        "(`trainer.n_gpus_per_node` 乘以 `trainer.nnodes`)或 micro batch 数。",
        "把 `data.train_batch_size`(以及 `ppo_mini_batch_size`、`data.val_batch_size`、生成脚本的批大小)"
        "设为 GPU 数(此处 {chunks})的整数倍,或改变 GPU 数。若样本经过过滤或为多轮对话,请在调用前补齐"
        "(`pad_dataproto_to_divisor`)或丢弃多余样本。EasyR1 的 `rollout_batch_size` 与 `val_batch_size` "
        "同理。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both numbers where told."""
    size = hits.get("size")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=f" of {size} samples" if size else "",
        size_zh=f"({size} 个样本)" if size else "",
        chunks=hits.get("chunks"),
    )
