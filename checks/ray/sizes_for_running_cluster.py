"""ray.init gives sizes for a cluster that runs already.

## What it means
`num_cpus`, `num_gpus`, `resources` and `object_store_memory` describe a cluster that `ray.init` starts itself. One that
runs (`ray start`, RAY_ADDRESS, a job of `ray job submit`) has its sizes from its own start.
## What it does to a run
The call raises and the run ends.
## What to do
Leave the sizes out, or start no cluster before.
## How it is found
In a log, by Ray's error.
## References
https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html
https://docs.ray.io/en/latest/ray-core/starting-ray.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY026", name="sizes-for-running-cluster", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: When connecting to an existing cluster, (?P<options>[\w, ]{3,80}?) must not be"
        r" provided",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "`ray.init` was given {options} for a cluster that runs already",
        "Sizes belong to the command that starts a node. The cluster was found by `RAY_ADDRESS`, by "
        '`address="auto"`, or because one of an earlier run still runs on this machine.',
        "Remove these arguments and give them to `ray start` on each node (`--num-gpus`, `--num-cpus`). If a cluster "
        "of the run's own was meant, and nothing else runs on the old one: `ray stop --force`, `unset RAY_ADDRESS`, "
        "and start again (veRL: `ray_kwargs.ray_init.num_cpus=null`, `ray_init.num_cpus=null` in older releases, under "
        "an existing cluster).",
    ),
    zh=Words(
        "为已在运行的集群向 `ray.init` 传了 {options}",
        '这些大小属于启动节点的命令。该集群由 `RAY_ADDRESS` 或 `address="auto"` 得到,或是先前运行遗留在本机的集群。',
        "去掉这些参数,改在各节点的 `ray start` 上给出(`--num-gpus`、`--num-cpus`)。若本想使用自己的集群,且旧集群上没有"
        "其他任务:`ray stop --force`,`unset RAY_ADDRESS`,然后重新启动(veRL 在已有集群下设置 "
        "`ray_kwargs.ray_init.num_cpus=null`,较旧版本为 `ray_init.num_cpus=null`)。",
    ),
)
