"""An engine's weights against the trainer's, over layouts, precisions and faults."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from doctor.oracles import BROKEN, HOLDS, UNSEEN, compare_weights, digest, weight_checksums
from doctor.oracles.weights import rounded

from .layout import engine_weights, trainer_weights

torch = pytest.importorskip("torch")
PRECISIONS = [torch.float32, torch.bfloat16, torch.float16]


def stepped(weights: dict[str, Any], size: float = 0.01) -> dict[str, Any]:
    return {name: each + torch.randn_like(each) * size for name, each in weights.items()}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_what_was_pushed_is_what_is_held(precision: Any, experts: bool, tied: bool) -> None:
    weights = trainer_weights(torch, experts=experts, tied=tied)
    verdict = compare_weights(weights, engine_weights(torch, weights, precision))
    assert verdict.state is HOLDS
    assert verdict.details["unknown"] == []
    assert verdict.details["compared"] == len(weights)


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod.", "module._fsdp_wrapped_module.", "base_model.model."])
def test_wrappers_of_the_trainer_do_not_matter(wrapper: str) -> None:
    weights = trainer_weights(torch)
    wrapped = {wrapper + name.replace("q_proj.", "q_proj.base_layer."): each for name, each in weights.items()}
    wrapped[wrapper + "model.layers.0.self_attn.q_proj.lora_A.default.weight"] = torch.ones(2, 8)
    assert compare_weights(wrapped, engine_weights(torch, weights, torch.bfloat16)).state is HOLDS


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("left", [[0], [2], [0, 1]])
def test_layers_that_stay_behind_are_named_with_their_step(precision: Any, left: list[int]) -> None:
    first = trainer_weights(torch)
    past = {0: weight_checksums(first)}
    second = stepped(first)
    past[1] = weight_checksums(second)
    now = stepped(second)
    mixed = {
        name: second[name] if any(f"layers.{at}." in name for at in left) else now[name]
        for name in now
    }  # fmt: skip
    verdict = compare_weights(now, engine_weights(torch, mixed, precision), past)
    assert verdict.state is BROKEN
    assert (verdict.details["stale_step"], verdict.details["stale_layers"]) == (1, left)
    assert verdict.reason == f"{len(left)} of 3 layers are those of step 1"


def test_a_head_that_was_not_sent_is_named() -> None:
    first = trainer_weights(torch)
    now = stepped(first)
    verdict = compare_weights(
        now, engine_weights(torch, {**now, "lm_head.weight": first["lm_head.weight"]}, torch.bfloat16),
        {0: weight_checksums(first)},
    )  # fmt: skip
    assert verdict.reason == "`lm_head.weight` is that of step 0"


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 2, 1, 0], [1, 2, 3, 0]])
def test_experts_at_each_others_places_are_named(order: list[int]) -> None:
    weights = trainer_weights(torch, experts=True)
    held = engine_weights(torch, weights, torch.bfloat16)
    for name in ("w13_weight", "w2_weight"):
        key = f"model.layers.1.mlp.experts.{name}"
        held[key] = held[key][order].clone()
    verdict = compare_weights(weights, held)
    assert verdict.details["experts"] == {1: [at for at, each in enumerate(order) if at != each]}


def test_experts_in_one_tensor_of_the_trainer_are_known_too() -> None:
    weights = trainer_weights(torch, 1, experts=True)
    held = engine_weights(torch, weights, torch.float32)
    root = "model.layers.0.mlp.experts"
    fused = {name: each for name, each in weights.items() if ".experts." not in name}
    fused[f"{root}.gate_up_proj"] = held[f"{root}.w13_weight"].clone()
    fused[f"{root}.down_proj"] = held[f"{root}.w2_weight"].clone()
    assert compare_weights(fused, held).state is HOLDS
    held[f"{root}.w2_weight"] = held[f"{root}.w2_weight"][[0, 1, 3, 2]]
    assert compare_weights(fused, held).details["experts"] == {0: [2, 3]}


@pytest.mark.parametrize("swap", [("gate", "up"), ("q", "k")])
def test_parts_of_a_fused_weight_in_the_wrong_order_differ(swap: tuple[str, str]) -> None:
    weights = trainer_weights(torch)
    wrong = dict(weights)
    for name in weights:
        for one, other in (swap, swap[::-1]):
            twin = name.replace(f".{one}_", f".{other}_")
            if f".{one}_proj." in name and weights[name].shape == weights[twin].shape:
                wrong[name] = weights[twin]
    if all(wrong[name] is weights[name] for name in weights):
        pytest.skip("these parts have different shapes, which no engine takes")
    assert compare_weights(weights, engine_weights(torch, wrong, torch.bfloat16)).state is BROKEN


def test_what_is_sharded_or_quantised_is_unseen_and_never_accused() -> None:
    weights = trainer_weights(torch)
    held = engine_weights(torch, weights, torch.bfloat16)
    halves = {name: each[: each.shape[0] // 2] for name, each in held.items()}
    assert compare_weights(weights, halves).state is UNSEEN
    quantised = {name: each.to(torch.int8) for name, each in held.items()}
    assert compare_weights(weights, quantised).state is UNSEEN


@pytest.mark.parametrize("seed", range(20))
def test_random_faults_are_found_and_nothing_else_is(seed: int) -> None:
    torch.manual_seed(seed)
    experts, precision = bool(seed % 2), PRECISIONS[seed % 3]
    first = trainer_weights(torch, 4, experts=experts, tied=seed % 4 == 0)
    now = stepped(first, 10.0 ** -(1 + seed % 3))
    names = [name for name in now if torch.randint(3, ()).item() == 0] or ["model.norm.weight"]
    mixed = {**now, **{name: first[name] for name in names}}
    verdict = compare_weights(now, engine_weights(torch, mixed, precision), {0: weight_checksums(first)})
    assert verdict.details["stale_step"] == 0
    assert round(verdict.value * verdict.details["compared"]) == len(names)


@pytest.mark.parametrize("precision", ["bfloat16", "float16", "float32"])
def test_rounding_is_that_of_torch(precision: str) -> None:
    values = torch.cat([torch.randn(4000) * 10.0**power for power in range(-6, 5)])
    wanted = values.to(getattr(torch, precision)).double().tolist()
    assert [rounded(each, precision) for each in values.tolist()] == wanted


def test_a_digest_is_that_of_the_fused_tensors_bytes() -> None:
    parts = [torch.randn(4, 3).to(torch.bfloat16) for _ in range(3)]
    whole = torch.cat(parts)
    wanted = hashlib.sha256(whole.view(-1).view(torch.uint8).numpy().tobytes()).hexdigest()
    assert digest(parts) == wanted


@pytest.fixture
def arrays() -> Callable[[dict[str, Any]], dict[str, Any]]:
    pytest.importorskip("numpy")
    return lambda tensors: {name: each.numpy() for name, each in tensors.items()}


def test_numpy_is_taken_on_both_sides(arrays: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    weights = trainer_weights(torch, experts=True)
    held = engine_weights(torch, weights, torch.float32)
    assert compare_weights(arrays(weights), arrays(held)).state is HOLDS
    held["model.layers.0.self_attn.qkv_proj.weight"][0] += 1.0
    assert compare_weights(arrays(weights), arrays(held)).details["different"] == ["layers.0.self_attn.q_proj.weight"]
