"""Weights of the trainer that the rollout engine held too when the run began: do they stand still in the engine alone?

For an engine that nothing was ever pushed into by the way that is watched. That alone proves nothing, for weights may
come by another way; an engine whose values have not moved while the trainer's have proves that none came at all.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

#: values compared of one weight, and weights compared
VALUES, WEIGHTS = 64, 24

#: a weight in any other precision is quantized: its values are not those of the trainer
PLAIN = ("float32", "float16", "bfloat16")


class _Twin(NamedTuple):
    where: Any
    values: Any


class Twins:
    """Weights of equal name, shape and values on both sides.

    Args:
        own: the trainer's weights by name.
        held: the engine's.

    """

    def __init__(self, own: Iterable[tuple[str, Any]], held: dict[str, Any]) -> None:
        import torch

        pairs = [(name, mine, held[name]) for name, mine in own if comparable(mine, held.get(name))][:WEIGHTS]
        self._twins: dict[str, _Twin] = {}
        for name, mine, weight in pairs:
            where = places(weight).to(weight.device)
            values = at(weight, where).clone()
            if torch.equal(values, at(mine, where).to(values)):
                self._twins[name] = _Twin(where, values)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._twins)

    def left_behind(self, own: Iterable[tuple[str, Any]], held: dict[str, Any]) -> Optional[tuple[str, ...]]:
        """Names of the weights that moved in the trainer alone; None where one moved in the engine: it is fed."""
        import torch

        mine, names, flags = dict(own), [], []
        for name, (where, values) in self._twins.items():
            if name in mine and name in held:
                names.append(name)
                flags.append((at(held[name], where) == values).all())
                flags.append((at(mine[name], where).to(values) == values).all())
        read = torch.stack(flags).tolist() if flags else []  # the one read from the device
        if not all(read[::2]):
            return None
        return tuple(name for name, still in zip(names, read[1::2]) if not still)  # noqa: B905 - Python 3.9


def comparable(mine: Any, weight: Any) -> bool:
    """Whether both hold a whole weight in a precision with the same values; reading a DTensor is a collective."""
    return (
        weight is not None
        and mine.shape == weight.shape
        and mine.numel() > 0
        and str(weight.dtype).rpartition(".")[2] in PLAIN
        and not any(hasattr(each, "full_tensor") for each in (mine, weight))
    )


def places(tensor: Any) -> Any:
    """Where to look in a weight: spread evenly, always the same."""
    import torch

    count = tensor.numel()
    return torch.linspace(0, count - 1, min(VALUES, count), dtype=torch.float64).long()


def at(tensor: Any, where: Any) -> Any:
    """Values at places of the flat weight."""
    return tensor.detach().reshape(-1)[where.to(tensor.device)]
