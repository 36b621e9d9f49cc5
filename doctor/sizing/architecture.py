"""Parameters of a model from its `config.json`, counted as the architecture's own code makes them.

The layouts follow https://github.com/huggingface/transformers/tree/main/src/transformers/models, one folder for each
`model_type`; the tests build the real models and compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.record import record
from doctor.sizing import vision
from doctor.sizing.shape import Matrix, ModelShape

Config = Mapping[str, Any]


class UnreadableConfigError(ValueError):
    """The configuration lacks a number without which nothing can be counted; the message names it."""


@record
class Family:
    """What the configuration of a family does not say.

    Args:
        biases: "none", "qkv", "all" (also the output projection), or "config" (`attention_bias`).
        mlp_biases: "none", "all" or "config" (`mlp_bias`).
        head_norms: "none", "head" (one vector of the head's width for queries, one for keys) or "full".
        norms: norm vectors of a layer; `tied`, `kv_heads`, `head_dim`: defaults where the file is silent (None: heads,
            hidden / heads).
        experts: every layer has experts unless the file says otherwise.

    """

    biases: str = "none"
    mlp_biases: str = "none"
    head_norms: str = "none"
    norms: int = 2
    tied: bool = False
    kv_heads: int | None = None
    head_dim: int | None = None
    experts: bool = False
    latent: bool = False
    gated: bool = True


FAMILIES: Mapping[str, Family] = {
    "llama": Family(biases="config", mlp_biases="config"),
    "mistral": Family(kv_heads=8),
    "ministral": Family(kv_heads=8),
    "qwen2": Family(biases="qkv", kv_heads=32),
    "qwen3": Family(biases="config", head_norms="head", kv_heads=32, head_dim=128),
    "gemma": Family(biases="config", tied=True, kv_heads=16, head_dim=256),
    "gemma2": Family(biases="config", tied=True, norms=4, kv_heads=4, head_dim=256),
    "gemma3_text": Family(biases="config", tied=True, norms=4, head_norms="head", kv_heads=4, head_dim=256),
    "phi3": Family(),
    "olmo2": Family(biases="config", head_norms="full"),
    "granite": Family(biases="config", mlp_biases="config"),
    "smollm3": Family(biases="config", mlp_biases="config", tied=True, kv_heads=4),
    "seed_oss": Family(biases="config", mlp_biases="config", kv_heads=8, head_dim=128),
    "mixtral": Family(kv_heads=8, experts=True),
    "qwen2_moe": Family(biases="qkv", kv_heads=16, experts=True),
    "qwen3_moe": Family(biases="config", head_norms="head", kv_heads=4, experts=True),
    "deepseek_v2": Family(biases="config", mlp_biases="config", latent=True, experts=True),
    "deepseek_v3": Family(biases="config", latent=True, experts=True),
    "gpt_oss": Family(biases="config", kv_heads=8, head_dim=64, experts=True),
}
#: the language part of models that see images
TEXT_OF = {
    "qwen2_vl": "qwen2", "qwen2_vl_text": "qwen2", "qwen2_5_vl": "qwen2", "qwen2_5_vl_text": "qwen2",
    "qwen3_vl": "qwen3", "qwen3_vl_text": "qwen3", "gemma3": "gemma3_text",
}  # fmt: skip
_TEXT_PARTS = ("text_config", "llm_config", "language_config")


def shape_of(config: Config, name: str = "") -> ModelShape:
    """Count a model.

    Args:
        config: content of `config.json`.
        name: what to call it.

    Raises:
        UnreadableConfigError: neither family nor the usual numbers are there.

    """
    outer = str(config.get("model_type") or "")
    part = next((config[each] for each in _TEXT_PARTS if isinstance(config.get(each), Mapping)), None)
    text: dict[str, Any] = {**config, **part} if part is not None else dict(config)
    inner = str(text.get("model_type") or outer)
    family = FAMILIES.get(TEXT_OF.get(inner, inner)) or FAMILIES.get(TEXT_OF.get(outer, ""))
    if part is not None and "tie_word_embeddings" not in part and "tie_word_embeddings" not in config:
        text["tie_word_embeddings"] = outer == "gemma3"
    found = _Builder(text, family, inner or "?").shape(name or outer or "?")
    return vision.with_tower(found, config, outer)


def _number(config: Config, *names: str) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _needed(config: Config, *names: str) -> int:
    value = _number(config, *names)
    if value is None:
        msg = f"`{names[0]}` is not in the configuration"
        raise UnreadableConfigError(msg)
    return value


class _Builder:
    """Reads one configuration, part after part."""

    def __init__(self, config: Config, family: Family | None, kind: str) -> None:
        self.config, self.kind = config, kind
        self.family = family or Family(biases="config", mlp_biases="config", experts=True)
        self.known = family is not None
        self.hidden = _needed(config, "hidden_size", "n_embd", "d_model")
        self.layers = _needed(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
        self.heads = _needed(config, "num_attention_heads", "n_head", "n_heads")
        self.vocabulary = _needed(config, "vocab_size", "padded_vocab_size")
        given = _number(config, "num_key_value_heads", "num_kv_heads", "multi_query_group_num")
        self.kv_heads = given or (self.family.kv_heads if self.known else None) or self.heads
        self.head_dim = _number(config, "head_dim") or self.family.head_dim or self.hidden // self.heads

    def shape(self, name: str) -> ModelShape:
        attention, attention_vectors, cache = self._latent() if self.family.latent else self._attention()
        sparse = self._expert_layers()
        dense = self.layers - sparse
        ffn, per_token = self._experts(sparse) if sparse else ((), 0)
        ffn += self._dense(dense) if dense else ()
        tied = self.config.get("tie_word_embeddings")
        vectors = self.layers * (self.family.norms * self.hidden + attention_vectors) + self.hidden
        return ModelShape(
            name=name,
            family=self.kind,
            hidden=self.hidden,
            layers=self.layers,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            vocabulary=self.vocabulary,
            query=self.heads * self.head_dim,
            key_value=self.kv_heads * self.head_dim,
            intermediate=max(per_token, self._intermediate() if dense else 0),
            matrices=(*attention, *ffn),
            vectors=vectors,
            cache_elements=self.layers * cache,
            largest_layer=self._largest(attention, ffn, vectors),
            tied=tied if isinstance(tied, bool) else self.family.tied,
            most_experts=self._chosen() if sparse else 0,
            norms=self.family.norms,
            exact=self.known,
            assumed=() if self.known else (("family", {"family": self.kind}),),
        )

    def _largest(self, attention: tuple[Matrix, ...], ffn: tuple[Matrix, ...], vectors: int) -> int:
        """Parameters of the largest layer: attention, the heavier feed-forward part, norms."""
        sparse = sum(each.parameters for each in ffn if each.expert or each.name in {"router", "shared", "shared_gate"})
        dense = sum(each.parameters for each in ffn) - sparse
        routed = self._expert_layers()
        heavier = max(sparse // routed if routed else 0, dense // (self.layers - routed) if routed < self.layers else 0)
        attended = sum(each.parameters for each in attention) // self.layers
        return attended + heavier + (vectors - self.hidden) // self.layers

    # --- attention ---

    def _attention(self) -> tuple[tuple[Matrix, ...], int, int]:
        """Matrices, parameters of vectors in a layer, and cache elements of a token in a layer."""
        query, key_value = self.heads * self.head_dim, self.kv_heads * self.head_dim
        stated = self.config.get("attention_bias", self.kind in {"gpt_oss", "seed_oss"}) is True
        inner = self.family.biases in {"qkv", "all"} or (self.family.biases == "config" and stated)
        outer = self.family.biases == "all" or (self.family.biases == "config" and stated)
        if self.kind == "seed_oss":
            outer = self.config.get("attention_out_bias") is True
        matrices: tuple[Matrix, ...] = (
            Matrix("q_proj", self.hidden, query, self.layers, inner),
            Matrix("k_proj", self.hidden, key_value, self.layers, inner),
            Matrix("v_proj", self.hidden, key_value, self.layers, inner),
            Matrix("o_proj", query, self.hidden, self.layers, outer),
        )
        if self.kind == "phi3":  # one matrix for the three
            matrices = (Matrix("qkv_proj", self.hidden, query + 2 * key_value, self.layers), matrices[3])
        norms = {"head": 2 * self.head_dim, "full": query + key_value}.get(self.family.head_norms, 0)
        sinks = self.heads if self.kind == "gpt_oss" else 0
        return matrices, norms + sinks, 2 * key_value

    def _latent(self) -> tuple[tuple[Matrix, ...], int, int]:
        """Multi-head latent attention: the cache keeps one compressed vector and one rotary key a layer.

        https://arxiv.org/abs/2405.04434, section 2.1
        """
        rank, rope = _needed(self.config, "kv_lora_rank"), _needed(self.config, "qk_rope_head_dim")
        plain, value = _needed(self.config, "qk_nope_head_dim"), _needed(self.config, "v_head_dim")
        low = _number(self.config, "q_lora_rank")
        biased = self.config.get("attention_bias") is True
        width = self.heads * (plain + rope)
        query = (
            (Matrix("q_a_proj", self.hidden, low, self.layers, biased), Matrix("q_b_proj", low, width, self.layers))
            if low
            else (Matrix("q_proj", self.hidden, width, self.layers),)
        )
        self.head_dim, self.kv_heads = plain + rope, self.heads
        return (
            (
                *query,
                Matrix("kv_a_proj_with_mqa", self.hidden, rank + rope, self.layers, biased),
                Matrix("kv_b_proj", rank, self.heads * (plain + value), self.layers),
                Matrix("o_proj", self.heads * value, self.hidden, self.layers, biased),
            ),
            rank + (low or 0),
            rank + rope,
        )

    # --- feed-forward ---

    def _intermediate(self) -> int:
        return _number(self.config, "intermediate_size", "n_inner", "ffn_hidden_size") or 4 * self.hidden

    def _dense(self, layers: int) -> tuple[Matrix, ...]:
        width, biased = self._intermediate(), self.family.mlp_biases == "config" and self.config.get("mlp_bias") is True
        if self.kind == "phi3":
            return (
                Matrix("gate_up_proj", self.hidden, 2 * width, layers),
                Matrix("down_proj", width, self.hidden, layers),
            )
        return (
            Matrix("gate_proj", self.hidden, width, layers, biased),
            Matrix("up_proj", self.hidden, width, layers, biased),
            Matrix("down_proj", width, self.hidden, layers, biased),
        )

    def _all_experts(self) -> int:
        return _number(self.config, "num_local_experts", "num_experts", "n_routed_experts") or 0

    def _chosen(self) -> int:
        return _number(self.config, "num_experts_per_tok", "top_k_experts", "moe_topk") or 2

    def _expert_layers(self) -> int:
        """How many layers have a router."""
        if not self.family.experts or not self._all_experts():
            return 0
        if self.kind in {"qwen2_moe", "qwen3_moe"}:
            step, plain = _number(self.config, "decoder_sparse_step") or 1, self.config.get("mlp_only_layers") or ()
            return sum(1 for each in range(self.layers) if each not in plain and (each + 1) % step == 0)
        dense = self.config.get("first_k_dense_replace")
        default = {"deepseek_v3": 3}.get(self.kind, 0)
        return self.layers - min(self.layers, dense if isinstance(dense, int) else default)

    def _experts(self, layers: int) -> tuple[tuple[Matrix, ...], int]:
        """Matrices of routed and shared experts, and the feed-forward width that one token passes."""
        count, chosen = self._all_experts(), self._chosen()
        width = _number(self.config, "moe_intermediate_size", "expert_ffn_hidden_size") or self._intermediate()
        biased = self.kind == "gpt_oss"
        matrices: tuple[Matrix, ...] = (
            Matrix("router", self.hidden, count, layers, biased),
            Matrix("gate_up_proj", self.hidden, 2 * width, layers * count, biased, expert=True),
            Matrix("down_proj", width, self.hidden, layers * count, biased, expert=True),
        )
        shared = _number(self.config, "shared_expert_intermediate_size") or width * (
            _number(self.config, "n_shared_experts") or 0
        )
        if shared:
            plain_bias = self.kind == "deepseek_v2" and self.config.get("mlp_bias") is True
            matrices += (
                Matrix("shared", self.hidden, shared, 2 * layers, plain_bias),
                Matrix("shared", shared, self.hidden, layers, plain_bias),
            )
        if self.kind == "qwen2_moe":
            matrices += (Matrix("shared_gate", self.hidden, 1, layers),)
        return matrices, chosen * width + shared
