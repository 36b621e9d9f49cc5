"""The container could not be started with GPUs.

## What it means
The NVIDIA container toolkit looks at the image and at the host before the container starts. It refuses an image that
declares a newer CUDA than the host's driver runs, a host whose driver is not loaded, or is not there at all.
## What it does to a run
The container never starts: nothing of the training ran.
## What to do
Bring image and driver together, or install and configure the toolkit.
## How it is found
In a log: by the words of docker, containerd and nvidia-container-cli.
## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
https://github.com/ggml-org/llama.cpp/issues/9665
https://github.com/NVIDIA/nvidia-docker/issues/1442
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD015", name="container-refused-the-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"nvidia-container-cli: requirement error: unsatisfied condition: (?P<wanted>(?:cuda|driver) ?"
        r">= ?[\d.]{1,12})",
    ),
    Signature(
        r"nvidia-container-cli: initialization error: (?:nvml error|driver rpc error|cuda error|load l"
        r"ibrary failed|driver error)",
    ),
    Signature(
        r"failed to get device cgroup mount path|nvidia-container-cli: (?:ldcache error|device error|d"
        r"etection error):",
    ),
    Signature(
        r'could not select device driver "[^"\n]{0,20}" with capabilities: \[\[gpu',
    ),
    Signature(
        r'(?:unknown or invalid runtime name: nvidia|exec: "?nvidia-container-runtime(?:-hook)?"?: exe'
        r"cutable file not found|unresolvable CDI devices nvidia\.com/gpu)",
    ),
)

LOG_MESSAGE_NEWER = Message(
    en=Words(
        "the host's NVIDIA driver is too old for this image: it asks for `{wanted}`",
        "The NVIDIA container toolkit compared the CUDA version that the image declares with what the "
        "driver of the host runs, and refused. Nothing of the container ran.",
        "Update the driver on the host (`nvidia-smi` there shows in its first line what it runs), or "
        "take an image that was built for an older CUDA (another tag). Minor versions of one CUDA major "
        "run on its older drivers too: `-e NVIDIA_DISABLE_REQUIRE=1` skips this check where the major "
        "version is the same.",
    ),
    zh=Words(
        "宿主机的 NVIDIA 驱动对该镜像来说太旧:它要求 `{wanted}`",
        "NVIDIA container toolkit 将镜像声明的 CUDA 版本与宿主机驱动所支持的版本比较后拒绝启动。容器内什么都没有运行。",
        "在宿主机升级驱动(其 `nvidia-smi` 首行显示所支持的版本),或使用为较旧 CUDA 构建的镜像(换一个 tag)"
        "。同一 CUDA 主版本内的小版本也能在较旧驱动上运行:主版本相同时可用 `-e NVIDIA_DISABLE_REQUIRE=1` "
        "跳过该检查。",
    ),
)

LOG_MESSAGE_SILENT = Message(
    en=Words(
        "the container got no GPU: the NVIDIA driver of the host did not answer the toolkit",
        "The NVIDIA container toolkit could not load or ask the driver's library on the host. The driver "
        "is missing, its kernel module is not loaded, or it was upgraded without a reboot. Nothing of "
        "the container ran.",
        "Run `nvidia-smi` on the host, outside of any container, and mend that first: install the "
        "driver, `sudo modprobe nvidia`, or reboot after an upgrade. Docker from snap and rootless "
        "docker need `no-cgroups = true` in /etc/nvidia-container-runtime/config.toml, or docker from "
        "its own packages.",
    ),
    zh=Words(
        "容器没有获得 GPU:宿主机的 NVIDIA 驱动没有应答 toolkit",
        "NVIDIA container toolkit 无法加载或查询宿主机上的驱动库:驱动未安装、内核模块未加载,或升级后没有"
        "重启。容器内什么都没有运行。",
        "在宿主机(容器之外)运行 `nvidia-smi` 并先修好它:安装驱动、`sudo modprobe nvidia`,升级后请重启。"
        "snap 版与 rootless docker 需要在 /etc/nvidia-container-runtime/config.toml 中设置 `no-cgroups = "
        "true`,或改用 docker 官方软件包。",
    ),
)

LOG_MESSAGE_TOOLKIT = Message(
    en=Words(
        "docker cannot give a container GPUs: the NVIDIA container toolkit is not set up",
        "`--gpus` and `--runtime=nvidia` need the NVIDIA container toolkit on the host, and docker has "
        "to be told of it once. Nothing of the container ran.",
        "Install the package nvidia-container-toolkit on the host, then `sudo nvidia-ctk runtime "
        "configure --runtime=docker` and `sudo systemctl restart docker`; check with `docker run --rm "
        "--gpus all ubuntu nvidia-smi`. For containerd and Kubernetes give `--runtime=containerd`, and "
        "install the device plugin.",
    ),
    zh=Words(
        "docker 不知道如何给容器分配 GPU:没有配置 NVIDIA container toolkit",
        "`--gpus` 与 `--runtime=nvidia` 需要宿主机上的 NVIDIA container toolkit,并且要让 docker 登记一次"
        "。容器内什么都没有运行。",
        "在宿主机安装 nvidia-container-toolkit,然后 `sudo nvidia-ctk runtime configure --runtime=docker` "
        "和 `sudo systemctl restart docker`;用 `docker run --rm --gpus all ubuntu nvidia-smi` 检查。"
        "containerd 与 Kubernetes 请用 `--runtime=containerd`,并安装 device plugin。",
    ),
)


def explain(hits: Hits) -> Finding:
    """What the toolkit asked for in vain tells which side is at fault."""
    wanted = hits.get("wanted")
    silent = bool(hits.of(1) or hits.of(2))
    return found(
        PROBLEM,
        LOG_MESSAGE_NEWER if wanted else LOG_MESSAGE_SILENT if silent else LOG_MESSAGE_TOOLKIT,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        wanted=wanted or "",
        commands=("nvidia-smi",) if wanted or silent else ("sudo nvidia-ctk runtime configure --runtime=docker",),
    )
