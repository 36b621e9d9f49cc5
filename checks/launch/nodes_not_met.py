"""torchrun met its rendezvous, and the launchers of other nodes did not answer afterwards.

## What it means
After the rendezvous every launcher writes into the common store which processes it will start, and waits for all the
others to do so. One of them never came: it was not started, ended, or counts nodes and places otherwise.
## What it does to a run
The launcher ends after its time-out (15 minutes or 5) before a single worker has started.
## What to do
Start all nodes with the same arguments, apart from their own rank.
## How it is found
In a log: by the store's time-out inside of torchrun's assignment of ranks.
## References
https://github.com/modelscope/ms-swift/issues/3343
https://github.com/huggingface/accelerate/issues/1645
https://github.com/pytorch/pytorch/blob/v2.5.0/torch/distributed/elastic/agent/server/api.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH053", name="nodes-not-met", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:DistStoreError|RuntimeError): wait timeout after \d{1,9} ?ms, keys: \S{0,200}torchelastic/role_info/"
    ),
    Signature(
        r"^(?:[\w.]{0,40}\.)?(?:DistStoreError|RuntimeError): Socket Timeout$",
        frame=r"elastic[\\/]agent[\\/]server[\\/]api\.py:(?:_assign_worker_ranks|_share_and_gather)$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "torchrun on this node waited for the launchers of other nodes, which did not come",
        "The store itself was reached. A node was not started or ended at once, two were given the same "
        "`--node_rank`, `--nnodes` or the run's id differ between them, or one lost its way to the port again.",
        "Look at the launcher's output on every node for an earlier error, and compare what was started: `--nnodes`, "
        "`--nproc_per_node`, master address and port equal everywhere, `--node_rank` from 0 to N-1 once each "
        "(platforms export RANK and WORLD_SIZE for nodes or for processes). Start all within the time-out; with "
        "different numbers of GPUs a node use `--rdzv_backend c10d`.",
    ),
    zh=Words(
        "本节点的 torchrun 一直等待其他节点的启动器,而它们没有出现",
        "存储(store)本身可以连上。某个节点没有启动或立即退出,两个节点得到同一个 `--node_rank`,`--nnodes` 或运行 id "
        "不一致,或某个节点随后又连不上该端口。",
        "查看每个节点上启动器的输出,找更早的错误,并比较启动命令:`--nnodes`、`--nproc_per_node`、主节点地址和端口处处相"
        "同,`--node_rank` 从 0 到 N-1 各一次(平台导出的 RANK、WORLD_SIZE 有的指节点,有的指进程)。在超时之前启动所有节"
        "点;各节点 GPU 数不同时使用 `--rdzv_backend c10d`。",
    ),
)

LOG_CONFIDENCE = LIKELY
