"""TRL's GRPO under the guard, on a CPU: a NaN is caught in its step, before the weights, and its birth is named."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from .conftest import Guarded

pytestmark = pytest.mark.process

Run = Callable[..., Guarded]
MODULE = "model.layers.1.mlp.down_proj"


def assert_weights_on_disk_are_finite(run: Guarded) -> None:
    """The checkpoint that the guard asked for; read with the standard library: float32 in the safetensors format."""
    import json
    import math
    import struct

    path = run.ran.folder / "out" / "checkpoint-3" / "model.safetensors"
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8 : 8 + size])
    assert {each["dtype"] for name, each in tensors.items() if name != "__metadata__"} == {"F32"}
    body = data[8 + size :]
    assert all(math.isfinite(value) for (value,) in struct.iter_unpack("<f", body))


@pytest.mark.parametrize("case", ["activation", "unclipped", pytest.param("accumulates", marks=pytest.mark.slow)])
def test_a_nan_activation_is_dropped_in_its_step_and_the_run_saved_and_stopped(case: str, guarded: Run) -> None:
    run = guarded(case)
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("NUM006", 3, "checkpoint")]
    alarm = run.alarm("NUM006")
    assert alarm["where"] == {"rank": 0, "step": 3, "module": MODULE}
    assert any(re.search(r"first nan: activation of .*, rows 0 ", each["text"]) for each in alarm["evidence"])
    assert f"first in module `{MODULE}`" in run.text
    assert run.result["step"] == 3
    assert run.result["finite"]
    assert run.result["own"] == [], "the trainer's own methods are back"
    assert_weights_on_disk_are_finite(run)


def test_a_nan_of_the_backward_alone_is_named_behind_the_clipping(guarded: Run) -> None:
    run = guarded("slope")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("NUM006", 3, "checkpoint")]
    alarm = run.alarm("NUM006")
    assert alarm["where"]["module"] == MODULE, "the last one of the forward whose gradient was NaN before the clipping"
    told = " ".join(each["text"] for each in alarm["evidence"])
    assert re.search(r"first NaN of the backward: (Sqrt|Pow)Backward0, of `return output \+ \(output \* 0\)\.pow", told)
    assert "guarded.py:" in told
    assert run.result["finite"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["iterations", "checkpointing", "cispo", "compiled", "lora"])
def test_other_ways_to_train_are_guarded_alike(kind: str, guarded: Run) -> None:
    """Batches that serve several steps, recomputed or compiled modules, another loss without clipping, adapters."""
    run = guarded(f"activation-{kind}")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("NUM006", 3, "checkpoint")]
    assert run.alarm("NUM006")["where"]["module"].endswith(MODULE)
    assert "is switched off" not in run.text
    assert run.result["step"] == 3
    assert run.result["finite"]
    assert (run.ran.folder / "out" / "checkpoint-3").is_dir()


def test_inf_is_told_from_nan(guarded: Run) -> None:
    alarm = guarded("activation-inf").alarm("NUM006")
    assert any("first inf: activation" in each["text"] for each in alarm["evidence"])


def test_a_dropped_step_goes_on(guarded: Run) -> None:
    run = guarded("skips")
    assert run.alarms == [("NUM006", 3, "skip-step")]
    assert run.result["step"] == 6
    assert run.result["finite"]


def test_the_policy_raise_ends_the_program(guarded: Run) -> None:
    run = guarded("raises")
    assert run.ran.code == 1
    assert "GuardStop: `grad_norm` is NaN at step 3" in run.text
    assert run.alarms == [("NUM006", 3, "raise")]
    assert not (run.ran.folder / "out" / "checkpoint-3").exists()


def test_a_nan_weight_is_named_where_the_generation_dies_of_it(guarded: Run) -> None:
    run = guarded("weight")
    assert run.ran.code == 1
    assert "probability tensor contains either" in run.text
    assert run.alarms == [("NUM006", 3, "warn")]
    assert "the weight `lm_head.weight` holds NaN" in run.text
    (event,) = run.events("exception")
    assert (event["step"], event["data"]["type"], event["data"]["alarms"]) == (3, "RuntimeError", ["NUM006"])
    assert [each["step"] for each in event["data"]["recent"]] == [1, 2]


@pytest.mark.parametrize("case", ["weight-greedy", pytest.param("weight-unfiltered", marks=pytest.mark.slow)])
def test_a_nan_weight_that_no_generation_dies_of_stops_the_run_without_saving_it(case: str, guarded: Run) -> None:
    run = guarded(case)
    assert run.ran.code == 0, run.text[-3000:]
    assert ("NUM006", 3, "stop") in run.alarms
    assert run.alarm("NUM006")["where"]["module"] == "lm_head"
    assert run.result["step"] == 3
    assert not list((run.ran.folder / "out").glob("checkpoint-*"))


def test_an_exploding_learning_rate_names_the_module_that_overflows(guarded: Run) -> None:
    run = guarded("explodes")
    assert run.ran.code == 1
    assert run.alarms == [("NUM006", 2, "warn")]
    assert run.alarm("NUM006")["where"]["module"].startswith("model.layers.0.")
    assert "learning rate" in run.text


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_a_reward_that_is_no_number_names_its_function_and_rows(kind: str, guarded: Run) -> None:
    run = guarded(f"reward-{kind}")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("RLX006", 3, "warn")]
    assert run.alarm("RLX006")["evidence"][0]["text"] == f"reward: {kind} for rows 1 of this rank's 4 completions"
    assert run.result["step"] == 6


def test_an_asynchronous_reward_function_is_watched_too(guarded: Run) -> None:
    run = guarded("reward-nan-async")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("RLX006", 3, "warn")]
    assert "`reward_in_a_while` returned NaN for 1 of 4 completions" in run.text


def test_a_reward_that_the_trainer_leaves_out_is_not_blamed_for_a_loss_that_is_no_number(guarded: Run) -> None:
    """TRL takes a NaN for None since 0.15; the advantages are finite, and the loss itself is broken here."""
    run = guarded("reward-nan-loss")
    assert run.alarms == [("RLX006", 3, "warn"), ("NUM006", 3, "checkpoint")]
    assert "`loss` is NaN at step 3: the model's outputs are finite, the loss is not" in run.text


def test_a_training_that_an_exception_has_ended_begins_again(guarded: Run) -> None:
    run = guarded("again")
    assert run.ran.code == 0, run.text[-3000:]
    assert "doctor" not in run.text
    assert run.alarms == []
    assert (run.result["step"], run.result["own"]) == (6, [])
    assert len(run.events("start")) == len(run.events("end")) == 2


@pytest.mark.slow
def test_the_forward_that_is_run_again_does_not_steer_the_trainer(guarded: Run) -> None:
    """Each of the six steps raises the adaptive weight of the entropy once."""
    run = guarded("skips-adaptive")
    assert run.alarms == [("NUM006", 3, "skip-step")]
    assert run.result["entropy_coef"] == 6 * 0.125


def test_the_callback_finds_its_trainer_and_a_healthy_run_is_the_same_with_it_and_without(guarded: Run) -> None:
    with_guard, without = guarded("callback"), guarded("callback", guard=False)
    assert with_guard.ran.code == without.ran.code == 0, with_guard.text[-3000:]
    assert "doctor" not in with_guard.text
    assert with_guard.alarms == []
    assert with_guard.result == without.result
    (start,) = with_guard.events("start")
    assert (start["data"]["trainer"], start["data"]["unseen"]) == ("Trainer", [])
    rows = with_guard.run.metrics(0).read_text().splitlines()
    assert rows[0] == "step,t_ns,name,value"
    assert {"1", "6"} <= {each.split(",")[0] for each in rows[1:]}


@pytest.mark.parametrize("seed", [2, 3, *(pytest.param(each, marks=pytest.mark.slow) for each in range(4, 22))])
def test_healthy_seeds_are_silent(seed: int, guarded: Run) -> None:
    run = guarded("long", seed=seed)
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == []
    assert "doctor" not in run.text
