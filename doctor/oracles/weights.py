"""Checksums of weights: does the engine hold what is trained, and where it does not, what does it hold instead.

A checksum is a sample of values, spread evenly over a tensor and rounded to the engine's precision: cheap enough for a
running training, and it can be compared over different layouts, libraries and precisions. A full digest (`digest`) is
byte by byte the one that vLLM's weight checker gives: https://docs.vllm.ai/en/latest/training/weight_checker/
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import struct
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from doctor.oracles.layouts import Piece, canonical, is_adapter, layer_of, pieces
from doctor.oracles.verdict import BROKEN, HOLDS, Verdict, unseen

#: values sampled of one tensor
SAMPLED = 64

#: names listed in a verdict
_LISTED = 12

#: precisions whose values are those of the trainer, rounded; any other is quantised
PLAIN = ("float64", "float32", "float16", "bfloat16")


class Checksum(NamedTuple):
    """A sample of a tensor: `values` at even distances, `size` of the whole."""

    values: tuple[float, ...]
    size: int


def precision_of(tensor: Any) -> str:
    """Name of a tensor's precision: "bfloat16"."""
    return str(tensor.dtype).rpartition(".")[2]


def checksum(tensor: Any, sampled: int = SAMPLED) -> Checksum:
    """A sample of a tensor, NumPy's or torch's.

    >>> class Array(list):
    ...     shape = (3,)
    ...     def reshape(self, *_): return self
    ...     def __getitem__(self, at): return Array(list.__getitem__(self, each) for each in at)
    ...     def tolist(self): return list(self)
    >>> checksum(Array([1.0, 2.0, 3.0]))
    Checksum(values=(1.0, 2.0, 3.0), size=3)
    """
    flat = (tensor.detach() if hasattr(tensor, "detach") else tensor).reshape(-1)
    size = math.prod(tensor.shape)
    return Checksum(tuple(map(float, flat[places(size, sampled)].tolist())), size)


