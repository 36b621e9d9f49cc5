"""Judges served-size-beyond-gpu (MEM029), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import sizes_known
from doctor.catalogue.shared.memory_bounds import GIB, HALF_BYTES, gib
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: dense models whose plain name stands for bf16 weights: organisation, family, and billions of parameters at the end
_DENSE = later(
    r"(?:Qwen/Qwen(?:1\.5|2|2\.5|3)|meta-llama/(?:Meta-)?Llama-(?:2|3|3\.1|3\.3)"
    r"|deepseek-ai/DeepSeek-R1-Distill-(?:Qwen|Llama))-(?P<billions>\d{1,3}(?:\.\d)?)b"
    r"(?:-(?:instruct|chat|base|hf|chat-hf|instruct-2507|thinking-2507))?",
    re.IGNORECASE,
)
_ROUNDED = 0.95
#: options by which the weights take another form, or another place
_OTHERWISE = ("cpu_offload_gb", "load_format", "hf_overrides", "nnodes", "device", "offload_backend")
#: of a GPU, what the weights may take at most of the size that is proposed: the rest is the KV cache
_ROOM = 0.75


@check(PROBLEM)
def served_size_beyond_gpu(serving: Serving, model: Model | None, gpus: Gpus) -> Judgement:
    """The largest GPU counts, whichever are visible."""
    name = _DENSE.fullmatch(serving.model or "")
    if (
        (model is not None and (model.here or model.parameters))
        or name is None
        or serving.quantization
        or not sizes_known(serving)
    ):
        return
    if any(serving.arguments.get(each) for each in _OTHERWISE) or not gpus.gpus:
        return
    if any(gpu.memory_total_bytes is None or gpu.mig_enabled for gpu in gpus.gpus):
        return
    largest = max(gpus.gpus, key=lambda gpu: gpu.memory_total_bytes or 0)
    total = largest.memory_total_bytes or 0
    need = float(name["billions"]) * 1e9 * HALF_BYTES * _ROUNDED
    part = need / (serving.tensor_parallel_size * serving.pipeline_parallel_size)
    if part <= total:
        return
    wider = _wider(serving, need, total, len(gpus.gpus))
    given = serving.arguments.get("tensor_parallel_size")
    yield found(
        PROBLEM,
        MESSAGE,
        model=serving.model,
        weights=round(need / GIB),
        part=round(part / GIB),
        gpu=largest.label,
        total=gib(total),
        confidence=LIKELY,
        where=place_of(given),
        commands=(f"--tensor-parallel-size {wider}",) if wider else (),
        evidence=(Observed.quoted("NVML", f"{len(gpus.gpus)} GPUs, the largest with {gib(total)} GiB"),),
    )


def _wider(serving: Serving, need: float, total: int, gpus: int) -> int | None:
    """The smallest tensor parallel size with which the weights leave room; the families divide by all of these."""
    if serving.pipeline_parallel_size * serving.data_parallel_size > 1:
        return None
    return next((size for size in (2, 4, 8) if size <= gpus and need / size <= total * _ROOM), None)
