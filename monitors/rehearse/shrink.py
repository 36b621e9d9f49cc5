"""A configuration of the same architecture with as many layers and a fraction of the width; pure, knows no library.

What decides how a run behaves stays: number of layers, kinds of layers, vocabulary, special ids, positions, windows,
the dtype that is saved. Widths become the smallest that divide by whatever the real ones divide by: the ratio of heads
to key-value heads, and every parallel size in use. Head sizes below 32 are refused by vLLM's CPU kernels and by
FlashAttention's: https://github.com/vllm-project/vllm/blob/main/vllm/v1/attention/backends/cpu_attn.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

#: head sizes of a tiny model: every attention kernel in use takes them
HEAD, WIDE_HEAD = 32, 64
#: experts that are kept at least, so that routing still chooses
_EXPERTS = 4
#: sizes that kernels have one value for (multi-head latent attention, state spaces): they stay as they are
_KEPT = ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "ssm_state_size",
         "state_size", "conv_kernel", "mamba_d_state", "mamba_d_conv")  # fmt: skip
_HIDDEN = ("hidden_size", "n_embd", "d_model", "embed_dim", "dim")
_HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
_HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
_INNER = ("intermediate_size", "ffn_hidden_size", "n_inner", "d_ff", "ffn_dim", "moe_intermediate_size",
          "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "decoder_ffn_dim",
          "encoder_ffn_dim", "intermediate_size_mlp", "prefix_mlp_intermediate_size")  # fmt: skip
_EXPERT_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
#: parts of a model that reads more than text
_PARTS = ("text_config", "vision_config", "audio_config", "llm_config", "language_config", "thinker_config",
          "talker_config", "decoder", "encoder")  # fmt: skip
#: two-dimensional sizes derived from others in some families
_OUT_HIDDEN = ("out_hidden_size", "projection_dim", "word_embed_proj_dim")


def shrink(config: Mapping[str, Any], parallel: int = 1, group: int = 1) -> dict[str, Any]:
    """The configuration with the same layers and tiny widths.

    Args:
        config: as `config.json` holds it.
        parallel: what head counts, experts and inner widths must divide by (tensor and expert parallel sizes), where
            the real ones do.
        group: of quantised weights; inner and hidden widths are multiples of it where the real ones are.

    Returns:
        A new dictionary; unknown keys are as they were.

    """
    return _shrunk(config, max(1, parallel), max(1, group))


def _shrunk(config: Mapping[str, Any], parallel: int, group: int) -> dict[str, Any]:
    new = dict(config)
    for name in _PARTS:
        if isinstance(config.get(name), Mapping):
            new[name] = _shrunk(config[name], parallel, group)
    heads_name, hidden_name = _first(config, _HEADS), _first(config, _HIDDEN)
    if heads_name and hidden_name:
        new.update(_widths(config, hidden_name, heads_name, parallel, group))
    elif hidden_name:
        new[hidden_name] = _fitting(config[hidden_name], 64, group)
    new.update(_inner(config, parallel, group))
    new.update(_experts(config, parallel))
    _tie_parts(config, new, hidden_name)
    return new


def _first(config: Mapping[str, Any], names: tuple[str, ...]) -> Optional[str]:
    """The first of the names that holds a size."""
    return next((name for name in names if _is_size(config.get(name))), None)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _widths(config: Mapping[str, Any], hidden_name: str, heads_name: str, parallel: int, group: int) -> dict[str, Any]:
    """Heads, key-value heads, head size and hidden width of one part."""
    heads, hidden = config[heads_name], config[hidden_name]
    kv_name, dim_name = _first(config, _KV_HEADS), _first(config, _HEAD_DIM)
    kv_heads = config[kv_name] if kv_name else heads
    shared = max(1, heads // kv_heads)
    kv_new = math.gcd(kv_heads, parallel)
    heads_new = kv_new * shared if heads % kv_heads == 0 else heads
    if heads_new % parallel and heads % parallel == 0:
        heads_new = math.lcm(heads_new, parallel)
    heads_new = min(heads, max(heads_new, 2 if heads % 2 == 0 and kv_new * 2 <= kv_heads else 1))
    dim = config[dim_name] if dim_name else hidden // heads
    dim_new = dim if dim <= HEAD else WIDE_HEAD if dim > 128 else HEAD
    found: dict[str, Any] = {heads_name: heads_new}
    if kv_name:
        found[kv_name] = math.gcd(heads_new, kv_new) if heads_new % kv_new else kv_new
    if any(name in config for name in _KEPT[:5]):  # latent attention: its sizes are the kernel's own
        found[hidden_name] = _fitting(hidden, 64, math.lcm(group, 8))
        return found
    if dim_name:
        found[dim_name] = dim_new
        found[hidden_name] = _fitting(hidden, 64 if hidden != heads * dim else heads_new * dim_new, group)
    else:
        found[hidden_name] = heads_new * dim_new
    if hidden == heads * dim:  # code that derives one from the other must go on to do so
        found[hidden_name] = heads_new * dim_new
    return {**found, **_positions(config, dim, dim_new)}


def _positions(config: Mapping[str, Any], dim: int, dim_new: int) -> dict[str, Any]:
    """Sections of rotary positions (Qwen-VL's `mrope_section`), which add up to half a head."""
    found: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        rope = config.get(name)
        section = rope.get("mrope_section") if isinstance(rope, Mapping) else None
        if isinstance(section, list) and sum(section) and dim_new != dim:
            parts = [max(1, each * (dim_new // 2) // sum(section)) for each in section]
            parts[0] += dim_new // 2 - sum(parts)
            found[name] = {**rope, "mrope_section": parts}  # type: ignore[dict-item]
    return found


def _inner(config: Mapping[str, Any], parallel: int, group: int) -> dict[str, Any]:
    return {
        name: _fitting(config[name], 64, math.lcm(group, math.gcd(config[name], parallel)))
        for name in _INNER
        if _is_size(config.get(name))
    }


def _experts(config: Mapping[str, Any], parallel: int) -> dict[str, Any]:
    """Experts by which routing still chooses, in as many groups as before."""
    found: dict[str, Any] = {}
    for name in _EXPERT_COUNTS:
        experts = config.get(name)
        if not _is_size(experts):
            continue
        assert isinstance(experts, int)  # noqa: S101 - for the type checker
        chosen = next((config[each] for each in ("num_experts_per_tok", "moe_topk") if _is_size(config.get(each))), 1)
        groups = config.get("n_group") if _is_size(config.get("n_group")) else 1
        unit = math.lcm(int(groups or 1), math.gcd(experts, parallel))
        least = max(_EXPERTS, chosen + 1, 2 * int(groups or 1))
        found[name] = min(experts, -(-least // unit) * unit)
    return found


def _tie_parts(config: Mapping[str, Any], new: dict[str, Any], hidden_name: Optional[str]) -> None:
    """Widths that repeat the hidden width of this or of another part go on to repeat it."""
    if hidden_name:
        for name in (*_OUT_HIDDEN, "word_embed_proj_dim", "attention_hidden_size", "lru_width"):
            if config.get(name) == config[hidden_name]:
                new[name] = new[hidden_name]
    text = config.get("text_config") or config.get("llm_config") or config
    text_new = new.get("text_config") or new.get("llm_config") or new
    own = _first(text, _HIDDEN) if isinstance(text, Mapping) else None
    for part in ("vision_config", "audio_config"):
        if own and isinstance(config.get(part), Mapping):
            for name in _OUT_HIDDEN:
                if config[part].get(name) == text[own]:
                    new[part][name] = text_new[own]


def _fitting(size: int, wanted: int, unit: int) -> int:
    """The smallest multiple of `unit` that is no less than `wanted`; never more than the real size."""
    unit = unit if unit > 0 and size % unit == 0 else 1
    return min(size, -(-wanted // unit) * unit)


def group_of(config: Mapping[str, Any]) -> int:
    """Group size of a quantised model's weights; 1 of others."""
    quantised = config.get("quantization_config")
    size = quantised.get("group_size") if isinstance(quantised, Mapping) else None
    block = quantised.get("weight_block_size") if isinstance(quantised, Mapping) else None
    if isinstance(block, list) and block and all(_is_size(each) for each in block):
        return int(max(block))
    return size if _is_size(size) else 1  # type: ignore[return-value]


def size_of(tensor: list[int], config: Mapping[str, Any], new: Mapping[str, Any]) -> list[int]:
    """Shape of a tensor of the real checkpoint as the tiny one has it, by the sizes that both configurations name."""
    sizes = {
        config[name]: new[name]
        for names in (_HIDDEN, _INNER, _HEAD_DIM)
        for name in names
        if _is_size(config.get(name)) and name in new
    }
    return [sizes.get(each, each) for each in tensor]
