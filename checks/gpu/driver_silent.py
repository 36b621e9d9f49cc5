"""NVIDIA hardware is there, but its driver does not answer.

## What it means
The PCI bus or /dev shows NVIDIA GPUs, and the management library of the driver cannot list them: the kernel module
is not loaded, library and module are of different versions, or a container was started without the NVIDIA runtime.
## What it does to a run
CUDA finds no device, or fails with error 803 or 804; training falls back to the CPU or dies at the first `.cuda()`.
## What to do
Load the module (`modprobe nvidia`), reboot after a driver upgrade, or start the container with `--gpus all`.
## How it is found
NVIDIA display controllers under /sys/bus/pci and device nodes under /dev, against the answer of NVML. A mismatch of
library and kernel module is NVML's own word, whatever the PCI bus shows. During a run: a call of `doctor monitor`'s
sampler that does not come back.
In a log: by the words of nvidia-smi or NVML.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.host import Host
from doctor.facts.nvidia import Nvidia
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, duration

PROBLEM = Problem(id="GPU001", name="gpu-driver-silent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Failed to initialize NVML: Driver/library version mismatch|NVMLError_LibRmVersionMismatch"),
    Signature(
        r"Failed to initialize NVML: (?:Unknown Error|Driver Not Loaded|GPU access blocked by the"
        r" operating system|Insufficient Permissions)",
    ),
    Signature(r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the NVIDIA driver does not answer",
        "Its kernel module is not loaded, or the container lost its access: after `systemctl "
        "daemon-reload` on the host running containers answer with Unknown Error.",
        "On the host: `nvidia-smi`, `lsmod | grep nvidia`, `dmesg | grep -i nvrm`; load the module "
        "(`modprobe nvidia`) or reboot after an upgrade of the driver. In a container: restart it "
        "(`--gpus all`); a CDI set-up of the NVIDIA container toolkit keeps access.",
    ),
    zh=Words(
        "NVIDIA 驱动没有应答",
        "内核模块没有加载,或容器失去了访问权限:宿主机执行 `systemctl daemon-reload` 后,运行中的容器会返回"
        " Unknown Error。",
        "在宿主机上:`nvidia-smi`、`lsmod | grep nvidia`、`dmesg | grep -i nvrm`;加载模块(`modprobe "
        "nvidia`),升级驱动后请重启。在容器中:重启容器(`--gpus all`);NVIDIA container toolkit 的 CDI 配置"
        "可保持访问权限。",
    ),
)

LOG_MESSAGE_MISMATCH = Message(
    en=Words(
        "the NVIDIA library and the loaded kernel module are of different driver versions",
        "The driver was upgraded under the running kernel module (unattended upgrades do that), or the "
        "image of a container brings another version of the library than the host.",
        "Reboot the host, or unload and load the `nvidia` modules while nothing uses the GPUs. In a "
        "container remove the driver packages (`libnvidia-*`) of the image. `cat "
        "/proc/driver/nvidia/version` shows the module's version.",
    ),
    zh=Words(
        "NVIDIA 库与已加载的内核模块版本不同",
        "驱动在内核模块运行时被升级(自动更新常会如此),或容器镜像自带与宿主机不同版本的库。",
        "重启宿主机,或在没有程序使用 GPU 时重新加载 `nvidia` 模块。在容器中请移除镜像里的驱动包"
        "(`libnvidia-*`)。`cat /proc/driver/nvidia/version` 显示模块版本。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{count} NVIDIA GPUs on the PCI bus, but the driver does not answer",
        "CUDA finds no usable device, so training falls back to the CPU or dies at its first CUDA call.",
        "Load the kernel module, and reboot when the driver was upgraded since the last boot.",
    ),
    zh=Words(
        "PCI 总线上有 {count} 块 NVIDIA GPU,但驱动没有响应",
        "CUDA 找不到可用设备,训练会退回 CPU,或在第一次 CUDA 调用时退出。",
        "请加载内核模块;如果上次启动之后升级过驱动,请重启机器。",
    ),
)

IN_CONTAINER = Message(
    en=Words(
        "{count} NVIDIA GPUs on the PCI bus, but none usable in this container",
        "CUDA finds no usable device in here: the container was started without access to the driver.",
        "Start the container with the NVIDIA runtime.",
    ),
    zh=Words(
        "PCI 总线上有 {count} 块 NVIDIA GPU,但本容器内无法使用",
        "容器启动时没有获得驱动的访问权限,CUDA 在容器内找不到可用设备。",
        "请使用 NVIDIA 运行时启动容器。",
    ),
)

MISMATCH = Message(
    en=Words(
        "The NVIDIA library and the loaded kernel module are of different driver versions",
        "The driver was upgraded under the running kernel module, or the container brings another version of the "
        "library than the host's. CUDA ends with error 803 at the first call.",
        "Reboot the machine, or unload and load the `nvidia` modules when nothing uses the GPUs. In a container, take "
        "out the driver packages that the image installed.",
    ),
    zh=Words(
        "NVIDIA 库与已加载的内核模块不是同一个驱动版本",
        "内核模块仍在运行时升级了驱动,或容器自带的库与宿主机版本不同。CUDA 在第一次调用时以错误 803 退出。",
        "重启机器,或在没有程序使用 GPU 时卸载并重新加载 `nvidia` 模块。在容器中,请移除镜像自己安装的驱动包。",
    ),
)

SLOW = Message(
    en=Words(
        "{count} NVIDIA GPUs on the PCI bus, and NVML gave no answer in time",
        "Whatever opens CUDA waits as long. Without the persistence daemon the driver wakes card after card, which "
        "takes seconds each; a card that fell off the bus can block it for ever.",
        "See whether `nvidia-smi` ends. When it does, switch persistence mode on; when it hangs, reboot.",
    ),
    zh=Words(
        "PCI 总线上有 {count} 块 NVIDIA GPU,而 NVML 没有及时应答",
        "所有打开 CUDA 的程序都要等同样久。没有 persistence 守护进程时,驱动逐张唤醒 GPU,每张要数秒;"
        "从总线上掉线的 GPU 可能让它永远阻塞。",
        "看 `nvidia-smi` 能否结束:能结束就开启 persistence 模式,挂起就重启机器。",
    ),
)

DURING = Message(
    en=Words(
        "the NVIDIA driver stopped answering {after} into the run ({times} in all)",
        "For that time there are no figures of the GPUs; a driver that hangs often takes the run with it.",
        "Look for Xids and errors of the driver in `dmesg`; a reboot is the usual way out.",
    ),
    zh=Words(
        "NVIDIA 驱动在运行 {after} 时停止响应(共 {times} 次)",
        "这段时间没有 GPU 数据;驱动挂起往往也会使训练停住。",
        "在 `dmesg` 中查找 Xid 和驱动错误;通常需要重启。",
    ),
)

NO_ANSWER = "no answer in time"  # of doctor.facts.nvidia


@check(PROBLEM)
def driver_silent(nvidia: Nvidia, host: Host | None) -> Judgement:
    """Silent where there is no NVIDIA hardware, and where NVML answers."""
    error = nvidia.nvml_error
    if not error:
        return
    evidence = (Evidence("NVML", error),)
    if "mismatch" in error.lower():
        yield found(PROBLEM, MISMATCH, commands=("cat /proc/driver/nvidia/version",), evidence=evidence)
        return
    if not nvidia.pci_devices:
        return
    count = nvidia.pci_devices
    if NO_ANSWER in error:
        commands: tuple[str, ...] = ("nvidia-smi", "sudo nvidia-smi -pm 1")
        yield found(PROBLEM, SLOW, count=count, commands=commands, evidence=evidence, confidence=LIKELY)
        return
    in_container = host is not None and host.container is not None and not nvidia.device_nodes
    yield found(
        PROBLEM,
        IN_CONTAINER if in_container else MESSAGE,
        count=count,
        commands=("docker run --gpus all IMAGE",) if in_container else ("sudo modprobe nvidia", "nvidia-smi"),
        evidence=evidence,
    )


def explain(hits: Hits) -> Finding | None:
    """Two versions are certain; the rest has several reasons."""
    mismatch = bool(hits.of(0))
    return found(
        PROBLEM,
        LOG_MESSAGE_MISMATCH if mismatch else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("nvidia-smi",),
        confidence=CONFIRMED if mismatch else LIKELY,
    )


@check(PROBLEM)
def silent_during_the_run(sampled: Sampled) -> Judgement:
    """Whether the sampler had to give up a call that did not come back, and how often."""
    hangs = sorted(sampled.hangs, key=lambda each: each.after_s)
    if hangs:
        hosts = tuple(sorted({each.host for each in hangs if each.host is not None}))
        yield found(
            PROBLEM, DURING, times=len(hangs), after=duration(hangs[0].after_s), nodes=hosts,
            where=Where(host=hangs[0].host), evidence=(Evidence("sampler", f"silent for {hangs[0].silent_s} s"),),
        )  # fmt: skip
    elif not sampled.events_told:
        yield Skip(NO_EVENTS if sampled.gpus else NO_GPU)
