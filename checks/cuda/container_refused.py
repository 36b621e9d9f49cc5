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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD015", name="container-refused-the-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"nvidia-container-cli(?:\.real)?: requirement error: unsatisfied condition: (?P<wanted>(?:cuda|driver) ?"
        r">= ?[\d.]{1,12})",
    ),
    Signature(
        r"nvidia-container-cli(?:\.real)?: (?:initialization error: (?:nvml error|driver rpc error|cuda error|load l"
        r"ibrary failed|driver error)|detection error:)",
    ),
    Signature(
        r"failed to get device cgroup mount path|nvidia-container-cli(?:\.real)?: (?:ldcache error:"
        r"|mount error: failed to add device rules|container error: cgroup)",
    ),
    Signature(
        r'could not select device driver "[^"\n]{0,20}" with capabilities: \[\[gpu',
    ),
    Signature(
        r'(?:unknown or invalid runtime name: nvidia|exec: "?nvidia-container-runtime(?:-hook)?"?: exe'
        r"cutable file not found)",
    ),
    Signature(r"unresolvable CDI devices (?P<cdi>nvidia\.com/gpu=[\w.:\-]{1,60})"),
    Signature(
        r"nvidia-container-cli(?:\.real)?: device error: (?P<device>[^\s\n]{1,120}?): (?:unknown device|not found)",
    ),
    Signature(
        r"nvidia-container-cli(?:\.real)?: mount error: file creation failed: [^\s\n]{1,300}?"
        r"(?P<file>lib(?:nvidia|cuda)[\w.\-]{1,60}|nvidia-[\w.\-]{1,40}): file exists",
    ),
    Signature(
        r"executable file [`'\"]?(?P<tool>nvidia-smi)[`'\"]? not found in \$PATH",
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
        "driver, `sudo modprobe nvidia`, or reboot after an upgrade. In WSL update Windows' own driver and "
        "run `wsl --update`.",
    ),
    zh=Words(
        "容器没有获得 GPU:宿主机的 NVIDIA 驱动没有应答 toolkit",
        "NVIDIA container toolkit 无法加载或查询宿主机上的驱动库:驱动未安装、内核模块未加载,或升级后没有"
        "重启。容器内什么都没有运行。",
        "在宿主机(容器之外)运行 `nvidia-smi` 并先修好它:安装驱动、`sudo modprobe nvidia`,升级后请重启。"
        "WSL 请更新 Windows 的驱动并运行 `wsl --update`。",
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


LOG_MESSAGE_CGROUP = Message(
    en=Words(
        "the container got no GPU: the toolkit could not reach the control group of devices",
        "Docker from snap, rootless docker or podman, containers inside of LXC, and some kernels do not let the "
        "NVIDIA container toolkit write device rules. Nothing of the container ran.",
        "Set `no-cgroups = true` in /etc/nvidia-container-runtime/config.toml (rootless), or take docker from its own "
        "packages instead of snap, or use CDI: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` and "
        "`--device nvidia.com/gpu=all`. Upgrade nvidia-container-toolkit and check `nvidia-smi` on the host.",
    ),
    zh=Words(
        "容器没有获得 GPU:toolkit 无法访问设备控制组(cgroup)",
        "snap 版 docker、rootless docker 或 podman、LXC 内的容器以及部分内核不允许 NVIDIA container toolkit "
        "写入设备规则。容器内什么都没有运行。",
        "在 /etc/nvidia-container-runtime/config.toml 设置 `no-cgroups = true`(rootless),或改用 docker "
        "官方软件包而非 snap,或使用 CDI:`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` 与 `--device "
        "nvidia.com/gpu=all`。升级 nvidia-container-toolkit,并在宿主机检查 `nvidia-smi`。",
    ),
)

LOG_MESSAGE_CDI = Message(
    en=Words(
        "no CDI description of `{cdi}` was found on the host, so the container gets no GPU",
        "Podman (and docker in CDI mode) reads from /etc/cdi or /var/run/cdi which files and devices a GPU consists "
        "of. The description was never made, cannot be read by this user, lies elsewhere, or is from before a "
        "change of driver or GPUs.",
        "On the host: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`, make it readable (`sudo chmod a+r "
        "/etc/cdi/nvidia.yaml`), and see the names with `nvidia-ctk cdi list`. Do it again after each driver update. "
        "Podman needs 4.1 or newer; a description elsewhere is named with `podman --cdi-spec-dir=/run/cdi`.",
    ),
    zh=Words(
        "宿主机上没有 `{cdi}` 的 CDI 描述,容器得不到 GPU",
        "podman(以及 CDI 模式的 docker)从 /etc/cdi 或 /var/run/cdi 读取 GPU 由哪些文件和设备组成。该描述从未生成、"
        "当前用户不可读、位于其他位置,或早于驱动或 GPU 的变更。",
        "在宿主机:`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`,设为可读(`sudo chmod a+r "
        "/etc/cdi/nvidia.yaml`),用 `nvidia-ctk cdi list` 查看名称。每次更新驱动后重新生成。podman 需 4.1 及以上;"
        "描述在别处时用 `podman --cdi-spec-dir=/run/cdi` 指定。",
    ),
)

LOG_MESSAGE_DEVICE = Message(
    en=Words(
        "the container asks for the GPU `{device}`, which the host does not have",
        "An index or UUID that is not there: another machine's, a card that fell out, MIG switched on or its slices "
        "made anew (they get new UUIDs), or the old form MIG-GPU-.../gi/ci, which drivers since R470 no longer use.",
        "`nvidia-smi -L` on the host lists GPUs and MIG slices with their UUIDs: put one of them into `--gpus "
        "'\"device=...\"'`, NVIDIA_VISIBLE_DEVICES or the compose file (a MIG slice as `MIG-<uuid>` or `0:1`). If a "
        "card is missing there, look at `dmesg -T | grep -i nvrm`.",
    ),
    zh=Words(
        "容器请求的 GPU `{device}` 在宿主机上不存在",
        "序号或 UUID 不存在:来自另一台机器,显卡已掉线,启用了 MIG 或重建了切片(UUID 会变),或使用了 R470 "
        "以后不再使用的旧格式 MIG-GPU-.../gi/ci。",
        "在宿主机执行 `nvidia-smi -L` 列出 GPU 与 MIG 切片的 UUID,将其填入 `--gpus '\"device=...\"'`、"
        "NVIDIA_VISIBLE_DEVICES 或 compose 文件(MIG 切片写作 `MIG-<uuid>` 或 `0:1`)。若列表中缺卡,查看 "
        "`dmesg -T | grep -i nvrm`。",
    ),
)

LOG_MESSAGE_FILE = Message(
    en=Words(
        "the image brings its own `{file}`, where the toolkit wants to put the host's",
        "The driver's libraries come from the host when the container starts. This image holds a copy: a driver "
        "package was installed in it, or it was saved from a running container. Nothing of the container ran.",
        "Take the copies out of the image: no `nvidia-driver` or `libnvidia-*` packages in the Dockerfile, or `RUN rm "
        "-f /usr/lib/x86_64-linux-gnu/libcuda.so* /usr/lib/x86_64-linux-gnu/libnvidia-*.so*` as its last step; build "
        "it from its Dockerfile rather than with `docker commit`.",
    ),
    zh=Words(
        "镜像自带 `{file}`,而 toolkit 要在该位置放入宿主机的文件",
        "驱动的库在容器启动时来自宿主机。该镜像中已有副本:镜像里安装了驱动包,或由运行中的容器保存而来。容器内什么都"
        "没有运行。",
        "从镜像中去掉这些副本:Dockerfile 中不要安装 `nvidia-driver` 或 `libnvidia-*`,或在最后一步 `RUN rm -f "
        "/usr/lib/x86_64-linux-gnu/libcuda.so* /usr/lib/x86_64-linux-gnu/libnvidia-*.so*`;用 Dockerfile 构建,而不是 "
        "`docker commit`。",
    ),
)

LOG_MESSAGE_TOOL = Message(
    en=Words(
        "`nvidia-smi` is not in the container: it was started without the GPUs",
        "The toolkit brings nvidia-smi and the driver's libraries into a container that asks for GPUs. Podman ignores "
        "`--gpus`, docker needs it (or `--runtime=nvidia`), and an image may ask for `compute` alone.",
        "Podman: `--device nvidia.com/gpu=all`, after `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`. "
        "Docker: `--gpus all`, with nvidia-container-toolkit set up. Set NVIDIA_DRIVER_CAPABILITIES to "
        "`compute,utility`.",
    ),
    zh=Words(
        "容器内没有 `nvidia-smi`:启动时没有分配 GPU",
        "容器请求 GPU 时,toolkit 会带入 nvidia-smi 与驱动库。podman 会忽略 `--gpus`,docker 则需要它(或 "
        "`--runtime=nvidia`),镜像也可能只请求了 `compute`。",
        "podman:先 `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`,再用 `--device nvidia.com/gpu=all`。"
        "docker:`--gpus all`,并配置好 nvidia-container-toolkit。NVIDIA_DRIVER_CAPABILITIES 设为 `compute,utility`。",
    ),
)

#: by the position of the signature: what is said, and the command that shows or mends it
WORDS = (
    (LOG_MESSAGE_NEWER, "nvidia-smi"),
    (LOG_MESSAGE_SILENT, "nvidia-smi"),
    (LOG_MESSAGE_CGROUP, "nvidia-smi"),
    (LOG_MESSAGE_TOOLKIT, "sudo nvidia-ctk runtime configure --runtime=docker"),
    (LOG_MESSAGE_TOOLKIT, "sudo nvidia-ctk runtime configure --runtime=docker"),
    (LOG_MESSAGE_CDI, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
    (LOG_MESSAGE_DEVICE, "nvidia-smi -L"),
    (LOG_MESSAGE_FILE, "docker build --no-cache ."),
    (LOG_MESSAGE_TOOL, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
)


def explain(hits: Hits) -> Finding:
    """What the toolkit asked for in vain tells which side is at fault."""
    first = hits.first
    message, command = WORDS[first.signature]
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if first.groups.get("tool") else CONFIRMED,
        commands=(command,),
        wanted=first.groups.get("wanted") or "",
        cdi=first.groups.get("cdi") or "",
        device=first.groups.get("device") or "",
        file=first.groups.get("file") or "",
    )
