"""Real DeepSpeed on a CPU under `doctor.watch(engine)`: every ZeRO stage, one process and two."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.real.runs import environment, run

pytestmark = pytest.mark.process

PROGRAM = Path(__file__).parent / "programs" / "deepspeed_engine.py"
#: a busy machine, and the first run where nothing is compiled yet
LIMIT_S = 280

OVERFLOW = [f"{stage}:fp16:overflow@4:40" for stage in range(4)]
NAN = ["0:bf16:loss-nan@3", "3:bf16:loss-nan@3", "0:fp32:loss-nan@3", "1:fp16:loss-nan@3", "2:fp16:loss-nan@3"]
GRADIENT = ["0:bf16:gradient-nan@3", "2:bf16:gradient-nan@3", "3:bf16:gradient-nan@3"]
WELL = ["0:bf16:never", "0:fp16:never", "1:fp16:never", "2:fp32:never", "3:fp16:never"]
WEIGHT = "3:bf16:weight-nan@3"
TWO = [
    "0:bf16:loss-nan@3/1",
    "2:fp16:loss-nan@3/1",
    "2:bf16:gradient-nan@3/0",
    "3:bf16:weight-nan@3",
    "3:bf16:loss-nan@3/1",
]
RAISES = "3:bf16:raises@3/1"
TWO_OVERFLOW, TWO_WELL = "3:fp16:overflow@4:40", "2:bf16:never"

Outcome = dict[str, Any]


def outcomes(python: Path, carried: Path, folder: Path, processes: int, cases: list[str]) -> dict[str, list[Outcome]]:
    """Run cases one after another in so many processes; what each rank says of each."""
    argv = [
        str(python.parent / "torchrun"), "--nproc-per-node", str(processes), "--rdzv-backend", "c10d",
        "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAM), *cases,
    ]  # fmt: skip
    ran = run(argv, folder, {**environment(python, folder), "PYTHONPATH": str(carried)}, limit_s=LIMIT_S)
    told: dict[str, list[Outcome]] = {}
    for line in ran.text.splitlines():
        if line.startswith('{"case"'):
            outcome = json.loads(line)
            told.setdefault(outcome["case"], []).append(outcome)
    assert ran.code == 0, ran.text[-4000:]
    assert {case: len(each) for case, each in told.items()} == dict.fromkeys(cases, processes), ran.text[-4000:]
    return told


@pytest.fixture(scope="module")
def one(python: Path, carried: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    cases = [*OVERFLOW, *NAN, *GRADIENT, *WELL, WEIGHT]
    told = outcomes(python, carried, tmp_path_factory.mktemp("one"), 1, cases)
    return {case: each[0] for case, each in told.items()}


@pytest.fixture(scope="module")
def two(python: Path, carried: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Outcome]]:
    return outcomes(python, carried, tmp_path_factory.mktemp("two"), 2, [*TWO, RAISES, TWO_OVERFLOW, TWO_WELL])


def found(outcome: Outcome, problem: str) -> dict[str, Any]:
    first: dict[str, Any] = next(each for each in outcome["found"] if each["id"] == problem)
    return first


@pytest.mark.parametrize("case", OVERFLOW)
def test_overflows_are_flagged_before_the_minimum(one, case):
    """From 2^6 the minimum is reached with the sixth halving; ZeRO 1 to 3 then raise, ZeRO 0 skips on for ever."""
    outcome = one[case]
    falling = found(outcome, "NUM005")
    assert falling["severity"] == "error"
    assert "halved 3 times" in falling["headline"]
    halved = min(step for step, scale in enumerate(outcome["scales"], 1) if step > 3 and scale == 16)
    reached = min(step for step, scale in enumerate(outcome["scales"], 1) if scale == 1)
    predicted = int(falling["headline"].rpartition(" ")[2])
    assert halved < reached == predicted
    if case.startswith("0"):
        assert found(outcome, "DSP017")["severity"] == "error"
        assert outcome["stopped"].startswith("GuardStop")
    else:
        assert "Current loss scale already at minimum" in outcome["stopped"]
    assert "NUM006" not in {each["id"] for each in outcome["found"]}
    assert outcome["finite"]


@pytest.mark.parametrize("case", NAN)
def test_a_nan_loss_is_stopped_in_its_step_and_reaches_no_weight(one, case):
    outcome = one[case]
    assert (outcome["step"], outcome["finite"]) == (3, True)
    assert outcome["stopped"].startswith("GuardStop")
    (finding,) = outcome["found"]
    assert (finding["id"], finding["step"]) == ("NUM006", 3)
    assert "outputs are finite, the loss is not" in finding["headline"]


@pytest.mark.parametrize("case", GRADIENT)
def test_a_gradient_that_is_not_finite_under_a_finite_loss(one, case):
    outcome = one[case]
    assert (outcome["step"], outcome["finite"]) == (3, True)
    (finding,) = outcome["found"]
    assert (finding["id"], finding["step"]) == ("NUM006", 3)
    assert finding["headline"].startswith("`grad_norm` is ")


def test_a_weight_that_is_not_finite_is_named_though_each_rank_holds_a_part(one, two):
    assert "the weight `second.bias` holds NaN" in found(one[WEIGHT], "NUM006")["headline"]
    for outcome in two["3:bf16:weight-nan@3"]:
        finding = found(outcome, "NUM006")
        assert "the weight `second.bias` holds NaN" in finding["headline"]
        assert finding["rank"] == 1  # whose part it is


@pytest.mark.parametrize("case", WELL)
def test_a_run_that_is_well_is_left_alone(one, case):
    outcome = one[case]
    assert (outcome["stopped"], outcome["step"], outcome["found"], outcome["missing"]) == (None, 8, [], [])
    assert outcome["finite"]
    assert not math.isnan(sum(outcome["steps_seen"]))


@pytest.mark.parametrize("case", TWO)
def test_what_one_rank_sees_ends_both_in_the_same_step(two, case):
    for outcome in two[case]:
        assert outcome["stopped"].startswith("GuardStop"), outcome
        assert outcome["step"] == 3
        assert found(outcome, "NUM006")["step"] == 3
        assert outcome["finite"] or "weight" in case


def test_a_search_that_fails_on_one_rank_is_broken_off_by_both(two):
    """Under ZeRO 3 the other one would wait for ever in the collective that gathers the next weight."""
    for outcome in two[RAISES]:
        assert outcome["stopped"].startswith("GuardStop"), outcome
        assert (outcome["step"], outcome["finite"]) == (3, True)
        assert "seen before the optimizer's step" in found(outcome, "NUM006")["headline"]


def test_two_ranks_tell_the_same_of_a_scale_that_falls(two):
    first, second = two[TWO_OVERFLOW]
    assert found(first, "NUM005")["headline"] == found(second, "NUM005")["headline"]
    assert [outcome["found"] for outcome in two[TWO_WELL]] == [[], []]
