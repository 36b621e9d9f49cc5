"""When a problem bites: what a reader wants to mend first, and the order in which findings are told."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.catalogue.problem import AREA_OF

#: in this order: nothing starts; before the model is loaded; in the first step; later; the run is only slow
STAGES = ("start", "load", "step", "later", "speed")
_OF_AREA: Mapping[str, str] = {
    "launch": "start", "python": "start", "accelerate": "start", "cuda": "load", "gpu": "load", "transformers": "load",
    "hub": "load", "peft": "load", "flash_attn": "load", "bitsandbytes": "load", "torch": "load", "vllm": "load",
    "verl": "load", "trinity": "load", "ray": "load", "openrlhf": "load", "deepspeed": "load", "data": "load",
    "nccl": "step", "fsdp": "step", "trl": "step", "memory": "step", "host": "step", "numerics": "later",
    "checkpoint": "later", "tracking": "later", "rl": "later", "unknown": "later", "perf": "speed",
}  # fmt: skip


def stage_of(problem_id: str, declared: Mapping[str, str], *, ends_run: bool = True) -> str:
    """Stage of a problem: what its file says (`bites`), else what is usual in its area."""
    if problem_id in declared:
        return declared[problem_id]
    usual = _OF_AREA.get(AREA_OF.get(problem_id[:3], "unknown"), "later")
    return "speed" if not ends_run and usual in {"step", "later"} else usual


def rank_of(problem_id: str, declared: Mapping[str, str], *, ends_run: bool = True) -> int:
    """0 for what keeps the run from starting, 4 for what only slows it."""
    return STAGES.index(stage_of(problem_id, declared, ends_run=ends_run))
