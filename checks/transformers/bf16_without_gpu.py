"""bf16 is on and there is no GPU.

## What it means
TRL 0.19 and newer switch bf16 on unless fp16 is set. Transformers 4.52 and newer refuse bf16 where they see
neither a GPU that supports it nor `use_cpu=True`.
## What it does to a run
The configuration raises "Your setup doesn't support bf16/gpu". Nothing is trained.
## What to do
Set `use_cpu=True` to train on the CPU (`bf16=False` beside it for fp32), or install a torch that sees the
GPU.
## How it is found
The installed torch is a CPU build, or neither driver nor PCI bus show an NVIDIA GPU; bf16 is set or TRL's
default.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.57.3/src/transformers/training_args.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/base_config.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._helpers import config_place, installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.gpus import Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRF007", name="bf16-without-gpu", severity=ERROR, since="0.1", affects={"transformers": ">=4.52"})

SIGNATURES = (Signature(r"ValueError: Your setup doesn't support bf16/gpu"),)

LOG_MESSAGE = Message(
    en=Words(
        "bf16 is on, and the process sees no GPU that supports it",
        "Either no GPU is visible (a CPU build of torch, hidden devices, a login node) or, before "
        "Transformers 4.52, the GPU is older than Ampere. TRL switches bf16 on by itself from 0.19.",
        'If there should be a GPU, check `nvidia-smi` and `python -c "import torch; '
        'print(torch.cuda.is_available(), torch.version.cuda)"`. To train on the CPU set `use_cpu=True`; '
        "on an older GPU set `bf16=False, fp16=True`.",
    ),
    zh=Words(
        "bf16 已开启,而进程看不到支持它的 GPU",
        "要么没有可见的 GPU(CPU 版 torch、设备被隐藏、登录节点),要么(Transformers 4.52 之前)GPU 早于 "
        "Ampere。TRL 自 0.19 起会自行开启 bf16。",
        '如果应有 GPU,检查 `nvidia-smi` 和 `python -c "import torch; print(torch.cuda.is_available(), '
        'torch.version.cuda)"`。在 CPU 上训练则设置 `use_cpu=True`;旧 GPU 设置 `bf16=False, fp16=True`。',
    ),
)

LOG_CONFIDENCE = LIKELY

BUILD = Message(
    en=Words(
        "bf16 is on, and the installed torch {torch} is a CPU build",
        'Transformers {version} refuses bf16 without a GPU unless `use_cpu=True` is set: "Your setup '
        "doesn't support bf16/gpu\". TRL switches bf16 on by itself from 0.19.",
        "Train on the CPU deliberately, or install a CUDA build of torch.",
    ),
    zh=Words(
        "bf16 已启用,而已安装的 torch {torch} 是 CPU 版本",
        "除非设置 `use_cpu=True`,否则 Transformers {version} 在没有 GPU 时拒绝 bf16:Your setup doesn't "
        "support bf16/gpu。TRL 自 0.19 起默认启用 bf16。",
        "明确在 CPU 上训练,或安装 CUDA 版本的 torch。",
    ),
)

MACHINE = Message(
    en=Words(
        "bf16 is on, and this machine shows no GPU",
        'Transformers {version} refuses bf16 without a GPU unless `use_cpu=True` is set: "Your setup '
        "doesn't support bf16/gpu\". TRL switches bf16 on by itself from 0.19.",
        "Train on the CPU deliberately, or start the command on a machine with a GPU.",
    ),
    zh=Words(
        "bf16 已启用,而本机没有发现 GPU",
        "除非设置 `use_cpu=True`,否则 Transformers {version} 在没有 GPU 时拒绝 bf16:Your setup doesn't "
        "support bf16/gpu。TRL 自 0.19 起默认启用 bf16。",
        "明确在 CPU 上训练,或在有 GPU 的机器上启动该命令。",
    ),
)

#: distributions that bring a device of another maker to torch
OTHER_DEVICES = {
    "torch-npu", "torch-xla", "torch-musa", "intel-extension-for-pytorch", "optimum-habana", "torch-neuronx",
}  # fmt: skip


def _wants_bf16(training: Training, trl_version: str) -> bool | None:
    """Tell whether bf16 will be on; None when it cannot be told."""
    bf16, fp16 = training.get("bf16"), training.get("fp16")
    if (bf16 is not None and not bf16.known) or (fp16 is not None and not fp16.known):
        return None
    if bf16 is not None and bf16.value is not None:
        return truth(bf16.value)
    if not training.complete:
        return None
    history = data.trl_argument(training.config_class or "", "bf16")
    by_default = history is not None and history.default_in(trl_version) == "None"
    return by_default and not (fp16 is not None and truth(fp16.value))


def _no_cuda(packages: Packages, nvidia: Nvidia | None, gpus: Gpus | None) -> str | None:
    """Say how it is known that torch has no GPU: "build" or "machine"; None when it is not."""
    build = packages.torch_build
    if build is None or build.hip or "xpu" in build.version or OTHER_DEVICES & set(packages.distributions):
        return None
    if build.cuda is None:
        return "build"
    sees_none = nvidia is not None and nvidia.pci_devices == 0 and not nvidia.device_nodes
    return "machine" if sees_none and (gpus is None or not gpus.gpus) else None


@check(PROBLEM)
def bf16_without_gpu(
    training: Training, packages: Packages, interpreter: Interpreter, nvidia: Nvidia | None, gpus: Gpus | None
) -> Judgement:
    """Judge only where the absence of a GPU is proven."""
    if interpreter.platform != "linux" or truth(training.value("use_cpu")) or truth(training.value("no_cuda")):
        return
    known_class = training.config_class == "TrainingArguments" or data.trl_class(training.config_class or "")
    why = _no_cuda(packages, nvidia, gpus)
    if not known_class or why is None:
        return
    wanted = _wants_bf16(training, installed(packages, "trl"))
    use_cpu = training.get("use_cpu")
    if wanted is None or (use_cpu is not None and not use_cpu.known):
        yield Skip("whether the run uses bf16 or the CPU could not be read without running the script")
        return
    if wanted:
        yield found(
            PROBLEM,
            BUILD if why == "build" else MACHINE,
            where=place_of(training.get("bf16"), otherwise=config_place(training)),
            evidence=quoted(training.get("bf16")),
            commands=("use_cpu=True",),
            torch=packages.torch_build.version if packages.torch_build else None,
            version=installed(packages, "transformers"),
        )
