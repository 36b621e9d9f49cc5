"""FSDP is to run where no accelerator is, or where Accelerate did not turn to it.

## What it means
FSDP shards over the accelerators of a process group: torch's own wrapper and Lightning's strategy refuse the CPU, and
Accelerate keeps FSDP's settings only when the process was started as one of a distributed run on GPUs or NPUs.
## What it does to a run
The model is not wrapped, or the first use of FSDP's settings raises AttributeError.
## What to do
Start on GPUs through a launcher, or take FSDP out for a try on the CPU.
## How it is found
In a log: by the messages of torch and Lightning, and by the attribute that Accelerate's state lacks.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/distributed/fsdp/_init_utils.py
https://github.com/huggingface/accelerate/blob/v1.12.0/src/accelerate/state.py
https://github.com/Lightning-AI/pytorch-lightning/issues/21778
https://github.com/Lightning-AI/pytorch-lightning/issues/21812
https://github.com/huggingface/accelerate/issues/1893
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="FSD021", name="fsdp-needs-gpu", severity=ERROR, since="0.1")

NO_DEVICE = Message(
    en=Words(
        "FSDP was asked for, and this process has no accelerator",
        "FSDP takes the device from the parameters, or the accelerator of torch, and there is none: a torch built for "
        "the CPU, no GPU in the job or container, hidden ones (`CUDA_VISIBLE_DEVICES`), or a trainer set to the CPU.",
        "`python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'` in the job: with `False` mend "
        "that first. For a try on the CPU use DDP or one process, or in own code `FSDP(model, "
        'device_id=torch.device("cpu"))` with the backend gloo.',
    ),
    zh=Words(
        "要使用 FSDP,但该进程没有加速卡",
        "FSDP 从参数所在设备或 torch 的加速卡取得设备,这里没有:torch 是 CPU 版,作业或容器中没有 GPU,GPU "
        "被隐藏(`CUDA_VISIBLE_DEVICES`),或训练器设置为 CPU。",
        "在作业中执行 `python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'`:若为 `False` "
        "先解决它。只想在 CPU 上试运行时用 DDP 或单进程,或在自己的代码中 `FSDP(model, "
        'device_id=torch.device("cpu"))` 并使用 gloo 后端。',
    ),
)
NOT_CHOSEN = Message(
    en=Words(
        "Accelerate is not in its FSDP mode, and code asks for FSDP's settings",
        "The state holds them only when the processes were started as a distributed run (more than one process, on "
        "GPUs or NPUs) with FSDP chosen. A plain `python`, a notebook, one process, a CPU, or another configuration "
        "file than meant leaves it at DDP or none.",
        "Start with `accelerate launch --config_file fsdp.yaml --num_processes N train.py` (`distributed_type: FSDP`), "
        "and see what it took: `accelerate env`, `print(accelerator.state)`. For a single process leave FSDP out. In "
        "own code ask first: `if accelerator.distributed_type == DistributedType.FSDP:`.",
    ),
    zh=Words(
        "Accelerate 没有处于 FSDP 模式,而代码要读取 FSDP 设置",
        "只有以分布式方式启动(多于一个进程,在 GPU 或 NPU 上)且选择了 FSDP 时,state 中才有这些设置。直接用 "
        "`python`、notebook、单进程、CPU,或用了另一个配置文件时,仍是 DDP 或无分布式。",
        "用 `accelerate launch --config_file fsdp.yaml --num_processes N train.py`(`distributed_type: FSDP`)启动,并"
        "查看实际采用的设置:`accelerate env`、`print(accelerator.state)`。单进程时去掉 FSDP。自己的代码先判断:`if "
        "accelerator.distributed_type == DistributedType.FSDP:`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"RuntimeError: FSDP needs a non-CPU accelerator device, but no accelerator device is detected|"
            r"ValueError: The strategy `fsdp` requires a GPU accelerator",
            keywords=("FSDP needs a non-CPU accelerator device", "requires a GPU accelerator"),
            symptom_of=("TOR003", "TOR015", "CUD", "GPU", "LCH"),
        ),
        NO_DEVICE,
        CONFIRMED,
    ),
    (
        Signature(r"AttributeError: '?`?AcceleratorState'?`? object has no attribute '?`?fsdp_plugin"),
        NOT_CHOSEN,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for."""
    return finding_of_signature(PROBLEM, CASES, hits)
