"""torch is built without CUDA on a machine with NVIDIA GPUs.

## What it means
The installed torch is a CPU build (`+cpu`, or conda's CPU variant). It never sees a GPU, whatever the driver says.
## What it does to a run
`torch.cuda.is_available()` is False: training runs on the CPU, bf16 is refused, vLLM and DeepSpeed do not start.
## What to do
Install a CUDA build of the same release.
## How it is found
torch's own version file, and the NVIDIA GPUs that the driver or the PCI bus shows.
In a log: by torch's own message.
## References
https://pytorch.org/get-started/locally/
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/cuda/__init__.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.torch._helpers import WHEELS, major, older_wheel, public, trains_on_cpu
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.gpus import Gpus
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="TOR001", name="torch-cpu-build", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: Torch not compiled with CUDA enabled"),
    Signature(r"AssertionError: Torch not compiled with (?P<other>XPU|MPS) enabled"),
    Signature(r"^AttributeError: module 'torch\._C' has no attribute '_cuda_(?:set|get|reset|emptyCache|is)\w{0,40}'"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed torch is built without CUDA, and something asked for a GPU",
        "A CPU build (`+cpu`, or conda's CPU variant) never sees a GPU, whatever the driver says. An "
        "upgrade by another package often puts it there.",
        "Install a CUDA build of the same release: `pip install --force-reinstall torch --index-url "
        "https://download.pytorch.org/whl/cu126` (choose the CUDA of your driver). On a machine without "
        "GPU set `use_cpu=True` and ask for no `cuda` device. With an Ascend NPU or an Intel GPU this build is right, "
        "and the code has to ask for `npu` or `xpu` instead of `cuda`.",
    ),
    zh=Words(
        "已安装的 torch 不带 CUDA,而程序要求使用 GPU",
        "CPU 构建(`+cpu`,或 conda 的 CPU 变体)无论驱动如何都看不到 GPU。常见原因是其他包升级时替换了它。",
        "安装同一版本的 CUDA 构建:`pip install --force-reinstall torch --index-url "
        "https://download.pytorch.org/whl/cu126`(选择与驱动相符的 CUDA)。在没有 GPU 的机器上设置 "
        "`use_cpu=True`,且不要使用 `cuda` 设备。使用昇腾 NPU 或 Intel GPU 时该构建没有问题,代码应使用 `npu` 或 `xpu` "
        "而不是 `cuda`。",
    ),
)

LOG_MESSAGE_OTHER = Message(
    en=Words(
        "the installed torch is built without {other}, and something asked for it",
        "There is one wheel of torch for each kind of GPU: one of the CPU, of CUDA or of ROCm knows no `{device}`, "
        "whatever the driver says. An upgrade by another package often puts it there.",
        "XPU (Intel): `pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/xpu`, with "
        "intel-extension-for-pytorch of the same release where the program uses it. MPS (Apple) comes with the wheel "
        "for macOS on arm64 alone, not in a container or an x86 Python. `python -c 'import torch; "
        "print(torch.__version__)'` shows what is there; else ask for another device.",
    ),
    zh=Words(
        "已安装的 torch 不带 {other},而程序要求使用它",
        "torch 为每种 GPU 提供单独的 wheel:CPU、CUDA 或 ROCm 版无论驱动如何都没有 `{device}`。常见原因是其他包升级时替"
        "换了它。",
        "XPU(Intel):`pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/xpu`,程序使用 "
        "intel-extension-for-pytorch 时其版本须与 torch 一致。MPS(Apple)只在 arm64 macOS 的 wheel 中提供,容器或 x86 "
        "Python 中没有。`python -c 'import torch; print(torch.__version__)'` 显示当前版本;否则改用其他设备。",
    ),
)

MESSAGE = Message(
    en=Words(
        "torch {version} is built without CUDA, and this machine has {gpus}",
        "`torch.cuda.is_available()` is False whatever the driver says: training runs on the CPU or refuses bf16, and "
        "vLLM and DeepSpeed do not start.",
        "Install a CUDA build of torch.",
    ),
    zh=Words(
        "torch {version} 不含 CUDA,而本机有 {gpus_zh}",
        "无论驱动如何,`torch.cuda.is_available()` 都是 False:训练会在 CPU 上进行或拒绝 bf16,vLLM 和 DeepSpeed "
        "无法启动。",
        "安装带 CUDA 的 torch。",
    ),
)

DRIVER = Message(
    en=Words(
        "torch {version} is built without CUDA, and this machine has {gpus}",
        "`torch.cuda.is_available()` is False whatever the driver says: training runs on the CPU or refuses bf16, and "
        "vLLM and DeepSpeed do not start.",
        "Upgrade the NVIDIA driver first: the wheels of this torch that are known are built for CUDA {cuda}, and the "
        "driver goes up to {driver}. Or install an older torch with a wheel for CUDA {major}.",
    ),
    zh=Words(
        "torch {version} 不含 CUDA,而本机有 {gpus_zh}",
        "无论驱动如何,`torch.cuda.is_available()` 都是 False:训练会在 CPU 上进行或拒绝 bf16,vLLM 和 DeepSpeed "
        "无法启动。",
        "先升级 NVIDIA 驱动:已知的该版本 torch 的 wheel 针对 CUDA {cuda} 构建,而驱动最高支持 {driver}。"
        "或安装有 CUDA {major} wheel 的较旧 torch。",
    ),
)

#: local parts of builds for other hardware
_OTHER = ("xpu", "hpu", "npu", "tpu", "rocm")


def explain(hits: Hits) -> Finding:
    """Each kind of GPU has a wheel of its own."""
    other = hits.first.groups.get("other")
    return found(
        PROBLEM, LOG_MESSAGE_OTHER if other else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED, other=other or "", device=(other or "").lower(),
    )  # fmt: skip


@check(PROBLEM)
def cpu_build(
    packages: Packages, gpus: Gpus | None, nvidia: Nvidia | None, training: Training | None, world: World | None
) -> Judgement:
    """Builds for other hardware, and commands that ask for the CPU, are right as they are."""
    build = packages.torch_build
    if build is None or build.cuda is not None or build.hip is not None or trains_on_cpu(training, world):
        return
    if any(mark in build.version.partition("+")[2] for mark in _OTHER):
        return
    count = len(gpus.gpus) if gpus is not None else (nvidia.pci_devices or 0) if nvidia is not None else 0
    if not count:
        return
    driver = gpus.cuda_driver_version if gpus is not None else None
    tag = older_wheel(build.version, driver) if driver else None
    wheel = f" --index-url {WHEELS}/{tag}" if tag else ""
    release = data.torch_release(build.version)
    beyond = release.cuda if release is not None and driver and not tag else None
    yield found(
        PROBLEM,
        DRIVER if beyond else MESSAGE,
        cuda=beyond,
        driver=driver,
        major=major(driver) if driver else None,
        commands=(f'pip install --force-reinstall "torch=={public(build.version)}"{wheel}',),
        evidence=(Evidence("torch/version.py", f"__version__ {build.version}, cuda None"),),
        version=build.version,
        gpus_zh=f"{count} 块 NVIDIA GPU",
        gpus=f"{count} NVIDIA GPU{'' if count == 1 else 's'}",
    )
