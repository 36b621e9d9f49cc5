"""Weights of one model as a trainer has them, and as vLLM holds them: fused, experts in one, padded, tied."""

from __future__ import annotations

from typing import Any

WIDTH, HEADS, KEYS, FFN, VOCABULARY, EXPERTS = 8, 8, 4, 6, 20, 4


def trainer_weights(torch: Any, layers: int = 3, *, experts: bool = False, tied: bool = False) -> dict[str, Any]:
    """Weights under the names of a checkpoint."""
    shapes = {"model.embed_tokens.weight": (VOCABULARY, WIDTH), "model.norm.weight": (WIDTH,)}
    for layer in range(layers):
        root = f"model.layers.{layer}"
        shapes |= {
            f"{root}.self_attn.q_proj.weight": (HEADS, WIDTH), f"{root}.self_attn.k_proj.weight": (KEYS, WIDTH),
            f"{root}.self_attn.v_proj.weight": (KEYS, WIDTH), f"{root}.self_attn.o_proj.weight": (WIDTH, HEADS),
            f"{root}.input_layernorm.weight": (WIDTH,),
        }  # fmt: skip
        blocks = [f"{root}.mlp.experts.{each}" for each in range(EXPERTS)] if experts else [f"{root}.mlp"]
        for block in blocks:
            shapes |= {
                f"{block}.gate_proj.weight": (FFN, WIDTH), f"{block}.up_proj.weight": (FFN, WIDTH),
                f"{block}.down_proj.weight": (WIDTH, FFN),
            }  # fmt: skip
    if not tied:
        shapes["lm_head.weight"] = (VOCABULARY, WIDTH)
    return {name: torch.randn(*shape) * 0.05 for name, shape in shapes.items()}


def engine_weights(torch: Any, weights: dict[str, Any], precision: Any) -> dict[str, Any]:
    """The same as an engine holds them."""
    held: dict[str, Any] = {}
    layers = 1 + max(int(name.split(".")[2]) for name in weights if ".layers." in name)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        if name in weights:
            held[name] = torch.cat([weights[name], torch.zeros(4, WIDTH)])
    held["model.norm.weight"] = weights["model.norm.weight"]
    for layer in range(layers):
        root = f"model.layers.{layer}"
        held[f"{root}.self_attn.qkv_proj.weight"] = torch.cat(
            [weights[f"{root}.self_attn.{each}_proj.weight"] for each in "qkv"]
        )
        held[f"{root}.self_attn.o_proj.weight"] = weights[f"{root}.self_attn.o_proj.weight"]
        held[f"{root}.input_layernorm.weight"] = weights[f"{root}.input_layernorm.weight"]
        if f"{root}.mlp.gate_proj.weight" in weights:
            halves = [weights[f"{root}.mlp.{each}_proj.weight"] for each in ("gate", "up")]
            held[f"{root}.mlp.gate_up_proj.weight"] = torch.cat(halves)
            held[f"{root}.mlp.down_proj.weight"] = weights[f"{root}.mlp.down_proj.weight"]
            continue
        names = [f"{root}.mlp.experts.{each}" for each in range(EXPERTS)]
        halves = [torch.cat([weights[f"{each}.{half}_proj.weight"] for half in ("gate", "up")]) for each in names]
        held[f"{root}.mlp.experts.w13_weight"] = torch.stack(halves)
        held[f"{root}.mlp.experts.w2_weight"] = torch.stack([weights[f"{each}.down_proj.weight"] for each in names])
    return {name: each.to(precision).clone() for name, each in held.items()}
