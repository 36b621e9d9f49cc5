"""An inference server that the command starts, or that the training expects to find."""

from __future__ import annotations

from dataclasses import field

from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import record


@record
class Serving:
    """Arguments of `vllm serve`, `trl vllm-serve`, vLLM's API servers or `swift rollout` (its names for vLLM's without
    their prefix), names in snake case and aliases resolved.

    `tensor_parallel_size`, `data_parallel_size`, `pipeline_parallel_size` are 1 where not given. `host` is None
    where not given (each program has its own default); `has_api_key` looks at `--api-key` and VLLM_API_KEY .
    What `--config FILE` says lies below what the command line says; `broken` when that file cannot be read.
    """

    kind: str  # the Launch kind
    arguments: Settings = field(default_factory=dict)
    model: str | None = None
    tensor_parallel_size: int = 1
    data_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    dtype: str | None = None
    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None
    quantization: str | None = None
    host: str | None = None
    port: int | None = None
    has_api_key: bool | None = False
    broken: BrokenFile | None = None
    repeated_keys: tuple[RepeatedKey, ...] = ()


_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def human_int(text: str | None) -> int | None:
    """A number as vLLM reads it: `32k` is 32000, `32K` 32768 (vllm/utils/argparse_utils.py); None when it is none."""
    if not text:
        return None
    scale = _SCALES.get(text[-1])
    try:
        value = int(float(text[:-1]) * scale) if scale else int(text)
    except (ValueError, OverflowError):
        return None
    return value if value > 0 else None
