"""Ranks waited for the first one, which sets the NCCL group up, and it did not come.

## What it means
The first rank of a group makes the NCCL id and puts it into the store; the others wait there. When it is busy with
something long, or has died, their wait ends.
## What it does to a run
All ranks end, those that waited with an error about a store key.
## What to do
Look at the first rank: let it not be late, give more time, or mend what ended it.
## How it is found
In a log: by torch's message about ncclUniqueId.
## References
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
https://github.com/SpongebBob/Finetune-ChatGLM2-6B/issues/13
https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="NCC035", name="first-rank-late", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"retrieving ncclUniqueId from \[(?P<first>\d{1,6})\] via c10d key-value store by key [^\n]{1,200}"
            r"error: (?P<why>Socket Timeout|[Ww]ait timeout|[Tt]imeout)"
        ),
        Message(
            en=Words(
                "the ranks waited in vain for rank {first}, which sets up the NCCL group: time-out",
                "Rank {first} has to hand out the group's id and did not within the time-out. Usually it still "
                "works on something that the others skip: tokenizing or downloading the dataset "
                "(`main_process_first`), building a cache, loading a model, saving. Else it has failed or "
                "hangs: then the cause stands in its own log.",
                "Look at what rank {first} printed last. If it was busy: prepare the dataset beforehand in a "
                "run of its own (same cache folder, or `save_to_disk`), use `num_proc`, and give more time: "
                "`ddp_timeout=7200` in TrainingArguments, "
                "`torch.distributed.init_process_group(timeout=timedelta(hours=2))`, for DeepSpeed "
                "`deepspeed.init_distributed(timeout=...)`. If it failed, mend that first.",
            ),
            zh=Words(
                "各 rank 等待负责建立 NCCL 组的 rank {first},直到超时",
                "rank {first} 需要发放该组的 id,但没有在时限内完成。通常它还在做其他 rank 不做的事:分词或下载数"
                "据集(`main_process_first`)、构建缓存、加载模型、保存。否则它已失败或挂起,原因在它自己的日志中"
                "。",
                "查看 rank {first} 最后打印的内容。若它在忙:事先单独准备数据集(同一缓存目录,或 `save_to_disk`),"
                "使用 `num_proc`,并放宽时限:TrainingArguments 的 "
                "`ddp_timeout=7200`,`torch.distributed.init_process_group(timeout=timedelta(hours=2))`,DeepSpeed "
                "为 `deepspeed.init_distributed(timeout=...)`。若它已失败,先修复它。",
            ),
        ),
    ),
    (
        (
            r"retrieving ncclUniqueId from \[(?P<first>\d{1,6})\] via c10d key-value store by key [^\n]{1,200}"
            r"error: (?P<why>(?![Ww]ait|[Tt]imeout|Socket Timeout)[^\n.]{3,80})"
        ),
        Message(
            en=Words(
                "rank {first}, which sets up the NCCL group, went away while the others waited for it",
                "The connection to the store that rank {first} keeps broke: that process ended, or the network "
                "between the nodes dropped it. The ranks that print this only lost it.",
                "Read the log of rank {first} (on the first node) for its own error or a kill (`dmesg -T | "
                "grep -i 'killed process'`), and mend that. If nothing stands there, look at the network "
                "between the nodes and the firewall, and at MASTER_ADDR and MASTER_PORT.",
            ),
            zh=Words(
                "负责建立 NCCL 组的 rank {first} 在其他 rank 等待时消失",
                "与 rank {first} 所持存储的连接中断:该进程已结束,或节点间网络断开。打印此信息的 rank 只是失去了它。",
                "查看 rank {first}(位于第一个节点)的日志中它自己的错误或被杀记录(`dmesg -T | grep -i 'killed "
                "process'`)并修复。若没有,检查节点间网络与防火墙,以及 MASTER_ADDR、MASTER_PORT。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, symptom_of=("*",)) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
