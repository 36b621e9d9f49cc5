"""Judges free-memory-below-share (VLL027), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import served_gpus
from doctor.catalogue.shared.memory_bounds import gib
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_SHARE = TOML["log_share"]
MESSAGE = TOML["main"]


#: least default share of the releases in the range
DEFAULT_SHARE = 0.9
#: NVML counts some hundred MiB of the driver's that CUDA leaves out of both numbers
SLACK = 0.03


@check(PROBLEM)
def free_memory_below_share(
    serving: Serving, gpus: Gpus, environment: Environment | None, packages: Packages
) -> Judgement:
    """What is taken now may be free when the server starts, so this is likely at most."""
    setting = serving.arguments.get("gpu_memory_utilization")
    if (setting is not None and serving.gpu_memory_utilization is None) or packages.version("vllm") is None:
        return
    share = serving.gpu_memory_utilization or DEFAULT_SHARE
    for gpu in served_gpus(serving, gpus, environment):
        total, free = gpu.memory_total_bytes, gpu.memory_free_bytes
        if total is None or free is None or gpu.mig_enabled or not 0 < share <= 1:
            continue
        if free < total * (share - SLACK):
            fitting = max(int((free / total - SLACK) * 20) / 20, 0.0)
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                free=gib(free),
                want=gib(total * share),
                share=share,
                fitting=fitting,
                confidence=LIKELY,
                where=place_of(setting) or Where(gpu=gpu.index),
                commands=(f"--gpu-memory-utilization {fitting:g}",) if fitting else (),
                evidence=(*proofs(setting), Observed.quoted("NVML", f"{gib(free)} of {gib(total)} GiB are free")),
            )


def explain(hits: Hits) -> Finding | None:
    """Say what is taken already and which share would fit."""
    share, want = float(hits.get("share") or 0), float(hits.get("want") or 0)
    free, total = float(hits.get("free") or 0), float(hits.get("total") or 0)
    fits = int(free / total * 100 - 2) / 100 if total else 0.0
    alone = free >= 0.9 * total  # hardly anything is taken: the share is just too large
    return found(
        PROBLEM,
        LOG_MESSAGE_SHARE if alone else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("nvidia-smi", f"--gpu-memory-utilization {fits:g}") if fits >= 0.05 else ("nvidia-smi",),
        free=f"{free:g}",
        total=f"{total:g}",
        share=f"{share:g}",
        want=f"{want:g}",
        held=f"{total - free:.1f}",
        fits=f"{max(fits, 0):g}",
    )
