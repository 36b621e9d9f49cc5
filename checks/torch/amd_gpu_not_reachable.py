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
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR055", name="amd-gpu-not-reachable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: No HIP GPUs are available"),
    Signature(
        r"Unable to open /dev/kfd read-write: (?P<why>Permission denied|No such file or directory|Invalid "
        r"argument)"
    ),
    Signature(r"ROCk module is NOT loaded|Could not initialize Tensile host: No devices found|hipErrorNoDevice"),
)

LOG_MESSAGE = Message(
    en=Words(
        "ROCm reaches no AMD GPU here: /dev/kfd and /dev/dri are absent or not permitted",
        "The process has to open /dev/kfd and /dev/dri/renderD*, which belong to the group render (older "
        "systems: video). In a container they are missing without `--device`, and the group's number must be "
        "the host's, the name does not matter. Else the driver amdgpu is not loaded, or HIP_VISIBLE_DEVICES or "
        "ROCR_VISIBLE_DEVICES hides all GPUs.",
        "On the host: `ls -l /dev/kfd /dev/dri`, `rocminfo`, `sudo usermod -aG render,video $USER` and log in "
        "anew. Containers: `docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | "
        "cut -d: -f3) --group-add video --security-opt seccomp=unconfined --ipc=host` (podman rootless: "
        "`--group-add keep-groups`). `sudo modprobe amdgpu` where the module is missing; `env | grep VISIBLE`.",
    ),
    zh=Words(
        "ROCm 在此处找不到 AMD GPU:/dev/kfd 与 /dev/dri 不存在或无权访问",
        "进程需要打开 /dev/kfd 与 /dev/dri/renderD*,它们属于 render 组(旧系统为 video)。容器不加 `--device` 就"
        "没有这些设备,且组的编号必须与宿主机一致,组名无关。否则是 amdgpu 驱动未加载,或 HIP_VISIBLE_DEVICES、"
        "ROCR_VISIBLE_DEVICES 隐藏了所有 GPU。",
        "宿主机:`ls -l /dev/kfd /dev/dri`、`rocminfo`、`sudo usermod -aG render,video $USER` 并重新登录。容器"
        ":`docker run --device=/dev/kfd --device=/dev/dri --group-add $(getent group render | cut -d: -f3) "
        "--group-add video --security-opt seccomp=unconfined --ipc=host`(podman rootless:`--group-add "
        "keep-groups`)。缺少模块时 `sudo modprobe amdgpu`;并检查 `env | grep VISIBLE`。",
    ),
)

LOG_CONFIDENCE = LIKELY
