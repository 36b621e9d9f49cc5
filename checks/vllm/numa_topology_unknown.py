"""vLLM was asked to bind to NUMA nodes and cannot tell which node a GPU belongs to.

## What it means
`--numa-bind` without nodes asks NVML and the CPUs that the process may use. Where the job holds only some of the
CPUs (a Slurm step, a container's cpuset), or the platform does not tell, nothing is found.
## What it does to a run
The server ends before it loads a model.
## What to do
Name the nodes, give the job all CPUs, or leave the binding off.
## How it is found
In a log, by vLLM's exception.
## References
https://docs.vllm.ai/en/stable/api/vllm/utils/numa_utils/
https://github.com/vllm-project/vllm/pull/38635
https://slurm.schedmd.com/srun.html#OPT_cpu-bind
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL095", name="numa-topology-unknown", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"NUMA binding was requested, but vLLM could not detect the GPU-to-NUMA topology"),)

LOG_MESSAGE = Message(
    en=Words(
        "`--numa-bind` was given, and vLLM finds no NUMA node for a GPU",
        "It asks the driver and the CPUs that this process may use. A Slurm step or a container that holds only some "
        "of the CPUs hides the node, and some platforms do not tell it.",
        "See the nodes with `nvidia-smi topo -m` and name one for each GPU with `--numa-bind-nodes`, or leave "
        "`--numa-bind` out. Under Slurm start the step with all CPUs of the node (`srun --cpu-bind=none` in an "
        "exclusive job).",
    ),
    zh=Words(
        "给出了 `--numa-bind`,而 vLLM 找不到某个 GPU 所属的 NUMA 节点",
        "它询问驱动以及本进程可用的 CPU。只持有部分 CPU 的 Slurm 步骤或容器会使节点不可见,有些平台也不提供该信息。",
        "用 `nvidia-smi topo -m` 查看节点,并用 `--numa-bind-nodes` 为每个 GPU 指定一个,或去掉 `--numa-bind`。在 Slurm "
        "下以节点的全部 CPU 启动步骤(独占作业中 `srun --cpu-bind=none`)。",
    ),
)

LOG_CONFIDENCE = CONFIRMED
