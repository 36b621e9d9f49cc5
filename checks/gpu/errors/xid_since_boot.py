"""Judges gpu-xid-since-boot (GPU010), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import ERROR, INFO, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, SampledEvent, duration

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NOTED = TOML["log_noted"]
LOG_MESSAGE_PROGRAM = TOML["log_program"]
MESSAGE = TOML["main"]
DURING = TOML["during"]
DURING_MANY = TOML["during_many"]


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
            evidence=(Observed.quoted("kernel messages", text),),
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
