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
https://github.com/verl-project/verl/pull/2524
https://github.com/PRIME-RL/SimpleVLA-RL/issues/32
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL017", name="verl-uneven-chunks", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"only support equal (?:chunk|(?P<micro>split))\. Got size of DataProto (?P<size>\d{1,9}) and chunk"
        r" (?P<chunks>\d{1,6})",
    ),
    Signature(
        r"AssertionError: key (?P<field>\w{1,80}) length (?P<arrays>\d{1,9}) is not equal to "
        r"batch size (?P<tensors>\d{1,9})",
        frame=r"protocol\.py:",
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
MICRO = Message(
    en=Words(
        "a batch of {size} samples does not divide into micro batches of {chunks}",
        "Each process cuts its share of the batch into micro batches of equal size, and releases of about mid-2025 "
        "take no smaller last one. The share is the batch (times `rollout.n`) divided by the GPUs, or what a filter "
        "or a multi-turn rollout left of it.",
        "Choose a micro batch that divides the share (`actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu`, "
        "`actor.ppo_micro_batch_size_per_gpu`), or let tokens decide (`actor.use_dynamic_bsz=True`, "
        "`rollout.log_prob_use_dynamic_bsz=True`). Where the number of samples changes from step to step, pad the "
        "batch before the call or take another release.",
    ),
    zh=Words(
        "{size} 个样本的批次不能切成大小为 {chunks} 的 micro batch",
        "每个进程把自己的一份批次切成等大的 micro batch,2025 年年中前后的版本不接受较小的最后一份。这一份是批次(乘以 "
        "`rollout.n`)除以 GPU 数,或过滤、多轮 rollout 之后所剩。",
        "选择能整除该份额的 micro batch(`actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu`、"
        "`actor.ppo_micro_batch_size_per_gpu`),或按 token 数切分(`actor.use_dynamic_bsz=True`、"
        "`rollout.log_prob_use_dynamic_bsz=True`)。若样本数逐步变化,请在调用前补齐批次,或换用其他版本。",
    ),
)

UNLIKE = Message(
    en=Words(
        "`{field}` has {arrays} rows where the batch's tensors have {tensors}",
        "A batch of veRL holds tensors and arrays, and all of them must have one number of rows. They part where "
        "a batch is cut into pieces and does not divide (older releases cut the two kinds in different ways), or where "
        "code of your own added, dropped or repeated rows of one kind only.",
        "Make the batch (`data.train_batch_size` times `rollout.n`, the validation batch) a multiple of all GPUs of "
        "all nodes. In code of your own treat both kinds alike: index the whole `DataProto`, or give `{field}` one "
        "entry for each row.",
    ),
    zh=Words(
        "`{field}` 有 {arrays} 行,而该批次的张量有 {tensors} 行",
        "veRL 的批次同时含有张量与数组,行数必须一致。批次被切分而不能整除时(旧版对两者的切法不同),或自己的代码只对其中"
        "一种增加、丢弃或重复了行时,两者就会不一致。",
        "使批次(`data.train_batch_size` 乘以 `rollout.n`、验证批次)成为所有节点 GPU 总数的整数倍。自己的代码对两者要一"
        "致处理:对整个 `DataProto` 取索引,或让 `{field}` 每行一项。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both numbers where told."""
    size = hits.get("size")
    if hits.get("field"):
        return found(
            PROBLEM, UNLIKE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            field=hits.get("field"), arrays=hits.get("arrays"), tensors=hits.get("tensors"),
        )  # fmt: skip
    if hits.get("micro"):
        return found(PROBLEM, MICRO, where=hits.where(), evidence=hits.evidence(), size=size, chunks=hits.get("chunks"))
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
