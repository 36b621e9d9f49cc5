"""Arguments that the doctor adds where the user gave none, each said aloud, and what it would add but does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.shared.engine_gpus import SIZES, capability, served_gpus
from doctor.catalogue.shared.proofs import seen_by
from doctor.checks.vllm.kernels.half_refused import REFUSED
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.serving import Serving

#: bf16 needs Ampere (https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/platforms/cuda.py)
BF16 = (8, 0)

#: what listens nowhere, or where another argument says
_ELSEWHERE = ("host", "uds", "headless")

#: of a GPU's memory, what the weights may take and leave room for a KV cache
_ROOM = 0.7

_SAID: Mapping[str, Mapping[str, str]] = {
    "en": {
        "host": "--host 127.0.0.1, because no --host is given: other machines need an explicit one, and a key",
        "half": "--dtype half: {gpu} (compute capability {capability}) has no bf16",
        "float32": "--dtype float32: {gpu} (compute capability {capability}) has no bf16, {type} overflows in fp16",
        "tensor": "{seen} GPUs are visible and one is used: --tensor-parallel-size {size} divides the {heads} heads",
        "data": "{seen} GPUs are visible, and one is used, which fits the model: --data-parallel-size {seen}",
    },
    "zh": {
        "host": "未给出 --host,使用 --host 127.0.0.1:其他机器访问需显式指定 host 并设置 key",
        "half": "使用 --dtype half:{gpu}(计算能力 {capability})不支持 bf16",
        "float32": "使用 --dtype float32:{gpu}(计算能力 {capability})不支持 bf16,而 {type} 在 fp16 下会溢出",
        "tensor": "可见 {seen} 张 GPU,只会用一张:--tensor-parallel-size {size} 可整除 {heads} 个注意力头",
        "data": "可见 {seen} 张 GPU,只会用一张且放得下模型:--data-parallel-size {seen} 可提高吞吐",
    },
}


@record
class Choice:
    """Words for the command, none where it is only a suggestion, and the sentence that says so."""

    words: tuple[str, ...]
    sentence: str


def choices(states: Mapping[str, Observed], language: str, *, demo: bool) -> tuple[Choice, ...]:
    """What the doctor adds to the arguments, and suggests."""
    serving: Serving | None = _value(states, "serving")
    if serving is None:
        return ()
    said = _SAID[language]
    return (*_host(serving, said), *_dtype(serving, states, said), *_sizes(serving, states, said, demo=demo))


def _value(states: Mapping[str, Observed], name: str) -> Any:
    state = states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _host(serving: Serving, said: Mapping[str, str]) -> Iterator[Choice]:
    if not any(name in serving.arguments for name in _ELSEWHERE):
        yield Choice(("--host", "127.0.0.1"), said["host"])


def _dtype(serving: Serving, states: Mapping[str, Observed], said: Mapping[str, str]) -> Iterator[Choice]:
    """Half on cards without bf16, where the model would run in it or says nothing."""
    gpus: Gpus | None = _value(states, "gpus")
    model: Model | None = _value(states, "model")
    if "dtype" in serving.arguments or gpus is None or (model and model.torch_dtype not in {None, "bfloat16"}):
        return
    old = next(
        (
            gpu
            for gpu in served_gpus(serving, gpus, _value(states, "environment"))
            if gpu.compute_capability is not None and gpu.compute_capability < BF16
        ),
        None,
    )
    if old is None:
        return
    kind = model.model_type if model else None
    dtype = "float32" if kind in REFUSED else "half"
    yield Choice(
        ("--dtype", dtype), said[dtype].format(gpu=old.name or "the GPU", capability=capability(old), type=kind)
    )


def _sizes(
    serving: Serving, states: Mapping[str, Observed], said: Mapping[str, str], *, demo: bool
) -> Iterator[Choice]:
    """Several GPUs and no word about them: vLLM takes one. Which share pays is the user's to decide."""
    gpus: Gpus | None = _value(states, "gpus")
    model: Model | None = _value(states, "model")
    environment: Environment | None = _value(states, "environment")
    seen = len(seen_by(None, gpus, environment) or ())
    if seen < 2 or gpus is None or model is None or any(name in serving.arguments for name in SIZES):
        return
    memory = min((gpu.memory_total_bytes or 0 for gpu in gpus.gpus), default=0)
    if model.weight_bytes and memory and model.weight_bytes < _ROOM * memory:
        if not demo:  # the demo server has one engine and no balance between several
            yield Choice((), said["data"].format(seen=seen))
        return
    heads, layer = model.attention_heads or 0, model.intermediate_size or 0
    sizes = [each for each in (2, 4, 8, 16) if each <= seen and heads and heads % each == 0 and layer % each == 0]
    if sizes:
        yield Choice((), said["tensor"].format(seen=seen, size=sizes[-1], heads=heads))
