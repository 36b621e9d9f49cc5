"""Parameters counted from a configuration against the real models."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.sizing.architecture import UnreadableConfigError, shape_of
from doctor.sizing.setup import Lora

from . import measuring
from .configs import CONFIGS


@pytest.mark.process
def test_every_family_is_counted_exactly(tmp_path: Path) -> None:
    real = measuring.counted(list(CONFIGS.values()), tmp_path)
    for (name, config), found in zip(CONFIGS.items(), real, strict=True):
        shape = shape_of(config, name)
        assert shape.exact, name
        assert (shape.parameters, shape.largest_layer) == (found["parameters"], found["largest_layer"]), name


def test_active_parameters_of_experts() -> None:
    shape = shape_of(CONFIGS["Qwen3-30B-A3B"])
    assert shape.active == pytest.approx(3.35e9, rel=0.01)  # "A3B": about three milliards
    dense = shape_of(CONFIGS["Qwen2.5-7B"])
    assert dense.active == dense.parameters


def test_cache_of_grouped_and_latent_attention() -> None:
    # 2 x layers x key heads x head width; of DeepSeek-V3 (512 + 64) x layers
    assert shape_of(CONFIGS["Qwen2.5-7B"]).cache_elements == 2 * 28 * 4 * 128
    assert shape_of(CONFIGS["DeepSeek-V3"]).cache_elements == 61 * 576


def test_unknown_family_is_said() -> None:
    shape = shape_of({**CONFIGS["Llama-3.1-8B"], "model_type": "brand_new"})
    assert not shape.exact
    assert shape.assumed == (("family", {"family": "brand_new"}),)
    assert shape.parameters == shape_of(CONFIGS["Llama-3.1-8B"]).parameters


def test_unknown_image_tower_is_said() -> None:
    shape = shape_of({**CONFIGS["Llama-3.1-8B"], "model_type": "seer", "vision_config": {"hidden_size": 8}})
    assert ("tower", {"family": "seer"}) in shape.assumed


@pytest.mark.parametrize("missing", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_missing_number_is_named(missing: str) -> None:
    config = {key: value for key, value in CONFIGS["Qwen2.5-7B"].items() if key != missing}
    with pytest.raises(UnreadableConfigError, match=missing):
        shape_of(config)


def test_adapter_sits_where_it_is_told() -> None:
    shape = shape_of(CONFIGS["Qwen2.5-7B"])
    queries = Lora(16, ("q_proj", "v_proj")).parameters(shape)
    assert queries == 28 * 16 * ((3584 + 3584) + (3584 + 512))
    everything = Lora(16).parameters(shape)
    per_layer = 16 * (2 * (3584 + 3584) + 2 * (3584 + 512) + 3 * (3584 + 18944))
    assert everything == 28 * per_layer
    assert Lora(16, ("nowhere",)).parameters(shape) == 0
