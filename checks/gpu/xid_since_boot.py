"""The driver reported a GPU error since boot.

## What it means
An Xid is the driver's report of an error of a card. Some come from the program (13, 31, 43, 45), others from
memory, link, firmware or the card itself.
## What it does to a run
Hardware Xids tend to come back: the next one ends the process on that card, and every other rank waits until its
time-out.
## What to do
Look the number up in NVIDIA's table, which names the action: restart the program, reset the GPU, or have the card
examined.
## How it is found
Lines `NVRM: Xid` of the kernel's message buffer, where it may be read; during a run, the driver's events
that `doctor monitor` waits for.
In a log: by the message that the program or the driver prints.
## References
https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

from typing import Any

from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, INFO, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, SampledEvent, duration

PROBLEM = Problem(id="GPU010", name="gpu-xid-since-boot", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(r"NVRM: Xid \((?P<pci>[^)\n]{1,60})\): (?P<code>(?!(?:48|63|79|92|94|95|140),)\d{1,3}),"),
    # records of memory that gets worse: they end nothing
    Signature(r"NVRM: Xid \((?P<pci>[^)\n]{1,60})\): (?P<code>63|92),", kind="warning"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the driver reported Xid {code} of GPU {pci}: {kind}",
        "This comes from the hardware or its firmware, not from the program. What runs on that GPU hangs "
        "or dies, nvidia-smi too in the worst case, and all other ranks wait for it until their time-out.",
        "{deed} Resume from the last checkpoint on other GPUs meanwhile; `nvidia-smi -L` with bus ids "
        "tells which card it is.",
    ),
    zh=Words(
        "驱动报告 GPU {pci} 的 Xid {code}:{kind_zh}",
        "这来自硬件或其固件,与程序无关。该 GPU 上的程序会挂起或退出(严重时 nvidia-smi 也会),其他 rank 会等待到超时。",
        "{deed_zh}在此期间用其他 GPU 从最近的检查点继续;`nvidia-smi -L` 与总线号可确定是哪张卡。",
    ),
)

LOG_MESSAGE_NOTED = Message(
    en=Words(
        "the driver noted Xid {code} of GPU {pci}: {kind}",
        "It is a record about memory that gets worse, and by itself ends no program. Where one died at that moment, "
        "Xid 48, 94 or 95 stands beside it.",
        "{deed} Look at `nvidia-smi -q -d ECC,ROW_REMAPPER`; if it comes again and again, have the card examined.",
    ),
    zh=Words(
        "驱动记录了 GPU {pci} 的 Xid {code}:{kind_zh}",
        "这是关于显存变差的记录,本身不会结束任何程序。若当时有程序退出,旁边会有 Xid 48、94 或 95。",
        "{deed_zh}查看 `nvidia-smi -q -d ECC,ROW_REMAPPER`;若反复出现,请检修该卡。",
    ),
)

LOG_MESSAGE_PROGRAM = Message(
    en=Words(
        "the driver reported Xid {code} of GPU {pci}: {kind}",
        "Usually the program's own fault: a kernel that reads outside of its memory (illegal memory "
        "access, a device-side assert), or a process that was killed. The same number on one card only, "
        "with different programs, points to the hardware.",
        "Look at what the process printed at that time and run it with CUDA_LAUNCH_BLOCKING=1 "
        "(`compute-sanitizer` for the kernel). If it follows the card, not the program, drain the node, "
        "reset the GPU and run NVIDIA's diagnostics (`dcgmi diag -r 3`).",
    ),
    zh=Words(
        "驱动报告 GPU {pci} 的 Xid {code}:{kind_zh}",
        "通常是程序自身的问题:内核越界访问(illegal memory access、device-side assert),或进程被杀死。若不"
        "同程序在同一张卡上都出现该编号,则指向硬件。",
        "查看该进程当时的输出,并用 CUDA_LAUNCH_BLOCKING=1 运行(内核用 `compute-sanitizer`)。若问题跟随显"
        "卡而不是程序,排空节点、重置 GPU 并运行 NVIDIA 诊断(`dcgmi diag -r 3`)。",
    ),
)

#: Xids that NVIDIA's table does not lay to the program: memory, bus, link, firmware. Others are left alone.
HARDWARE = {
    48: "double bit ECC error",
    62: "internal micro-controller halt",
    63: "row remapping recorded",
    64: "row remapping failed to be recorded",
    74: "NVLink error",
    79: "the GPU fell off the bus",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "time-out of the GPU's firmware (GSP)",
    120: "error of the GPU's firmware (GSP)",
    140: "unrecovered ECC error",
}

MESSAGE = Message(
    en=Words(
        "Xid {xid} since boot on {place}: {meaning}",
        "Hardware Xids tend to come back. The next one ends the process on that card and stalls every other rank.",
        "Look the number up in NVIDIA's table and do what it says before a long run.",
    ),
    zh=Words(
        "自启动以来 {place} 出现 Xid {xid}:{meaning}",
        "硬件类 Xid 往往会再次出现,届时该卡上的进程会退出,其余 rank 会卡住。",
        "在长时间训练之前,请查阅 NVIDIA 的 Xid 表并按其建议处理。",
    ),
)


DURING = Message(
    en=Words(
        "Xid {xid} on GPU {gpu}, {after} into the run: {meaning}",
        "The driver reports with this number what went wrong on the card at that moment.",
        "Look the number up in NVIDIA's table and compare the time with what the run printed then.",
    ),
    zh=Words(
        "运行 {after} 时 GPU {gpu} 出现 Xid {xid}:{meaning}",
        "驱动用这个编号报告当时该卡上发生的问题。",
        "请查阅 NVIDIA 的 Xid 表,并与当时的日志对照。",
    ),
)
DURING_MANY = Message(
    en=Words(
        "Xid {xid} on {count} of {all} GPUs, the first {after} into the run: {meaning}",
        "The driver reports with this number what went wrong on the card. On many cards at once it follows from one "
        "event: the first card to report, or the end of the program.",
        "Look the number up in NVIDIA's table, begin with the card that reported first, and compare the time with what "
        "the run printed then.",
    ),
    zh=Words(
        "{all} 块 GPU 中有 {count} 块出现 Xid {xid},最早在运行 {after} 时:{meaning}",
        "驱动用这个编号报告该卡上发生的问题。许多卡同时出现时,多由同一事件引起:最先报告的卡,或程序的退出。",
        "请查阅 NVIDIA 的 Xid 表,从最先报告的卡开始,并与当时的日志对照。",
    ),
)


@check(PROBLEM)
def xid_since_boot(gpus: Gpus) -> Judgement:
    """One finding for each card and number, however often it came."""
    if gpus.xids is None:
        yield Skip("the kernel's messages may not be read, so Xids since boot are not known")
        return
    seen = set()
    for index, xid, text in gpus.xids:
        if xid not in HARDWARE or (index, xid) in seen:
            continue
        seen.add((index, xid))
        yield found(
            PROBLEM,
            MESSAGE,
            xid=xid,
            place="an unknown GPU" if index is None else f"GPU {index}",
            meaning=HARDWARE[xid],
            where=Where(gpu=index),
            commands=("sudo dmesg | grep Xid",),
            evidence=(Evidence("kernel messages", text),),
        )


#: Xids that a faulty program causes as well: https://docs.nvidia.com/deploy/xid-errors/
PROGRAM = frozenset({13, 31, 43, 45, 69})
_RESET = ("Drain the node and reset the GPU, or reboot.", "排空节点并重置 GPU 或重启。")
#: Xids that only record something
NOTED = frozenset({63, 92})
#: Xids that NVIDIA lays to driver and program as well as to the card
EITHER = frozenset({109})
OTHER = ("an error of the card, its memory, link or firmware", "显卡、显存、链路或固件的错误", *_RESET)
#: number -> what it is and what to do, in both languages
CODES = {
    13: (
        "a kernel ran into an exception of the graphics engine",
        "内核触发了图形引擎异常",
        *_RESET,
    ),
    31: (
        "a kernel touched an address that is not its own",
        "内核访问了不属于它的地址",
        *_RESET,
    ),
    43: (
        "a program's channel was stopped after an error",
        "程序的通道因错误被停止",
        *_RESET,
    ),
    45: (
        "a program's channels were removed, usually after it had died",
        "程序的通道被移除,通常在其退出之后",
        *_RESET,
    ),
    61: (
        "the card's micro-controller stopped",
        "显卡微控制器停止",
        *_RESET,
    ),
    62: (
        "the card's micro-controller stopped",
        "显卡微控制器停止",
        *_RESET,
    ),
    63: (
        "a memory row waits to be remapped",
        "有显存行等待重映射",
        "Reset the GPU, so that the row is remapped.",
        "重置 GPU 以完成重映射。",
    ),
    64: (
        "a bad memory row could not be remapped",
        "坏显存行无法重映射",
        "Reset the GPU; if it repeats have the card replaced (RMA).",
        "重置 GPU;若重复出现,更换显卡(RMA)。",
    ),
    74: (
        "an NVLink of the card failed",
        "显卡的某条 NVLink 出错",
        ("Check `nvidia-smi nvlink -s` and `-e`, reseat bridge or tray, reset; NCCL_P2P_DISABLE=1 gets a run going."),
        ("检查 `nvidia-smi nvlink -s` 与 `-e`,重新安装桥接器或托盘并重置;NCCL_P2P_DISABLE=1 可让任务先运行。"),
    ),
    92: (
        "many correctable memory errors",
        "大量可纠正的显存错误",
        *_RESET,
    ),
    109: (
        "the switch between programs on the card timed out",
        "卡上程序切换超时",
        *_RESET,
    ),
    119: (
        "the card's GSP firmware no longer answers the driver (RPC time-out)",
        "显卡的 GSP 固件不再应答驱动(RPC 超时)",
        (
            "Drain the node and reset the GPU or reboot; if it repeats update the driver, or switch GSP off "
            "(`NVreg_EnableGpuFirmware=0`); RMA if it stays."
        ),
        ("排空节点并重置 GPU 或重启;若重复出现,更新驱动或关闭 GSP(`NVreg_EnableGpuFirmware=0`);仍存在则 RMA。"),
    ),
    120: (
        "the card's GSP firmware failed",
        "显卡的 GSP 固件出错",
        "Drain the node and reset the GPU or reboot; if it repeats update the driver.",
        "排空节点并重置 GPU 或重启;若重复出现,更新驱动。",
    ),
}


def explain(hits: Hits) -> Finding | None:
    """The number tells whose fault it is and what to do."""
    code = int(hits.get("code") or 0)
    kind, kind_zh, deed, deed_zh = CODES.get(code, OTHER)
    program, noted = code in PROGRAM, code in NOTED
    unsure = program or code in EITHER or code not in CODES
    return found(
        PROBLEM,
        LOG_MESSAGE_NOTED if noted else LOG_MESSAGE_PROGRAM if program else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if unsure else CONFIRMED,
        severity=WARNING if noted else ERROR,
        code=code,
        pci=hits.get("pci"),
        kind=kind,
        kind_zh=kind_zh,
        deed=deed,
        deed_zh=deed_zh,
    )


@check(PROBLEM)
def xid_during_the_run(sampled: Sampled) -> Judgement:
    """One finding a card and number; one a number where many cards report it."""
    numbers: dict[int, list[SampledEvent]] = {}
    for each in sorted(sampled.xids, key=lambda event: event.after_s):
        of_number = numbers.setdefault(each.code or 0, [])
        if all(each.label != other.label for other in of_number):
            of_number.append(each)
    for xid, cards in numbers.items():
        severity = None if xid in HARDWARE else INFO
        words: dict[str, Any] = {
            "xid": xid,
            "meaning": HARDWARE.get(xid, "often a fault of the program"),
            "severity": severity,
        }
        if len(cards) > FEW:
            told = [(each, f"Xid {xid}, {duration(each.after_s)} into the run") for each in cards]
            yield found(
                PROBLEM, DURING_MANY, **words, count=len(cards), all=len(sampled.gpus),
                after=duration(cards[0].after_s), **together(told, "NVML event"),
            )  # fmt: skip
            continue
        for each in cards:
            place = alone(each, "NVML event", f"Xid {xid}")
            yield found(PROBLEM, DURING, **words, gpu=each.label, after=duration(each.after_s), **place)
    if not sampled.xids_watched:
        yield Skip("the driver tells the sampler of no Xids" if sampled.events_told else
                   NO_EVENTS if sampled.gpus else NO_GPU)  # fmt: skip
