"""A rank waited for a collective until the watchdog ended it; the one that is to blame is another rank.

## What it means
The rank that prints the time-out reached the collective and waited. At least one other rank never came: it failed,
hangs, still computes (a long reward function, tokenization, checkpoint or graph capture on one rank), or takes part in
another collective.
## What it does to a run
After the time-out (10 minutes for NCCL by default) torch ends the process, because its data can no longer be trusted.
## What to do
Look for the first failure among the ranks that do not print the time-out. Where a slow phase on one rank is meant to be
slow, raise the time-out; where ranks disagree, find out with the flight recorder which collective each waited for.
## How it is found
The message of torch's NCCL watchdog or of gloo.
## References
https://pytorch.org/docs/stable/distributed.html
https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.ddp_timeout
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC011", name="collective-timed-out", severity=ERROR, since="0.1")

LOG_MESSAGE = Message(
    en=Words(
        "{who} waited {seconds} s for `{operation}` in vain",
        "A rank that reports a time-out is one that came to the collective; the culprit is a rank that did not. "
        "{absent}"
        "It failed before, hangs, or was still busy with something slow that the others do not do, such as "
        "tokenization, a "
        "reward function, loading or a checkpoint on one rank.",
        "Look for the first failure in the logs of the other ranks. If one rank is only slow, prepare that work "
        "beforehand "
        "or raise the time-out (`ddp_timeout`, `InitProcessGroupKwargs(timeout=...)`, "
        "`init_process_group(timeout=...)`). "
        "If it hangs, set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1` and take "
        "`py-spy dump` of every rank.",
    ),
    zh=Words(
        "{who_zh} 等待 `{operation}` {seconds} 秒未果",
        "报告超时的 rank 是已到达集合通信的一方;问题出在没有到达的 rank。{absent_zh}它可能先行失败、挂起,"
        "或仍在做其他 rank 不做的慢操作,例如某个 rank 上的分词、奖励函数、加载或保存检查点。",
        "在其他 rank 的日志中查找最先的失败。若只是某个 rank 慢,请提前完成该工作,或增大超时"
        "(`ddp_timeout`、`InitProcessGroupKwargs(timeout=...)`、`init_process_group(timeout=...)`)。若挂起,设置 "
        "`TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1`,并对每个 rank 执行 `py-spy dump`。",
    ),
)

SIGNATURES = (
    Signature(
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d{1,12}, OpType=(?P<operation>\w{1,60})"
        r"[^\n]{0,200}?Timeout\(ms\)=(?P<ms>\d{1,10})\)",
        symptom_of=("*",),
    ),
    Signature(
        r"Timed out waiting (?P<ms>\d{1,10}) ?ms for (?P<operation>recv|send) operation to complete", symptom_of=("*",)
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name who waited, for how long, and who is missing where the size of the world is known."""
    ranks = ", ".join(str(each) for each in hits.ranks)
    missing = sorted(set(range(hits.world_size or 0)) - set(hits.ranks)) if hits.ranks else []
    names = ", ".join(str(each) for each in missing[:8])
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        who=f"rank {ranks}" if ranks else "a rank", who_zh=f"rank {ranks}" if ranks else "某个 rank",
        seconds=f"{int(hits.get('ms') or 0) / 1000:g}", operation=hits.get("operation"),
        absent=f"No word of it from rank "
            f"{names}. " if names else "", absent_zh=f"rank {names} 没有相关输出。" if names else "",
    )  # fmt: skip
