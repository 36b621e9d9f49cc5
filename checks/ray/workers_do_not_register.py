"""Ray's workers do not register in time.

## What it means
Ray starts one worker per CPU that it sees at once. Where Slurm or a container allots fewer, they starve each other.
## What it does to a run
ray.init seems to hang, with no error.
## What to do
Tell Ray the number of CPUs.
## How it is found
The raylet's message.
## References
https://docs.ray.io/en/latest/cluster/vms/user-guides/community/slurm.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY007", name="ray-workers-do-not-register", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Some workers of the worker process(?:\(\d{1,10}\)| \d{1,10}) have not registered within"
        r" the timeout",
    ),
    Signature(r"Failed to register worker (?:\w{1,80} )?to Raylet"),
)

LOG_MESSAGE = Message(
    en=Words(
        "worker processes of Ray did not start in time or could not register with the raylet",
        "Ray starts one worker per CPU that it sees, all at once. Under Slurm or in a container it "
        "sees every core of the node, while the job is allotted a few, so hundreds of workers starve "
        "on those cores. A very slow file system for the environment, a raylet that ended (raylet.out and "
        "raylet.err in the session folder), or another version of Ray there has the same effect.",
        "Tell Ray what is allotted: `ray.init(num_cpus=...)` with `$SLURM_CPUS_PER_TASK`, `ray start "
        "--num-cpus`, in veRL `ray_kwargs.ray_init.num_cpus=$SLURM_CPUS_PER_TASK` (older: "
        "`ray_init.num_cpus`). Keep the environment on a local disk; "
        "`RAY_worker_register_timeout_seconds=600` gives more time.",
    ),
    zh=Words(
        "Ray 工作进程未能及时启动,或无法向 raylet 注册",
        "Ray 会按其看到的每个 CPU 同时启动一个工作进程。在 Slurm 或容器中它看到整个节点的核,而作业只"
        "分到少数几个,于是数百个进程争抢。环境所在文件系统过慢、raylet 已退出(见会话目录的 raylet.out 与 "
        "raylet.err)或其 Ray 版本不同也会如此。",
        "告诉 Ray 实际分配的数量:`ray.init(num_cpus=...)` 使用 `$SLURM_CPUS_PER_TASK`、`ray start "
        "--num-cpus`,veRL 中 `ray_kwargs.ray_init.num_cpus=$SLURM_CPUS_PER_TASK`(旧版 "
        "`ray_init.num_cpus`)。环境放在本地盘;`RAY_worker_register_timeout_seconds=600` 可延长等待。",
    ),
)
LOG_CONFIDENCE = LIKELY
