"""Tiny configurations: what decides how a run behaves stays, widths shrink and go on to divide."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.monitors.rehearse.shrink import group_of, shrink, size_of

#: as published: https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/config.json and their like
QWEN2_7B = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
    "num_hidden_layers": 28, "vocab_size": 152064, "sliding_window": 131072, "max_window_layers": 28,
}  # fmt: skip
QWEN3_30B = {
    "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_attention_heads": 32,
    "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
    "vocab_size": 151936,
}  # fmt: skip
DEEPSEEK = {
    "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_attention_heads": 128,
    "num_key_value_heads": 128, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_group": 8,
    "topk_group": 4, "num_hidden_layers": 61, "vocab_size": 129280,
}  # fmt: skip
VISION = {
    "vocab_size": 151936, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
    "num_hidden_layers": 28, "intermediate_size": 18944,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    "vision_config": {"depth": 32, "hidden_size": 1280, "num_heads": 16, "intermediate_size": 3420,
                      "out_hidden_size": 3584, "patch_size": 14},
}  # fmt: skip
ALL = {"qwen2-7b": QWEN2_7B, "qwen3-30b-a3b": QWEN3_30B, "deepseek-v3": DEEPSEEK, "qwen2.5-vl": VISION}


@pytest.mark.parametrize("config", ALL.values(), ids=ALL)
def test_layers_vocabulary_and_kernels_own_sizes_stay(config: dict[str, Any]) -> None:
    tiny = shrink(config)
    kept = ("num_hidden_layers", "vocab_size", "kv_lora_rank", "qk_rope_head_dim", "v_head_dim", "n_group",
            "topk_group", "num_experts_per_tok", "sliding_window")  # fmt: skip
    assert {name: tiny.get(name) for name in kept} == {name: config.get(name) for name in kept}
    assert tiny["hidden_size"] <= 448
    assert tiny["intermediate_size"] <= 64
    assert set(tiny) == set(config)


def test_a_head_is_no_smaller_than_kernels_take() -> None:
    tiny = shrink(QWEN2_7B)
    assert tiny["hidden_size"] // tiny["num_attention_heads"] == 32
    assert shrink(QWEN3_30B)["head_dim"] == 32
    assert shrink({**QWEN3_30B, "head_dim": 256})["head_dim"] == 64


def test_latent_attention_keeps_enough_for_its_own_heads() -> None:
    tiny = shrink(DEEPSEEK, parallel=8)
    assert tiny["num_attention_heads"] % 8 == 0
    assert tiny["n_routed_experts"] % 8 == 0
    assert tiny["n_routed_experts"] > tiny["num_experts_per_tok"]
    assert tiny["n_routed_experts"] // tiny["n_group"] >= 2


def test_parts_that_meet_go_on_to_meet() -> None:
    tiny = shrink(VISION)
    assert tiny["vision_config"]["out_hidden_size"] == tiny["hidden_size"]
    assert tiny["vision_config"]["depth"] == 32
    half = tiny["hidden_size"] // tiny["num_attention_heads"] // 2
    assert sum(tiny["rope_scaling"]["mrope_section"]) == half
    assert VISION["rope_scaling"] == {"type": "mrope", "mrope_section": [16, 24, 24]}, "the real one is not changed"


def test_quantised_widths_are_multiples_of_the_group() -> None:
    config = {**QWEN2_7B, "quantization_config": {"quant_method": "gptq", "group_size": 128}}
    assert group_of(config) == 128
    assert shrink(config, group=128)["intermediate_size"] % 128 == 0


def test_a_tensor_of_the_real_checkpoint_gets_the_tiny_sizes() -> None:
    tiny = shrink(QWEN2_7B)
    assert size_of([152064, 3584], QWEN2_7B, tiny) == [152064, tiny["hidden_size"]]
    assert size_of([18944, 3584], QWEN2_7B, tiny) == [tiny["intermediate_size"], tiny["hidden_size"]]


@given(
    kv_heads=st.integers(1, 32), shared=st.integers(1, 16), dim=st.sampled_from([16, 32, 64, 80, 96, 128, 256]),
    parallel=st.sampled_from([1, 2, 4, 8]), inner=st.integers(1, 64), named=st.booleans(),
)  # fmt: skip
def test_any_shape_shrinks_to_one_that_divides(
    kv_heads: int, shared: int, dim: int, parallel: int, inner: int, named: bool
) -> None:
    heads = kv_heads * shared
    config: dict[str, Any] = {
        "hidden_size": heads * dim, "intermediate_size": inner * 64, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "num_hidden_layers": 7,
    }  # fmt: skip
    if named:
        config["head_dim"] = dim
    tiny = shrink(config, parallel)
    new_heads, new_kv = tiny["num_attention_heads"], tiny["num_key_value_heads"]
    assert new_heads % new_kv == 0
    assert heads // kv_heads == new_heads // new_kv or new_heads % (heads // kv_heads) == 0
    for real, new in ((heads, new_heads), (kv_heads, new_kv), (inner * 64, tiny["intermediate_size"])):
        assert new <= real
        assert real % parallel or new % parallel == 0
    assert tiny["hidden_size"] % new_heads == 0
    size = tiny.get("head_dim", tiny["hidden_size"] // new_heads)
    assert size % 2 == 0
    assert size >= min(dim, 32)
