"""The estimate against tensors counted in real GRPO steps of TRL on a CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from doctor.sizing import output_layer
from doctor.sizing.budget import MemoryPhase, budget_of
from doctor.sizing.setup import Hardware, Setup

from . import cases, measuring

pytestmark = pytest.mark.process

#: of the whole, and of what comes and goes beside weights and optimizer states
WHOLE, MOVING = 0.06, 0.08
FAST = ["checkpointing", "LoRA, bfloat16"]
_OUTSIDE = {"context", "slack"}  # no tensors
_LASTING = {"weights", "optimizer", "reference", "buckets"}


def expected(setup: Setup) -> dict[str, MemoryPhase]:
    return {each.name: each for each in budget_of(setup).phases}


def tensors(phase: MemoryPhase, without: frozenset[str] = frozenset()) -> float:
    return sum(each.likely for each in phase.parts if each.key not in _OUTSIDE | without)


def check(setup: Setup, measured: dict[str, int], name: str) -> None:
    phases = expected(setup)
    update = tensors(phases["update"])
    moving = tensors(phases["update"], frozenset(_LASTING))
    lasting = update - moving
    assert update == pytest.approx(measured["update"], rel=WHOLE), name
    assert moving == pytest.approx(measured["update"] - lasting, rel=MOVING), name
    assert phases["update"].low <= measured["update"] + tensors_outside(phases["update"]), name


def tensors_outside(phase: MemoryPhase) -> float:
    return sum(each.high for each in phase.parts if each.key in _OUTSIDE)


@pytest.mark.timeout(600)
def test_two_runs_are_estimated(tmp_path: Path) -> None:
    results = measuring.peaks([cases.request_of(each) for each in FAST], tmp_path, limit_s=580)
    for name, measured in zip(FAST, results, strict=True):
        check(cases.setup_of(name), measured, name)
        step = tensors(expected(cases.setup_of(name))["step"])
        assert step == pytest.approx(measured["step"], rel=0.01), name


def test_logits_as_older_releases_make_them(tmp_path: Path) -> None:
    measured = measuring.printed("full_logits.py", tmp_path)
    setup = replace(cases.setup_of("plain"), head="full")
    elements = setup.batch * (setup.completion_length + 1) * setup.shape.vocabulary
    for name, changed in {
        "float32": setup,
        "lifted": replace(setup, mixed="bf16", weights="bfloat16"),
        "bfloat16": replace(setup, mixed="bf16", strategy="zero2"),
    }.items():
        assert output_layer.backward_bytes(changed) / elements == pytest.approx(measured[name], rel=0.05), name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_runs_are_estimated(tmp_path: Path) -> None:
    names = [each for each in cases.CASES if each not in FAST]
    results = measuring.peaks([cases.request_of(each) for each in names], tmp_path, limit_s=850)
    for name, measured in zip(names, results, strict=True):
        check(cases.setup_of(name), measured, name)
        step = tensors(expected(cases.setup_of(name))["step"])
        assert step == pytest.approx(measured["step"], rel=0.01), name


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_partitions_of_two_ranks_are_estimated(stage: int, tmp_path: Path) -> None:
    zero = {"stage": stage, "reduce_bucket_size": "auto", "contiguous_gradients": True, "overlap_comm": False}
    if stage == 3:
        zero |= {"stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}
    deepspeed = {
        "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": True},
        "zero_optimization": zero, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
    }  # fmt: skip
    request = cases.request_of("plain")
    request["arguments"] |= {"bf16": True, "deepspeed": deepspeed}
    measured = measuring.peaks([request], tmp_path, ranks=2, limit_s=850)[0]
    setup = replace(
        cases.setup_of("plain"), hardware=Hardware(2, 2**34), strategy=f"zero{stage}", mixed="bf16",
    )  # fmt: skip
    check(setup, measured, f"ZeRO-{stage}")
    states = budget_of(setup).states
    left = states.weights + states.optimizer + (states.gradients if stage == 3 else 0)
    assert measured["rest"] == pytest.approx(left, rel=0.01)
