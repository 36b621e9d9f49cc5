"""Explorer and trainer of Trinity-RFT did not meet for the transfer of weights.

## What it means
With `sync_method: nccl` both sides enter one process group (`rollout_weight_sync`) at the same step and wait
there for each other. One that is still in a rollout, ended, or sits behind another network leaves the other one
waiting.
## What it does to a run
The run stops at a step of synchronization until a time-out ends it, or goes on with old weights.
## What to do
Look at the side that did not come, or transfer by checkpoint.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/agentscope-ai/Trinity-RFT/issues/283
https://github.com/agentscope-ai/Trinity-RFT/issues/352
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRI012", name="trinity-weight-sync-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"PG (?:ID \d{1,6} PG )?GUID (?:\d{1,4}\()?rollout_weight_sync",
        symptom_of=("MEM", "TOR", "CUD", "HST"),
    ),
    Signature(
        r"Trainer synchronizing weights failed",
        symptom_of=("MEM", "TOR", "CUD", "HST"),
    ),
    Signature(
        r"NCCL weight sync failed \(Explorer may have exited\)",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "explorer and trainer did not meet to synchronize the weights",
        "Both sides must enter the group `rollout_weight_sync` at the same step. One came and waited; "
        "the other was still in rollouts or in training, had ended with an error of its own, or cannot "
        "reach it over the chosen network interface.",
        "Look for the first error of the other side (explorer.log and trainer.log under the checkpoint "
        "folder). Raise `synchronizer.sync_timeout`, lower `explorer.max_timeout` and the rollouts per "
        "step, or keep the steps together with `sync_interval` and `sync_offset`. If the link itself is "
        "the trouble set NCCL_SOCKET_IFNAME and `NCCL_CUMEM_ENABLE=0` on both sides, or use "
        "`synchronizer.sync_method: checkpoint` (or `memory`).",
    ),
    zh=Words(
        "explorer 与 trainer 没有在权重同步时会合",
        "两端必须在同一步进入 `rollout_weight_sync` 进程组。一端已到并在等待,另一端仍在 rollout 或训练中"
        "、已因自身错误退出,或无法经所选网卡到达。",
        "在另一端查找最先出现的错误(检查点目录下的 explorer.log 与 trainer.log)。提高 "
        "`synchronizer.sync_timeout`,降低 `explorer.max_timeout` 与每步 rollout 数,或用 `sync_interval`、"
        "`sync_offset` 让两端步调一致。若是链路问题,在两端设置 NCCL_SOCKET_IFNAME 与 "
        "`NCCL_CUMEM_ENABLE=0`,或改用 `synchronizer.sync_method: checkpoint`(或 `memory`)。",
    ),
)

LOG_CONFIDENCE = LIKELY
