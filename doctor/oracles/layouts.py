"""Which part of an engine's tensor is which tensor of the trainer: names, fused weights, experts, tied heads.

vLLM holds q, k and v of a layer as the rows of one `qkv_proj`, gate and up as `gate_up_proj`, and all experts of a
layer as `w13_weight` (gate above up) and `w2_weight`:
https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/models/qwen3_moe.py
https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/fused_moe/layer.py
SGLang uses the same names, and gives the parts of a fused weight under the names of a checkpoint.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional

#: what FSDP, DDP, torch.compile, activation checkpointing and PEFT put into a name
_WRAPPERS = re.compile(
    r"(?:^|(?<=\.))(?:module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|base_layer|modules_to_save\.default)\."
)
_PEFT_ROOT = "base_model.model."

#: towers of other kinds have layers with the same numbers
_TOWER = re.compile(r"(?:^|\.)(?:visual|vision\w*|audio\w*|image_\w+)\.")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_EXPERT = re.compile(r"^(.*\.experts)\.(\d+)\.(\w+)\.weight$")

#: parts of an engine's fused weight, in the order of its rows
FUSED: Mapping[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
}  # fmt: skip

#: a checkpoint's names of the three matrices of an expert -> (engine's tensor, which half of its rows)
_OF_EXPERT: Mapping[str, tuple[str, int]] = {
    "gate_proj": ("w13_weight", 0), "w1": ("w13_weight", 0), "up_proj": ("w13_weight", 1), "w3": ("w13_weight", 1),
    "down_proj": ("w2_weight", -1), "w2": ("w2_weight", -1),
}  # fmt: skip

HEAD, EMBEDDING = "lm_head.weight", "embed_tokens.weight"


class Piece(NamedTuple):
    """A tensor of the trainer and where the engine holds it.

    Args:
        name: of the trainer's tensor, without what wraps it.
        engine_name: of the engine's tensor.
        mine: gives the trainer's values as a tensor.
        held: gives the engine's part as a tensor of the same shape.
        layer: number of the layer; None outside of the layers.
        expert: number of the expert; None elsewhere.

    """

    name: str
    engine_name: str
    mine: Callable[[], Any]
    held: Callable[[], Any]
    layer: Optional[int] = None
    expert: Optional[int] = None


def canonical(name: str) -> str:
    """A tensor's name without wrappers and without what stands before the layers.

    >>> canonical("module.base_model.model.model.layers.3.self_attn.q_proj.base_layer.weight")
    'layers.3.self_attn.q_proj.weight'
    >>> canonical("language_model.model.embed_tokens.weight")
    'embed_tokens.weight'
    """
    name = _WRAPPERS.sub("", name).replace(_PEFT_ROOT, "")
    if _TOWER.search(name):
        return name
    layer = _LAYER.search(name)
    if layer is not None:
        start = layer.start()
        return name[start + 1 :] if name[start] == "." else name[start:]
    for end in (HEAD, EMBEDDING, "norm.weight"):
        if name == end or name.endswith(f".{end}"):
            return end
    return name


def layer_of(name: str) -> Optional[int]:
    """Number of the layer in a name; None where there is none."""
    found = None if _TOWER.search(name) else _LAYER.search(name)
    return int(found.group(1)) if found else None


def is_adapter(name: str) -> bool:
    """Whether a tensor is part of an adapter: an engine holds those elsewhere, or merged into the weights."""
    return ".lora_" in name or ".ia3_" in name or "lora_magnitude_vector" in name


def pieces(trainer: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[list[Piece], list[str]]:
    """The trainer's tensors that the engine holds whole, and names of those of which nothing is known.

    Args:
        trainer: name -> tensor.
        engine: name -> tensor; a tensor that is sharded or quantised has another shape and is passed over.

    Returns:
        Pieces in the trainer's order, and the trainer's names that have none.

    """
    mine = {canonical(name): tensor for name, tensor in trainer.items() if not is_adapter(name)}
    held = {canonical(name): (name, tensor) for name, tensor in engine.items()}
    found: dict[str, Piece] = {}
    for name, tensor in mine.items():
        for piece in _whole(name, tensor, held):
            found[piece.name] = piece
    for name, (full, tensor) in held.items():
        for piece in _fused(name, full, tensor, mine):
            found.setdefault(piece.name, piece)
    for piece in _experts(mine, held):
        found.setdefault(piece.name, piece)
    named = {piece.name.partition("[")[0] for piece in found.values()}
    return [found[name] for name in sorted(found, key=_natural)], [name for name in mine if name not in named]


def _natural(name: str) -> list[Any]:
    """Sorts layer 10 behind layer 9."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor.shape)


