"""A language model of two layers under a checkpoint's names, with a cache of keys and values, experts, an adapter."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import torch
from torch import nn

VOCABULARY, WIDTH, HEADS, FFN, LONGEST = 64, 32, 4, 48, 160


def linear(rows: int, width: int) -> nn.Linear:
    return nn.Linear(width, rows, bias=False)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.o_proj = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
        self.k_proj, self.v_proj = linear(WIDTH // 2, WIDTH), linear(WIDTH // 2, WIDTH)

    def forward(self, hidden, past):
        size, width = hidden.shape[1], WIDTH // HEADS
        queries = self.q_proj(hidden).view(1, size, HEADS, width).transpose(1, 2)
        keys = self.k_proj(hidden).view(1, size, HEADS // 2, width).transpose(1, 2)
        values = self.v_proj(hidden).view(1, size, HEADS // 2, width).transpose(1, 2)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        kept = (keys, values)
        keys, values = keys.repeat_interleave(2, 1), values.repeat_interleave(2, 1)
        scores = queries @ keys.transpose(-1, -2) / width**0.5
        mask = torch.ones(size, keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - size)
        scores = scores.masked_fill(~mask, float("-inf")).softmax(-1, dtype=torch.float32).to(hidden.dtype)
        return self.o_proj((scores @ values).transpose(1, 2).reshape(1, size, WIDTH)), kept


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = linear(FFN, WIDTH), linear(FFN, WIDTH), linear(WIDTH, FFN)

    def forward(self, hidden):
        return self.down_proj(nn.functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class Mixture(nn.Module):
    """Two of four experts a token."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = linear(4, WIDTH)
        self.experts = nn.ModuleList(Dense() for _ in range(4))

    def forward(self, hidden):
        weights, chosen = self.gate(hidden).softmax(-1).topk(2, -1)
        every = torch.stack([expert(hidden) for expert in self.experts], -2)
        taken = every.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, WIDTH))
        return (taken * weights.unsqueeze(-1)).sum(-2)


class Layer(nn.Module):
    def __init__(self, experts: bool) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(), Mixture() if experts else Dense()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)

    def forward(self, hidden, past):
        attended, kept = self.self_attn(self.input_layernorm(hidden), past)
        hidden = hidden + attended
        return hidden + self.mlp(self.post_attention_layernorm(hidden)), kept


class Body(nn.Module):
    def __init__(self, layers: int, experts: bool) -> None:
        super().__init__()
        self.embed_tokens, self.embed_positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers, self.norm = nn.ModuleList(Layer(experts) for _ in range(layers)), nn.RMSNorm(WIDTH)


class TinyLM(nn.Module):
    """Takes `input_ids` [1, tokens] and keys and values of what stands before them."""

    def __init__(self, layers: int = 2, *, experts: bool = False) -> None:
        super().__init__()
        self.config = SimpleNamespace(vocab_size=VOCABULARY, max_position_embeddings=LONGEST)
        self.model, self.lm_head = Body(layers, experts), linear(VOCABULARY, WIDTH)
        self.dropout = nn.Dropout(0.1)
        with torch.no_grad():  # as sure of itself as a trained model: about one nat a token
            self.lm_head.weight.normal_(std=0.6)

    def forward(self, input_ids, past=None):
        start = 0 if past is None else past[0][0].shape[2]
        places = torch.arange(start, start + input_ids.shape[1])
        hidden = self.dropout(self.model.embed_tokens(input_ids) + self.model.embed_positions(places))
        kept = []
        for number, layer in enumerate(self.model.layers):
            hidden, pair = layer(hidden, None if past is None else past[number])
            kept.append(pair)
        return SimpleNamespace(logits=self.lm_head(self.model.norm(hidden)), past=kept)


class Adapted(nn.Module):
    """A model with a low-rank adapter on its embedding, which alone learns; can be switched off as PEFT's can."""

    SCALE = 6.0

    def __init__(self, inner: TinyLM) -> None:
        super().__init__()
        self.inner, self.config, self.on = inner.requires_grad_(False), inner.config, True
        self.lora_A, self.lora_B = linear(4, WIDTH), linear(VOCABULARY, 4)
        nn.init.zeros_(self.lora_B.weight)

    @contextlib.contextmanager
    def disable_adapter(self):
        self.on = False
        try:
            yield
        finally:
            self.on = True

    def delta(self) -> torch.Tensor:
        return (self.lora_B.weight @ self.lora_A.weight).detach() * self.SCALE * float(self.on)

    def forward(self, input_ids):
        start = torch.arange(input_ids.shape[1])
        hidden = self.inner.model.embed_tokens(input_ids) + self.inner.model.embed_positions(start)
        if self.on:
            hidden = hidden + self.lora_B.weight[input_ids] @ self.lora_A.weight * self.SCALE
        for layer in self.inner.model.layers:
            hidden, _ = layer(hidden, None)
        return SimpleNamespace(logits=self.inner.lm_head(self.inner.model.norm(hidden)))
