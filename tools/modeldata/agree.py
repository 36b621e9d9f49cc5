"""What several sources say of one model, reduced to what the doctor judges by, and made one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Flat = dict[str, Any]

#: keys of config.json that the checks and the sizes read (doctor/readers/files/model_files.py, doctor/sizing)
KEPT = frozenset({
    "model_type", "architectures", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings", "sliding_window", "tie_word_embeddings",
    "attention_bias", "mlp_bias", "num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok",
    "moe_intermediate_size", "n_shared_experts", "shared_expert_intermediate_size", "first_k_dense_replace",
    "decoder_sparse_step", "mlp_only_layers", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
    "v_head_dim", "torch_dtype", "gated",
})  # fmt: skip
#: of the part that sees images (doctor/sizing/vision.py)
_VISION = frozenset({
    "depth", "embed_dim", "hidden_size", "intermediate_size", "num_heads", "in_channels", "in_chans", "patch_size",
    "temporal_patch_size", "spatial_merge_size", "out_hidden_size", "num_hidden_layers", "num_attention_heads",
    "num_channels", "image_size", "model_type", "mlp_ratio", "deepstack_visual_indexes", "num_position_embeddings",
})  # fmt: skip
_TEXT_PARTS = ("text_config", "llm_config", "language_config")
#: retyped by hand into another program: what a published file says counts more
RETYPED = frozenset({"calls", "litgpt"})


def flat(config: Mapping[str, Any]) -> Flat:
    """Dotted keys of what is kept; `null` says nothing."""
    found = _part(config, KEPT, "")
    for name in _TEXT_PARTS:
        if isinstance(config.get(name), Mapping):
            found.update(_part(config[name], KEPT, f"{name}."))
    if isinstance(config.get("vision_config"), Mapping):
        found.update(_part(config["vision_config"], _VISION, "vision_config."))
    if isinstance(config.get("auto_map"), Mapping) and config["auto_map"]:
        found["own_code"] = True
    if config.get("use_sliding_window") is False:
        found.pop("sliding_window", None)
    return found


def _part(config: Mapping[str, Any], kept: frozenset[str], prefix: str) -> Flat:
    found = {f"{prefix}{key}": value for key, value in config.items() if key in kept and value not in (None, {}, [])}
    dtype = config.get("torch_dtype") or config.get("dtype")
    if isinstance(dtype, str) and prefix != "vision_config.":
        found[f"{prefix}torch_dtype"] = dtype.removeprefix("torch.")
    rope = config.get("rope_scaling")
    if isinstance(rope, Mapping) and (rope.get("rope_type") or rope.get("type")):
        kind, factor = rope.get("rope_type") or rope.get("type"), rope.get("factor")
        found[f"{prefix}rope_scaling"] = {"rope_type": kind, **({"factor": factor} if factor else {})}
    quantized = config.get("quantization_config")
    if isinstance(quantized, Mapping) and isinstance(quantized.get("quant_method"), str):
        found[f"{prefix}quantization_config"] = {"quant_method": quantized["quant_method"]}
    return found


def agreed(said: Iterable[tuple[str, Flat]]) -> tuple[Flat, list[str]]:
    """One set of values of (form, values), and the keys over which the sources differ.

    Published files come before retyped tables. Where two of one standing differ, the key is left out: nobody knows.
    """
    standing = sorted(said, key=lambda each: each[0] in RETYPED)
    published = [values for form, values in standing if form not in RETYPED]
    retyped = [values for form, values in standing if form in RETYPED]
    result: Flat = {}
    disputed: list[str] = []
    for key in sorted({key for _, values in standing for key in values}):
        first = [values[key] for values in published if key in values]
        second = [values[key] for values in retyped if key in values]
        telling = first or second
        if all(value == telling[0] for value in telling):
            result[key] = telling[0]
        if any(value != telling[0] for value in (*first, *second)):
            disputed.append(key)
    return result, disputed


def nested(values: Flat) -> dict[str, Any]:
    """Dotted keys as parts again."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        part, dot, name = key.partition(".")
        if dot:
            result.setdefault(part, {})[name] = value
        else:
            result[key] = value
    return result
