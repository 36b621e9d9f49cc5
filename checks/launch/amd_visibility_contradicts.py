"""The variables that choose AMD GPUs contradict each other.

## What it means
ROCR_VISIBLE_DEVICES works below HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES: the numbers of the upper ones count what
the lower one left. Ray, veRL and vLLM set the upper ones for their workers and refuse a second opinion.
## What it does to a run
The run ends before the first GPU is used.
## What to do
One variable only.
## How it is found
In a log, by the errors of Ray, veRL and vLLM.
## References
https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
https://github.com/lumi-ai-factory/laifs-container-recipes/issues/6
https://github.com/verl-project/verl/blob/main/verl/single_controller/base/worker.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH042", name="amd-visibility-contradicts", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Please don't set (?P<variable>ROCR_VISIBLE_DEVICES) when HIP/CUDA_VISIBLE_DEVICES is set",
    ),
    Signature(
        r"Please use \w{3,20}_VISIBLE_DEVICES instead of (?P<variable>ROCR_VISIBLE_DEVICES)",
    ),
    Signature(
        r"Please use the same (?P<variable>HIP_VISIBLE_DEVICES) or CUDA_VISIBLE_DEVICES, inconsis?ta"
        r"nt values found",
    ),
    Signature(
        r"Inconsist[ea]nt values found\. Please use either (?P<variable>HIP_VISIBLE_DEVICES) or CUDA_VISIBLE_DEVICES",
    ),
    Signature(
        r"Inconsistent GPU visibility env vars: (?P<variable>HIP_VISIBLE_DEVICES)='[^'\n]{0,80}' vs "
        r"CUDA_VISIBLE_DEVICES=",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "`{variable}` contradicts the variable by which the framework hands out AMD GPUs",
        "Slurm sets ROCR_VISIBLE_DEVICES on AMD nodes, scripts set CUDA_VISIBLE_DEVICES or "
        "HIP_VISIBLE_DEVICES, and the framework gives each worker its card by one of the latter two. With two"
        " layers of numbers a worker would see the wrong card or none.",
        "Keep one: in the job script, before `ray start` and the training, `export "
        "HIP_VISIBLE_DEVICES=${{ROCR_VISIBLE_DEVICES:-0,1,2,3,4,5,6,7}}; unset ROCR_VISIBLE_DEVICES "
        "CUDA_VISIBLE_DEVICES`.",
    ),
    zh=Words(
        "`{variable}` 与框架分配 AMD GPU 所用的变量冲突",
        "Slurm 在 AMD 节点上设置 ROCR_VISIBLE_DEVICES,脚本设置 HIP_VISIBLE_DEVICES 或 CUDA_VISIBLE_DE"
        "VICES,而框架用后两者之一为每个 worker 指定 GPU。两层编号叠加会让 worker 看到错误的卡或看不到"
        "卡。",
        "只保留一个:在作业脚本中、`ray start` 与训练之前执行 `export HIP_VISIBLE_DEVICES=${{ROCR_VISI"
        "BLE_DEVICES:-0,1,2,3,4,5,6,7}}; unset ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES`。",
    ),
)

LOG_COMMANDS = ("unset ROCR_VISIBLE_DEVICES",)
