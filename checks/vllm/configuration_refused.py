"""vLLM refuses its arguments.

## What it means
The program checks its settings before it trains and refuses those that contradict each other, are missing, or
that the release does not support. Its message names them.
## What it does to a run
The command ends before the first step.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised in the validation of the program itself, and that names
settings.
## References
https://docs.vllm.ai/en/latest/configuration/engine_args/
https://github.com/vllm-project/vllm/tree/main/vllm/config
"""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.checks.launch._refusals import AREAS, REFUSED, finding, raised_in
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL057", name="vllm-configuration-refused", severity=ERROR, since="0.1")

#: files of vLLM that check arguments, and the library that it uses for them
VALIDATION = (
    r"[\\/]vllm[\\/](?:config|engine[\\/]arg_utils|entrypoints|sampling_params|v1[\\/]engine|platforms)|pydantic"
)

_OWN = re.compile(r"[\\/]vllm[\\/]")
_SIGN = 2

SIGNATURES = (
    Signature(
        REFUSED,
        frame=r"[\\/]vllm[\\/]",
        symptom_of=AREAS,
    ),
    Signature(
        r"^\s{0,8}Value error, (?P<message>[^\n\[]{8,400})",
        symptom_of=AREAS,
    ),
    # pydantic's models of others refuse in the same words
    Signature(r"\bvalidation errors? for (?P<model>[A-Z]\w{1,60})$", kind="sign"),
)

#: vLLM's own, https://github.com/vllm-project/vllm/tree/main/vllm/config
_MODELS = re.compile(
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
