"""Random states of this process, as they were before somebody else drew from them.

An engine in the trainer's process samples from the same generators: vLLM draws from the one of the device
(https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/sample/ops/topk_topp_sampler.py), others from Python's or
NumPy's.

Runs inside the patient: Python 3.9, the patient's own torch.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

#: accelerators that may have generators of their own, by their name below `torch`
_ACCELERATORS = ("cuda", "npu", "xpu")


@contextmanager
def draws_kept() -> Iterator[None]:
    """Put back what Python, NumPy and torch draw from, on the CPU and on each accelerator in use; imports nothing."""
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            stack.callback(numpy.set_state, numpy.get_state())
        torch = sys.modules.get("torch")
        if torch is not None:
            stack.callback(torch.set_rng_state, torch.get_rng_state())
            for accelerator in _in_use(torch):
                stack.callback(accelerator.set_rng_state_all, accelerator.get_rng_state_all())
        yield


def _in_use(torch: Any) -> list[Any]:
    """Accelerators that are initialised; asking another one for its state would initialise it."""
    found = (getattr(torch, each, None) for each in _ACCELERATORS)
    return [each for each in found if each is not None and each.is_available() and each.is_initialized()]
