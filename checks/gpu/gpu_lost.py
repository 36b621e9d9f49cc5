"""A GPU is lost to the driver.

## What it means
The driver lists the card but no longer reaches it: it fell off the PCI bus or its firmware stopped.
## What it does to a run
Every process on it hangs or dies with a CUDA error, usually `unspecified launch failure` or Xid 79, and collective
operations time out on all other ranks.
## What to do
Drain the node, reset the card or reboot. When it comes back, look at power, seating and temperature of the card.
## How it is found
NVML answers GPU_IS_LOST or fails for this card while others answer; during a run, what the sampler of
`doctor monitor` was answered.
In a log: by the message that the program or the driver prints.
## References
https://docs.nvidia.com/deploy/xid-errors/
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
"""

from __future__ import annotations

from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, duration

PROBLEM = Problem(id="GPU002", name="gpu-lost", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NVRM: Xid \((?P<pci>[^)\n]{1,60})\): (?P<code>79),"),
    Signature(
        r"Unable to determine the device handle for (?:gpu|GPU) ?(?P<pci>[\w:.]{1,40}): (?:GPU is"
        r" lost|Unknown Error)",
    ),
    Signature(r"NVRM: fallen off the bus and is not responding to commands"),
    Signature(r"GPU is lost\. +Reboot the system to recover this GPU|NVMLError_GpuIsLost|CUDA error: GPU is lost"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a GPU is lost to the driver: it fell off the PCI bus or its firmware stopped",
        "The driver lists the card but no longer reaches it (Xid 79). Everything that runs on it hangs "
        "or dies, and collective operations of all other ranks time out. Power supply, heat, seating or "
        "a broken card are the causes; the program is not.",
        "Drain the node and reboot it (a reset alone seldom helps after Xid 79). If it happens again, "
        "look at power and temperature in `nvidia-smi -q`, reseat or replace the card, and keep jobs off "
        "it until then with CUDA_VISIBLE_DEVICES.",
    ),
    zh=Words(
        "一张 GPU 与驱动失去联系:掉出 PCI 总线或固件停止",
        "驱动能列出该卡,但已无法访问(Xid 79)。其上的程序会挂起或退出,其他 rank 的集合通信会超时。原因是供"
        "电、温度、接触或显卡损坏,与程序无关。",
        "排空节点并重启(Xid 79 之后仅重置往往无效)。若再次发生,用 `nvidia-smi -q` 查看供电和温度,重新插拔"
        "或更换显卡,在此之前用 CUDA_VISIBLE_DEVICES 避开它。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpu} does not answer the driver",
        "Processes on this card hang or die with a CUDA error, and every other rank of the run waits for them.",
        "Drain the node, then reset the GPU or reboot. Leave the card out of the run until it answers.",
    ),
    zh=Words(
        "{gpu} 没有响应驱动",
        "该卡上的进程会挂起或因 CUDA 错误退出,其余 rank 会一直等待。",
        "先排空节点,再重置该 GPU 或重启机器;在它恢复响应之前不要让训练使用这块卡。",
    ),
)


DURING = Message(
    en=Words(
        "GPU {gpu} was lost {after} into the run",
        "The driver no longer reached the card. What ran on it hangs or dies, and every other rank waits for it.",
        "Drain the node and reboot it. If it happens again, look at power, heat and seating of the card.",
    ),
    zh=Words(
        "GPU {gpu} 在运行 {after} 后失去联系",
        "驱动无法再访问该卡,其上的程序会挂起或退出,其余 rank 一直等待。",
        "排空节点并重启;若再次发生,检查该卡的供电、温度和插槽。",
    ),
)
DURING_MANY = Message(
    en=Words(
        "{count} of {all} GPUs were lost, the first {after} into the run",
        "The driver no longer reached these cards. What ran on them hangs or dies, and every other rank waits for it. "
        "Several at once share a cause: the power or the board of a machine, a driver that was reloaded.",
        "Drain these nodes and reboot them; look for the first Xid in their `dmesg`.",
    ),
    zh=Words(
        "{all} 块 GPU 中有 {count} 块失去联系,最早在运行 {after} 时",
        "驱动无法再访问这些卡,其上的程序会挂起或退出,其余 rank 一直等待。"
        "多块同时丢失多有共同原因:机器的供电或主板,或驱动被重新加载。",
        "排空这些节点并重启;在其 `dmesg` 中找最早的 Xid。",
    ),
)


@check(PROBLEM)
def gpu_lost(gpus: Gpus) -> Judgement:
    """One finding a card that gave an error instead of readings."""
    for gpu in gpus.gpus:
        if gpu.error:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                where=Where(gpu=gpu.index),
                commands=(f"sudo nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=(Evidence("NVML", gpu.error),),
            )


@check(PROBLEM)
def lost_during_the_run(sampled: Sampled) -> Judgement:
    """Cards that stopped answering while the run went on, in order of time."""
    lost = sorted(sampled.lost, key=lambda each: each.after_s)
    if len(lost) > FEW:
        told = [(each, f"{duration(each.after_s)} into the run, code {each.code}") for each in lost]
        yield found(
            PROBLEM, DURING_MANY, count=len(lost), all=len(sampled.gpus), after=duration(lost[0].after_s),
            **together(told, "NVML"),
        )  # fmt: skip
        return
    for each in lost:
        yield found(
            PROBLEM, DURING, gpu=each.label, after=duration(each.after_s), **alone(each, "NVML", f"code {each.code}")
        )
    if not sampled.gpus or not sampled.events_told:
        yield Skip(NO_EVENTS if sampled.gpus else NO_GPU)
