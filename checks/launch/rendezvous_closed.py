"""The meeting of torchrun's agents was closed before this one came.

## What it means
One `torchrun` of the job has ended (done, failed beyond `--max-restarts`, or killed) and closed the rendezvous for all;
an agent that comes or comes back afterwards is turned away. The same happens when a finished job's `--rdzv-id` is used
again, and to all nodes when the one that holds the store goes away.
## What it does to a run
The agent ends, and its ranks with it.
## What to do
Look at the node that ended first; give every start a new id.
## How it is found
In a log: by torchrun's error.
## References
https://github.com/pytorch/pytorch/issues/91943
https://github.com/pytorch/pytorch/issues/67742
https://docs.pytorch.org/docs/stable/elastic/rendezvous.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH037", name="rendezvous-closed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:[\w.]{1,80}\.)?RendezvousClosedError\b",
        symptom_of=(
            "MEM",
            "HST",
            "TOR",
            "PYT",
            "CUD",
            "GPU",
            "NCC",
            "HUB",
            "TRF",
            "VLL",
            "DAT",
            "CKP",
            "LCH018",
            "LCH010",
            "LCH035",
        ),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "another node's torchrun ended and closed the rendezvous; this one is turned away",
        "All agents of a job share one rendezvous. When one ends for good (its ranks failed more often "
        "than `--max-restarts`, it was killed or preempted, or it had finished), no one may join again. "
        "The store itself lives on the node of `--rdzv-endpoint`: if that agent goes, all go.",
        "Find the agent that ended first, by time, in the logs of the other nodes: what failed there is "
        "the cause. Then start all nodes anew, with another `--rdzv-id` (an id of a finished job stays "
        "closed). To survive the loss of a node: `--nnodes=MIN:MAX` and `--max-restarts`, with the store "
        "on a node that stays.",
    ),
    zh=Words(
        "另一节点的 torchrun 已结束并关闭了 rendezvous,本节点被拒绝",
        "一个作业的所有 agent 共用一个 rendezvous。其中一个彻底结束(其 rank 失败次数超过 `--max-restarts`"
        "、被杀或被抢占,或已完成)后,谁都不能再加入。store 位于 `--rdzv-endpoint` 的节点上:该 agent 一走,"
        "全部都走。",
        "按时间在其他节点的日志中找到最先结束的 agent:那里失败的就是原因。然后用新的 `--rdzv-id` 重新启动"
        "所有节点(已结束作业的 id 一直是关闭的)。若要在丢失节点时继续:使用 `--nnodes=MIN:MAX` 与 "
        "`--max-restarts`,并把 store 放在不会离开的节点上。",
    ),
)
