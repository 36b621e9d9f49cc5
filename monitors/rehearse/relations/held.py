"""What the optimizers of a loop hold in its first two steps: weights whose gradient is 0, or that have none, both
times; and weights with a gradient that no optimizer holds.

The inventory knows one module, the first whose forward trains. A head or a critic beside it is found here: all modules
and optimizers of the process are looked for once, behind the second step.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

_STEPS = 2
#: modules that are named at most
_MOST = 8
#: parts of a name that say why a weight may have no gradient for now: adapters begin at 0, experts are not always used
_BY_CHANCE = ("lora_", "adapter", "expert", "router", "modules_to_save", "original_module", "trainable_tokens")
#: a whole of which less is held was not meant to be trained as a whole
_MOSTLY = 0.5


class _Seen:
    #: weight, by identity -> of each step: None (no gradient), False (all of it 0), True
    held: ClassVar[dict[int, list[Optional[bool]]]] = {}
    weights: ClassVar[dict[int, Any]] = {}
    optimizers: ClassVar[dict[int, int]] = {}
    told: ClassVar[bool] = False


@journal.shielded
def stepping(optimizer: Any) -> None:
    """An optimizer of a loop is about to step."""
    if _Seen.told or not settings().tiny or settings().null:
        return
    made = _Seen.optimizers[id(optimizer)] = _Seen.optimizers.get(id(optimizer), 0) + 1
    for each in _of(optimizer):
        _Seen.weights[id(each)] = each
        _Seen.held.setdefault(id(each), []).append(_state(each))
    if made == _STEPS:
        _Seen.told = True
        _tell()
        _Seen.weights = {}


def _of(optimizer: Any) -> Iterator[Any]:
    return (each for group in optimizer.param_groups for each in group["params"])


def _state(weight: Any) -> Optional[bool]:
    gradient = weight.grad
    if gradient is None or gradient.is_sparse:
        return None if gradient is None else True
    return bool(gradient.any())


def _tell() -> None:
    """Write modules of which nothing trains, beside others that train, and what no optimizer holds."""
    live = {each for each, states in _Seen.held.items() if True in states}
    if not live:
        return
    twice = {each for each, states in _Seen.held.items() if len(states) >= _STEPS and each not in live}
    modules, optimizers = _objects()
    dead = [each for each in _outermost(modules) for each in _parts(each, twice)]
    held = {id(each) for optimizer in optimizers for each in _of(optimizer)}
    journal.write(
        "held", still=[_described(*each) for each in dead[:_MOST]], missed=_missed(modules, held, live),
        steps=_STEPS,
    )  # fmt: skip


def _objects() -> tuple[list[Any], list[Any]]:
    """All modules and all optimizers of the process."""
    torch: Any = sys.modules["torch"]
    found = [each for each in gc.get_objects() if issubclass(type(each), (torch.nn.Module, torch.optim.Optimizer))]
    modules = [each for each in found if issubclass(type(each), torch.nn.Module)]
    return modules, [each for each in found if issubclass(type(each), torch.optim.Optimizer)]


def _outermost(modules: Iterable[Any]) -> list[Any]:
    modules = list(modules)
    inner = {id(child) for each in modules for child in each.children()}
    return [each for each in modules if id(each) not in inner]


def _parts(root: Any, still: set[int]) -> Iterator[tuple[str, Any]]:
    """A whole module, or the parts that it is made of directly, of which nothing trains though it is held."""
    for name, each in [(type(root).__name__, root), *root.named_children()]:
        own = {id(one): label for label, one in each.named_parameters()}
        held = [one for one in own if one in _Seen.held]
        if not held or not all(one in still for one in held):
            continue
        if not any(word in f"{name}.{label}" for label in own.values() for word in _BY_CHANCE):
            yield name, each
        if each is root:
            return


def _described(name: str, module: Any) -> dict[str, Any]:
    held = [(label, id(each)) for label, each in module.named_parameters() if id(each) in _Seen.held]
    return {
        "module": name, "kind": type(module).__name__, "tensors": len(held), "first": held[0][0],
        "none": all(None in _Seen.held[each] for _, each in held),
    }  # fmt: skip


def _missed(modules: Iterable[Any], held: set[int], live: set[int]) -> dict[str, Any]:
    """Weights with a gradient that nothing holds, of the module most of whose trained elements are held."""
    for root in _outermost(modules):
        named = [(name, each) for name, each in root.named_parameters() if each.requires_grad]
        outside = [(name, each) for name, each in named if each.grad is not None and id(each) not in held]
        inside = sum(each.numel() for _, each in named if id(each) in live)
        if outside and inside > _MOSTLY * sum(each.numel() for _, each in named):
            names = [name for name, _ in outside]
            return {
                "module": type(root).__name__,
                "names": names[:200],
                "count": len(names),
                "held": len(named) - len(names),
            }
    return {}
