"""ROCm reaches no AMD GPU in this process.

## What it means
ROCm talks to the kernel through /dev/kfd and /dev/dri/renderD*. They belong to the group render; in a container they
must be passed in and the user must be in a group of the same number.
## What it does to a run
torch finds no GPU and ends, or runs on the CPU.
## What to do
Pass the devices, join the group, load the driver, look at the variables that hide GPUs.
## How it is found
In a log: by the words of torch, ROCm or its tools.
## References
https://github.com/kyuz0/amd-strix-halo-vllm-toolboxes/issues/6
https://github.com/ROCm/ROCm-docker/issues/116
https://github.com/harryjo97/GDSS/issues/6
https://github.com/thu-pacman/chitu/issues/118
https://github.com/unslothai/unsloth/issues/6118
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR055", name="amd-gpu-not-reachable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: No HIP GPUs are available"),
    Signature(
        r"Unable to open /dev/kfd read-write: (?P<why>Permission denied|No such file or directory|Invalid "
        r"argument)"
    ),
    Signature(
        r"NotImplementedError: (?P<unsloth>Unsloth) detected signs of an AMD ROCm GPU, but your current PyTorch build"
    ),
    Signature(
        r"ROCk module is NOT loaded|Could not initialize Tensile host: No devices found|hipErrorNoDevice"
        r"|HIP error: no ROCm-capable device is detected"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "ROCm reaches no AMD GPU here",
        "The process has to open /dev/kfd and /dev/dri/renderD*, which belong to the group render (older systems: "
        "video). In a container they are missing without `--device`, and the group's number must be the host's, the "
        "name does not matter. Else the driver amdgpu is not loaded, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES "
        "hide all GPUs (set both, and the second counts among those that the first leaves), HSA_OVERRIDE_GFX_VERSION "
        "is no version (`9.0.6`, not gfx906), or this is a ROCm build of torch on a machine with NVIDIA cards or none.",
        "On the host: `ls -l /dev/kfd /dev/dri`, `rocminfo`, `sudo usermod -aG render,video $USER` and log in anew. "
        "Containers: `docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) "
        "--group-add video --security-opt seccomp=unconfined --ipc=host` (podman rootless: `--group-add "
        "keep-groups`). `sudo modprobe amdgpu` where the module is missing; `env | grep -E 'VISIBLE|HSA_'`. On "
        "NVIDIA: `pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126`.",
    ),
    zh=Words(
        "ROCm 在此处找不到 AMD GPU",
        "进程需要打开 /dev/kfd 与 /dev/dri/renderD*,它们属于 render 组(旧系统为 video)。容器不加 `--device` 就没有这些"
        "设备,且组的编号必须与宿主机一致,组名无关。否则是 amdgpu 驱动未加载,HIP_VISIBLE_DEVICES 与 "
        "ROCR_VISIBLE_DEVICES 隐藏了所有 GPU(两者都设时,后者在前者留下的卡中重新编号),HSA_OVERRIDE_GFX_VERSION 不是版"
        "本号(应为 `9.0.6` 而非 gfx906),或这是装在 NVIDIA 机器或无显卡机器上的 ROCm 版 torch。",
        "宿主机:`ls -l /dev/kfd /dev/dri`、`rocminfo`、`sudo usermod -aG render,video $USER` 并重新登录。容器:`docker "
        "run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) --group-add video "
        "--security-opt seccomp=unconfined --ipc=host`(podman rootless:`--group-add keep-groups`)。缺少模块时 `sudo "
        "modprobe amdgpu`;并检查 `env | grep -E 'VISIBLE|HSA_'`。NVIDIA 机器:`pip install --force-reinstall torch "
        "--index-url https://download.pytorch.org/whl/cu126`。",
    ),
)

GUESSED = Message(
    en=Words(
        "torch sees no GPU, and unsloth found signs of an AMD one",
        "Signs are ROCm on the machine or an AMD chip, an integrated one too: whether torch is built for it unsloth "
        "does not know. torch is a CPU or CUDA build on an AMD machine; or a variable hides all GPUs "
        "(`ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES` both set: the second counts among those that the first "
        "leaves); or the card to use is NVIDIA's and its CUDA does not work.",
        "`python -c 'import torch; print(torch.__version__, torch.version.hip, torch.version.cuda, "
        "torch.cuda.device_count())'; env | grep VISIBLE`. AMD and no hip: install ROCm wheels (`--index-url "
        "https://download.pytorch.org/whl/rocm7.0`). With hip: `unset ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES` and "
        "name the card in `HIP_VISIBLE_DEVICES` alone. NVIDIA: do not install ROCm wheels; `nvidia-smi`, then a CUDA "
        "build of torch for its driver.",
    ),
    zh=Words(
        "torch 看不到 GPU,而 unsloth 发现了 AMD GPU 的迹象",
        "迹象是机器上有 ROCm 或 AMD 芯片(核显也算):torch 是否为其构建,unsloth 并不知道。可能 AMD 机器上的 torch 是 "
        "CPU 或 CUDA 构建;或变量隐藏了所有 GPU(同时设置 `ROCR_VISIBLE_DEVICES` 与 `HIP_VISIBLE_DEVICES`:后者在前者留下"
        "的卡中重新编号);或要用的是 NVIDIA 显卡而其 CUDA 不可用。",
        "`python -c 'import torch; print(torch.__version__, torch.version.hip, torch.version.cuda, "
        "torch.cuda.device_count())'; env | grep VISIBLE`。AMD 且没有 hip:安装 ROCm wheel(`--index-url "
        "https://download.pytorch.org/whl/rocm7.0`)。有 hip:`unset ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES`,只用 "
        "`HIP_VISIBLE_DEVICES` 指定显卡。NVIDIA:不要安装 ROCm wheel;查看 `nvidia-smi`,再安装与其驱动匹配的 CUDA 版 "
        "torch。",
    ),
)


def explain(hits: Hits) -> Finding:
    """What unsloth guesses is no sign of what the driver lacks."""
    message = GUESSED if hits.first.groups.get("unsloth") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
