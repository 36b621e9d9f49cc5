"""Judges LCH6560/vllm, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.shared.refusals import finding, raised_in
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem


#: files of vLLM that check arguments, and the library that it uses for them
VALIDATION = (
    r"[\\/]vllm[\\/](?:config|engine[\\/]arg_utils|entrypoints|sampling_params|v1[\\/]engine|platforms)|pydantic"
)

_OWN = later(r"[\\/]vllm[\\/]")
_SIGN = 2


#: vLLM's own, https://github.com/vllm-project/vllm/tree/main/vllm/config
_MODELS = later(
    r"(?:Vllm|Model|Cache|Parallel|Scheduler|Device|Load|LoRA|Speculative|StructuredOutputs|Decoding|Observability"
    r"|KVTransfer|KVEvents|EPLB|Compilation|Pooler|MultiModal|Attention|Kernel|Offload|Profiler|Mamba|Quantization"
    r"|WeightTransfer)Config|(?:Async)?EngineArgs|SamplingParams|\w{1,40}Request"
)


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation; layers refuse less clearly than settings."""
    models = hits.values("model")
    hits = replace(hits, kept=[hit for hit in hits if hit.signature < _SIGN])
    if not hits.kept:
        return None
    text, frames = hits.get("message") or "", hits.first.frames
    if models and not any(map(_MODELS.fullmatch, models)):
        return None
    if not frames or (raised_in(hits, VALIDATION) and any(_OWN.search(each) for each in frames)):
        return finding(PROBLEM, "vLLM", hits, text)
    if raised_in(hits, r"[\\/]vllm[\\/]"):
        return finding(PROBLEM, "vLLM", hits, text, ("divisible", "exclusive", "value"))
    return None
