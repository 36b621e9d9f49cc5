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
    119: "timeout of the GPU's firmware (GSP)",
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
            known=index is not None,
            index=index,
            meaning=HARDWARE[xid],
            where=Where(gpu=index),
            commands=("sudo dmesg | grep Xid",),
            evidence=(Observed.quoted("kernel messages", text),),
        )


#: Xids that a faulty program causes as well: https://docs.nvidia.com/deploy/xid-errors/
PROGRAM = frozenset({13, 31, 43, 45, 69})
#: number -> what it is, and what to do
KINDS, DEEDS = TOML.phrases("kind"), TOML.phrases("deed")
#: Xids that only record something
NOTED = frozenset({63, 92})
#: Xids that NVIDIA lays to driver and program as well as to the card
EITHER = frozenset({109})


def explain(hits: Hits) -> Finding | None:
    """The number tells whose fault it is and what to do."""
    code = int(hits.get("code") or 0)
    program, noted = code in PROGRAM, code in NOTED
    unsure = program or code in EITHER or str(code) not in KINDS
    return found(
        PROBLEM,
        LOG_MESSAGE_NOTED if noted else LOG_MESSAGE_PROGRAM if program else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if unsure else CONFIRMED,
        severity=WARNING if noted else ERROR,
        code=code,
        pci=hits.get("pci"),
        kind=KINDS.get(str(code), KINDS["other"]),
        deed=DEEDS.get(str(code), DEEDS["reset"]),
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
        yield Skip("the driver does not report Xids to the sampler" if sampled.events_told else
                   NO_EVENTS if sampled.gpus else NO_GPU)  # fmt: skip
