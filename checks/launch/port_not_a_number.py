"""A number of the rendezvous or of torchrun is none: MASTER_PORT, RANK, WORLD_SIZE, or the processes per node.

## What it means
`torch.distributed` reads rank, size and port from the environment and converts them. A variable of a job script that
was not filled (`$PORT` written out), a name in its place, or a service variable of Kubernetes (`tcp://...`) is none.
## What it does to a run
The process group is not built: ValueError at start, on every process.
## What to do
Set the variable to a number.
## How it is found
In a log: by the ValueError of the conversion, raised in torch's rendezvous.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/distributed/rendezvous.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="LCH050", name="port-not-a-number", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        r"^ValueError: invalid literal for int\(\) with base 10: '(?P<value>[^'\n]{0,120})'",
        r"[\\/]torch[\\/]distributed[\\/]rendezvous\.py:|[\\/]accelerate[\\/]state\.py:",
        Message(
            en=Words(
                "`MASTER_PORT`, `RANK` or `WORLD_SIZE` is `{value}`, which is no number",
                "torch reads rank, size and port of the rendezvous from the environment; this one was not filled by "
                "the job script, holds a name, or is an address that Kubernetes sets for a service.",
                "See them: `env | grep -E 'MASTER|RANK|WORLD|PORT'`. Set numbers: `export MASTER_PORT=29500`, and "
                "start with torchrun or `accelerate launch`, which set rank and size themselves; in Kubernetes "
                "choose another variable name or `enableServiceLinks: false`.",
            ),
            zh=Words(
                "`MASTER_PORT`、`RANK` 或 `WORLD_SIZE` 的值是 `{value}`,不是数字",
                "torch 从环境变量读取会合所用的编号、规模和端口;该变量没有被作业脚本填好、写的是名称,或是 "
                "Kubernetes 为服务设置的地址。",
                "查看:`env | grep -E 'MASTER|RANK|WORLD|PORT'`。设为数字:`export MASTER_PORT=29500`,并用 torchrun 或"
                " `accelerate launch` 启动,它们会自行设置编号与规模;在 Kubernetes 中换一个变量名,或设 "
                "`enableServiceLinks: false`。",
            ),
        ),
    ),
    (
        (
            r"^ValueError: (?:Unsupported nproc_per_node value: (?P<value>[^\s]{1,60})|Cuda is not ava"
            r"ilable\.)"
        ),
        r"[\\/]torch[\\/]distributed[\\/]run\.py:determine_local_world_size",
        Message(
            en=Words(
                "torchrun cannot tell how many processes `--nproc_per_node` asks for",
                "It takes a number, `gpu`, `cpu` or `auto`; `gpu` counts the GPUs that torch sees, and here it sees "
                "none (a CPU build, a driver that is missing, an empty CUDA_VISIBLE_DEVICES, a login node), or the "
                "word is another one.",
                "Give the number: `--nproc_per_node=8`. If there should be GPUs: `nvidia-smi` and `python -c "
                '"import torch; print(torch.cuda.device_count(), torch.version.cuda)"` on this very node.',
            ),
            zh=Words(
                "torchrun 无法确定 `--nproc_per_node` 要启动多少进程",
                "它接受数字、`gpu`、`cpu` 或 `auto`;`gpu` 统计 torch 能看到的 GPU,而这里一个也看不到(CPU 版 torch、"
                "缺少驱动、CUDA_VISIBLE_DEVICES 为空、登录节点),或写的是别的词。",
                '写出数字:`--nproc_per_node=8`。若应有 GPU:在该节点执行 `nvidia-smi` 和 `python -c "import torch; '
                'print(torch.cuda.device_count(), torch.version.cuda)"`。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)