def places(size: int, sampled: int = SAMPLED) -> list[int]:
    """Even distances over a flat tensor, its two ends among them."""
    count = min(size, sampled)
    return [at * (size - 1) // max(1, count - 1) for at in range(count)]


def weight_checksums(tensors: Mapping[str, Any]) -> dict[str, Checksum]:
    """Checksum of each tensor by its name without wrappers; adapters are left out.

    What a trainer keeps of a step, to tell later which step an engine stands at (`past` of `compare_weights`).
    """
    kept: dict[str, Checksum] = {}
    for full, tensor in tensors.items():
        name = canonical(full)
        if not is_adapter(full):
            kept[name] = checksum(tensor)
            if len(tensor.shape) == 3 and ".experts." in name:  # all experts of a layer: each has a checksum of its own
                kept.update((f"{name}[{at}]", checksum(tensor[at])) for at in range(tensor.shape[0]))
    return kept


def rounded(value: float, precision: str) -> float:
    """A value as another precision holds it, ties to even.

    >>> rounded(1.001, "bfloat16"), rounded(0.1, "float16"), rounded(0.1, "float64")
    (1.0, 0.0999755859375, 0.1)
    """
    if precision == "float64" or not math.isfinite(value):
        return value
    try:
        if precision == "float16":
            return float(struct.unpack("<e", struct.pack("<e", value))[0])
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    if precision == "bfloat16":
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def same(one: Sequence[float], other: Sequence[float], precision: str) -> bool:
    """Whether two samples are the same in a precision; NaN is itself."""
    if len(one) != len(other):
        return False
    pairs = zip(one, other)  # noqa: B905 - Python 3.9
    return all(_equal(rounded(mine, precision), rounded(yours, precision)) for mine, yours in pairs)


def _equal(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


class _Seen(NamedTuple):
    """A piece with both samples and the coarser of the two precisions."""

    piece: Piece
    mine: tuple[float, ...]
    held: tuple[float, ...]
    precision: str

    @property
    def equal(self) -> bool:
        return same(self.mine, self.held, self.precision)


def compare_weights(
    trainer: Mapping[str, Any],
    engine: Mapping[str, Any],
    past: Optional[Mapping[int, Mapping[str, Checksum]]] = None,
) -> Verdict:
    """Whether an engine holds the trained weights, tensor by tensor, in its own names and layout.

    Args:
        trainer: name -> tensor, as `named_parameters` gives them.
        engine: name -> tensor, as the engine's module holds them (fused, experts in one, heads tied).
        past: step -> `weight_checksums` of the trainer at that step, to say which step the engine stands at.

    Returns:
        `value` is the share of the compared tensors that differ. `details`: `compared`, `different` (names),
        `unknown` (names that the engine has no counterpart of), `layers` (how many), `stale_layers` with `stale_step`
        (layers whose differing tensors are all those of an earlier step), `experts` (layer -> those out of place),
        `precision`.

    """
    found, unknown = pieces(trainer, engine)
    return judged(sampled(found), unknown, past or {})


def sampled(found: Iterable[Piece]) -> list[_Seen]:
    """Samples of both sides of each piece, without those that the engine holds quantised."""
    return [_seen(each) for each in found if precision_of(each.held()) in PLAIN]


def _seen(piece: Piece) -> _Seen:
    mine, held = piece.mine(), piece.held()
    coarse = max(precision_of(mine), precision_of(held), key=PLAIN.index) if precision_of(mine) in PLAIN else "float32"
    return _Seen(piece, checksum(mine).values, checksum(held).values, coarse)


def judged(seen: Iterable[_Seen], unknown: Sequence[str], past: Mapping[int, Mapping[str, Checksum]]) -> Verdict:
    """The verdict over pieces of which both samples are known."""
    every = list(seen)
    if not every:
        return unseen(
            "compare-weights", "the engine has no tensor in the trainer's layout", unknown=list(unknown[:_LISTED])
        )
    bad = [each for each in every if not each.equal]
    layers = {each.piece.layer for each in every if each.piece.layer is not None}
    details: dict[str, Any] = {
        "compared": len(every), "different": [each.piece.name for each in bad][:_LISTED], "layers": len(layers),
        "unknown": list(unknown[:_LISTED]), "precision": every[0].precision,
    }  # fmt: skip
    if not bad:
        return Verdict("compare-weights", HOLDS, 0.0, 0.0, f"{len(every)} tensors are those of the trainer", details)
    details["experts"] = _moved(every, bad)
    step, stale = _stale(bad, past)
    details["stale_step"] = step
    details["stale_layers"] = sorted({each.piece.layer for each in stale if each.piece.layer is not None})
    details["whole_layers"] = whole_layers([each.piece.name for each in bad], [each.piece.name for each in every])
    details["stale"] = [each.piece.name for each in stale][:_LISTED]
    value = len(bad) / len(every)
    return Verdict("compare-weights", BROKEN, value, 0.0, _sentence(bad, len(every), details), details)


def whole_layers(different: Iterable[str], compared: Iterable[str]) -> list[int]:
    """Layers all of whose tensors differ, where nothing else does; none where something does.

    >>> whole_layers(["layers.1.a", "layers.1.b"], ["layers.0.a", "layers.1.a", "layers.1.b", "norm.weight"])
    [1]
    """
    bad = set(different)
    layers = {layer_of(name) for name in bad}
    whole = all(name in bad for name in compared if layer_of(name) in layers)
    return sorted(each for each in layers if each is not None) if whole and None not in layers else []


def _moved(every: Sequence[_Seen], bad: Sequence[_Seen]) -> dict[int, list[int]]:
    """Layer -> experts whose values the engine holds at the place of another expert."""
    moved: dict[int, set[int]] = {}
    for each in bad:
        number, layer = each.piece.expert, each.piece.layer
        if number is None or layer is None:
            continue
        end = each.piece.name.rpartition(".experts.")[2].partition(".")[2] or each.piece.name.partition("[")[0]
        for other in every:
            told = other.piece
            if told.layer != layer or told.expert in (None, number) or told.engine_name != each.piece.engine_name:
                continue
            kind = told.name.rpartition(".experts.")[2].partition(".")[2] or told.name.partition("[")[0]
            if kind == end and same(other.mine, each.held, each.precision):
                moved.setdefault(layer, set()).add(number)
    return {layer: sorted(numbers) for layer, numbers in sorted(moved.items())}


def _stale(bad: Sequence[_Seen], past: Mapping[int, Mapping[str, Checksum]]) -> tuple[Optional[int], list[_Seen]]:
    """The step that most of the differing tensors are of, and which those are."""
    best: tuple[Optional[int], list[_Seen]] = (None, [])
    for step in sorted(past):
        kept = past[step]
        those = [each for each in bad if _as_in(each, kept)]
        if len(those) > len(best[1]):
            best = (step, those)
    return best


def _as_in(seen: _Seen, kept: Mapping[str, Checksum]) -> bool:
    """Whether the engine holds what the trainer had then."""
    then = kept.get(seen.piece.name)
    return then is not None and same(then.values, seen.held, seen.precision)


def _sentence(bad: Sequence[_Seen], every: int, details: Mapping[str, Any]) -> str:
    experts, stale, step = details["experts"], details["stale_layers"], details["stale_step"]
    if experts:
        layer, numbers = next(iter(experts.items()))
        return f"experts {spans(numbers)} of layer {layer} are at each other's places ({len(experts)} layers)"
    if stale:
        return f"{len(stale)} of {details['layers']} layers are those of step {step}"
    if step is not None:
        return f"{', '.join(f'`{name}`' for name in details['stale'][:3])} is that of step {step}"
    names = sorted({each.piece.layer for each in bad if each.piece.layer is not None})
    where = f" in layers {spans(names)}" if names else ""
    return f"{len(bad)} of {every} tensors differ{where}, the first is `{bad[0].piece.name}`"


def spans(numbers: Sequence[int]) -> str:
    """Numbers in short.

    >>> spans([0, 1, 2, 5])
    '0 to 2, 5'
    """
    parts: list[list[int]] = []
    for each in sorted(numbers):
        if parts and each == parts[-1][-1] + 1:
            parts[-1].append(each)
        else:
            parts.append([each])
    return ", ".join(f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def digest(parts: Sequence[Any]) -> str:
    """SHA-256 over the bytes of tensors one behind the other, as an engine digests the one that it fused of them.

    Args:
        parts: NumPy arrays, or torch tensors; cast to the engine's precision before.

    """
    whole = hashlib.sha256()
    for part in parts:
        whole.update(_bytes(part))
    return whole.hexdigest()


def _bytes(tensor: Any) -> bytes:
    if not hasattr(tensor, "data_ptr"):
        return bytes(tensor.tobytes())
    here = tensor.detach().cpu().contiguous()
    return ctypes.string_at(here.data_ptr(), here.numel() * here.element_size())  # without NumPy