def _whole(name: str, tensor: Any, held: Mapping[str, tuple[str, Any]]) -> Iterator[Piece]:
    """A tensor that both have under one name; a vocabulary may be padded by rows in the engine."""
    if name not in held:
        if name == HEAD and EMBEDDING in held:  # tied: the engine has one tensor for both
            name_of_engine, other = held[EMBEDDING]
        else:
            return
    else:
        name_of_engine, other = held[name]
    size, whole = _shape(tensor), _shape(other)
    if size == whole:
        yield Piece(name, name_of_engine, lambda: tensor, lambda: other, layer_of(name))
    elif name in (HEAD, EMBEDDING) and len(size) == 2 and size[1:] == whole[1:] and size[0] < whole[0]:
        yield Piece(name, name_of_engine, lambda: tensor, lambda: other[: size[0]], layer_of(name))


def _fused(name: str, full: str, tensor: Any, mine: Mapping[str, Any]) -> Iterator[Piece]:
    """The parts of a fused weight or bias, where their rows add up to it."""
    for fused, parts in FUSED.items():
        if f".{fused}." not in name:
            continue
        names = [name.replace(f".{fused}.", f".{part}.") for part in parts]
        if not all(each in mine for each in names):
            continue
        sizes = [_shape(mine[each])[0] for each in names]
        if sum(sizes) != _shape(tensor)[0] or any(_shape(mine[each])[1:] != _shape(tensor)[1:] for each in names):
            continue  # sharded, or packed
        start = 0
        for each, size in zip(names, sizes):  # noqa: B905 - Python 3.9
            yield Piece(each, full, _given(mine[each]), _rows_of(tensor, start, start + size), layer_of(each))
            start += size


def _given(tensor: Any) -> Callable[[], Any]:
    return lambda: tensor


def _rows_of(tensor: Any, start: int, end: int) -> Callable[[], Any]:
    return lambda: tensor[start:end]


def _expert_of(tensor: Any, number: int, start: int, end: int) -> Callable[[], Any]:
    return lambda: tensor[number][start:end]


def _experts(mine: Mapping[str, Any], held: Mapping[str, tuple[str, Any]]) -> Iterator[Piece]:
    """Experts one by one, whether the trainer has a tensor for each or one for all."""
    for name, tensor in mine.items():
        single = _EXPERT.match(name)
        if single is not None and single.group(3) in _OF_EXPERT:
            fused, half = _OF_EXPERT[single.group(3)]
            yield from _expert(
                name, name, int(single.group(2)), tensor, _engine_experts(single.group(1), fused, held), half
            )
        elif name.endswith((".experts.gate_up_proj", ".experts.down_proj")):
            root, _, kind = name.rpartition(".")
            fused = "w13_weight" if kind == "gate_up_proj" else "w2_weight"
            other = _engine_experts(root, fused, held)
            if other is not None and _shape(other[1]) == _shape(tensor):
                for number in range(_shape(tensor)[0]):
                    yield from _expert(f"{name}[{number}]", name, number, tensor[number], other, -1)


def _engine_experts(root: str, fused: str, held: Mapping[str, tuple[str, Any]]) -> Optional[tuple[str, Any]]:
    """The engine's tensor of all experts of a layer; Mixtral's block has another name in a checkpoint."""
    for name in (
        f"{root}.{fused}",
        f"{root}.routed_experts.{fused}",
        f"{root.replace('block_sparse_moe', 'mlp')}.{fused}",
    ):
        if name in held:
            return held[name]
    return None


def _expert(
    label: str, name: str, number: int, tensor: Any, other: Optional[tuple[str, Any]], half: int
) -> Iterator[Piece]:
    if other is None or len(_shape(other[1])) != 3 or number >= _shape(other[1])[0]:
        return
    full, whole = other
    rows, width = _shape(whole)[1:]
    start, end = (0, rows) if half < 0 else (half * rows // 2, (half + 1) * rows // 2)
    if _shape(tensor) == (end - start, width):
        yield Piece(label, full, _given(tensor), _expert_of(whole, number, start, end), layer_of(name), number)
