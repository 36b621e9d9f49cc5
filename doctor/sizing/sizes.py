"""Shapes for sizes that people name, such as `7B`, and memory of cards that people name, such as `H100`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from doctor.sizing import cards
from doctor.sizing.architecture import shape_of
from doctor.sizing.shape import ModelShape


class SizeError(ValueError):
    """The text is no size or no list of GPUs; the message says what would be."""


def _dense(hidden: int, inner: int, layers: int, heads: int, kv_heads: int) -> dict[str, Any]:
    small = hidden <= 2048
    return {
        "model_type": "qwen2", "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": 151936 if small else 152064,
        "tie_word_embeddings": small,
    }  # fmt: skip


def _experts(hidden: int, inner: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "qwen3_moe", "hidden_size": hidden, "intermediate_size": 3 * hidden,
        "moe_intermediate_size": inner,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 4, "head_dim": 128,
        "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": False,
    }  # fmt: skip


#: https://arxiv.org/abs/2412.15115, table 1, and the models' config.json (https://huggingface.co/Qwen)
DENSE: Mapping[str, dict[str, Any]] = {
    "Qwen2.5-0.5B": _dense(896, 4864, 24, 14, 2),
    "Qwen2.5-1.5B": _dense(1536, 8960, 28, 12, 2),
    "Qwen2.5-3B": _dense(2048, 11008, 36, 16, 2),
    "Qwen2.5-7B": _dense(3584, 18944, 28, 28, 4),
    "Qwen2.5-14B": _dense(5120, 13824, 48, 40, 8),
    "Qwen2.5-32B": _dense(5120, 27648, 64, 40, 8),
    "Qwen2.5-72B": _dense(8192, 29568, 80, 64, 8),
}
#: https://arxiv.org/abs/2505.09388, table 2, and the models' config.json
EXPERTS: Mapping[str, dict[str, Any]] = {
    "Qwen3-30B-A3B": _experts(2048, 768, 48, 32),
    "Qwen3-235B-A22B": _experts(4096, 1536, 94, 64),
}
_SIZE = re.compile(
    r"(?P<number>\d{1,5}(?:\.\d{1,4})?)(?P<unit>[bm])(?:-a(?P<active>\d{1,3}(?:\.\d{1,3})?)b)?", re.IGNORECASE
)
_ALIKE = 0.12  # a named size is rounded: a "7B" has 7.6 or 6.7


def is_size(text: str) -> bool:
    """Whether a text is a size (`7B`, `0.5b`, `350M`, `30B-A3B`)."""
    return _SIZE.fullmatch(text) is not None


def in_name(name: str) -> str | None:
    """The size that a model's name carries: `Qwen/Qwen2.5-7B-Instruct` -> `7B`, `Qwen3-30B-A3B` -> `30B-A3B`."""
    words = re.split(r"[-_/]", name)
    for first, second in zip(words, [*words[1:], ""], strict=True):
        if is_size(f"{first}-{second}"):
            return f"{first}-{second}"
        if is_size(first):
            return first
    return None


def nominal(text: str) -> ModelShape:
    """A shape for a size: that of the nearest published model, stretched where it is not near.

    Raises:
        SizeError: the text is none.

    """
    found = _SIZE.fullmatch(text)
    if found is None:
        msg = f"`{text}` is not a size; sizes are written `7B`, `0.5B`, `350M` or `30B-A3B`"
        raise SizeError(msg)
    wanted = float(found["number"]) * (10**9 if found["unit"].lower() == "b" else 10**6)
    return of_parameters(round(wanted), text, experts=found["active"] is not None, rounded=True)


def of_parameters(parameters: int, name: str = "", *, experts: bool = False, rounded: bool = False) -> ModelShape:
    """A shape with so many parameters.

    Raises:
        SizeError: fewer than a million, or more than ten trillion.

    """
    if not 10**6 <= parameters <= 10**13:
        msg = f"{parameters:,} parameters are not a size of a language model"
        raise SizeError(msg)
    table = EXPERTS if experts else DENSE
    shapes = {key: shape_of(config, key) for key, config in table.items()}
    near = min(shapes, key=lambda key: abs(math.log(shapes[key].parameters / parameters)))
    shape = shapes[near]
    label = name or f"{parameters / 1e9:.3g}B"
    if rounded and abs(shape.parameters / parameters - 1) <= _ALIKE:
        return shape.renamed(label, ("shape", {"model": near}))
    layers = max(1, round(shape.layers * parameters / shape.parameters))
    stretched = shape_of({**table[near], "num_hidden_layers": layers}, near)
    return stretched.scaled(parameters, label, ("layers", {"model": near, "layers": str(layers)}))


_GPUS = re.compile(r"(?P<count>\d{1,5})\s*[x\u00d7*]\s*(?P<card>[\w.\- ]+)", re.IGNORECASE)
_MEMORY = re.compile(r"(?P<size>\d{1,4}(?:\.\d{1,3})?)(?P<unit>gib|gb|g)", re.IGNORECASE)


def gpus(text: str) -> tuple[int, int, str, tuple[int, int] | None]:
    """`8x80GiB` or `8xH100`: count, bytes of one, name ("" for a size), compute capability if it is known.

    Raises:
        SizeError: it is written otherwise, or the card is not known.

    """
    found = _GPUS.fullmatch(text.strip())
    if found is None or int(found["count"]) < 1:
        msg = f"`{text}` names no GPUs; write `8xH100` or `8x80GiB`"
        raise SizeError(msg)
    count, card = int(found["count"]), found["card"]
    size = _MEMORY.fullmatch(card)
    if size is not None and float(size["size"]) > 0:
        unit = 10**9 if size["unit"].lower() == "gb" else 1024**3
        return count, round(float(size["size"]) * unit), "", None
    known = cards.named(card)
    if known is None:
        close = ", ".join(f"`{each}`" for each in cards.near(card))
        msg = f"the card `{card}` is not known here" + (f"; similar names: {close}" if close else "")
        raise SizeError(f"{msg}. For another card write its memory, count x size, such as `8x80GiB`")
    name, found_card = known
    return count, found_card.mib * 1024**2, name, found_card.capability
