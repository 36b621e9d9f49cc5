"""Judges gpu-driver-silent (GPU001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.nvidia import Nvidia
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, duration

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_MISMATCH = TOML["log_mismatch"]
MESSAGE = TOML["main"]
IN_CONTAINER = TOML["in_container"]
MISMATCH = TOML["mismatch"]
SLOW = TOML["slow"]
DURING = TOML["during"]


NO_ANSWER = "no answer in time"  # of doctor.facts.nvidia


@check(PROBLEM)
def driver_silent(nvidia: Nvidia, host: Host | None) -> Judgement:
    """Silent where there is no NVIDIA hardware, and where NVML answers."""
    error = nvidia.nvml_error
    if not error:
        return
    evidence = (Observed.quoted("NVML", error),)
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
            where=Where(host=hangs[0].host),
            evidence=(Observed.quoted("sampler", f"silent for {hangs[0].silent_s} s"),),
        )  # fmt: skip
    elif not sampled.events_told:
        yield Skip(NO_EVENTS if sampled.gpus else NO_GPU)
