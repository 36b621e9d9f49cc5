"""The rendezvous endpoint of torchrun is not HOST:PORT.

## What it means
`--rdzv-endpoint`, or the pair `--master-addr` and `--master-port`, names where the nodes meet. A variable that is empty
or holds several hosts makes it no address.
## What it does to a run
torchrun ends before it starts a process.
## What to do
Correct the address.
## How it is found
In a log, by torchrun's error.
## References
https://pytorch.org/docs/stable/elastic/run.html
https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/rendezvous/utils.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH047", name="rendezvous-endpoint-malformed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The (?P<part>port number|hostname) of the rendezvous endpoint '(?P<endpoint>[^'\n]{0,200})"
        r"' must be",
    ),
    Signature(
        r"ValueError: (?P<part>Port) is absent in endpoint: (?P<endpoint>[^\n]{0,120}?)\. Try launch"
        r"ing with --master",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "the rendezvous endpoint `{endpoint}` is no HOST:PORT",
        "Most often it is put together from shell variables, and one was empty on this node (the job script "
        "exports it on the first node only), or holds the whole list of nodes instead of the first one.",
        "Print the command with `set -x`. Under Slurm: `MASTER_ADDR=$(scontrol show hostnames "
        '"$SLURM_JOB_NODELIST" | head -n1)`, exported before `srun`; then '
        "`--rdzv-endpoint=$MASTER_ADDR:29500`. On a single machine use `--standalone` and no endpoint.",
    ),
    zh=Words(
        "rendezvous 端点 `{endpoint}` 不是 HOST:PORT",
        "该端点多由 shell 变量拼成,而其中之一在此节点上为空(作业脚本只在第一个节点导出),或者包含的是"
        "全部节点列表而不是第一个节点。",
        '用 `set -x` 打印命令。在 Slurm 下:`MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head '
        "-n1)`,在 `srun` 之前导出;然后 `--rdzv-endpoint=$MASTER_ADDR:29500`。单机使用 `--standalon"
        "e`,不写端点。",
    ),
)
