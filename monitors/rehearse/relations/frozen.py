"""Weights that were made by the script, that the loss goes through, and that do not train: random, and they stay so.

PEFT freezes all that it does not add. A head that was put on the model before is frozen with it; so are the rows that
an embedding got for new tokens. Weights that were loaded, copied from loaded ones, or read from a file are not meant.
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/tuners_utils.py (`mark_only_adapters_as_trainable`)
"""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

#: parts of names of what adapters bring, which may be frozen for a reason of their own
_OF_ADAPTERS = ("lora_", "adapter", "prompt", "modules_to_save", "trainable_tokens", "ia3_", "original_module")
_SHOWN = 8


class _Seen:
    #: weights that came from a file, by identity
    loaded: ClassVar[dict[int, Any]] = {}
    steps: ClassVar[int] = 0
    optimizer: ClassVar[Optional[int]] = None
    suspects: ClassVar[dict[str, dict[str, Any]]] = {}
    flowed: ClassVar[set[str]] = set()
    handles: ClassVar[list[Any]] = []


def loaded(model: Any) -> None:
    """A model has its weights from a file."""
    for each in model.parameters():
        _Seen.loaded[id(each)] = weakref.ref(each)


def attach(module: Any) -> None:
    """Note modules that get weights from a file later; `module` is torch.nn.modules.module."""
    original = module.Module.load_state_dict

    @functools.wraps(original)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        _noted(self)
        return result

    module.Module.load_state_dict = watched


@journal.shielded
def _noted(module: Any) -> None:
    loaded(module)


@journal.shielded
def stepping(optimizer: Any) -> None:
    """A step is about to be made: at the first one look for such weights, at the next tell those that are used."""
    if not settings().tiny or settings().resume or not _Seen.loaded:
        return
    _Seen.optimizer = id(optimizer) if _Seen.optimizer is None else _Seen.optimizer
    if id(optimizer) != _Seen.optimizer:
        return
    _Seen.steps += 1
    if _Seen.steps == 1:
        held = {id(each) for group in optimizer.param_groups for each in group["params"]}
        for name, module, told in _suspects(held):
            _Seen.suspects[name] = told
            _Seen.handles.append(module.register_forward_hook(functools.partial(_called, name)))
    elif _Seen.handles:
        while _Seen.handles:
            _Seen.handles.pop().remove()
        used = [_Seen.suspects[name] for name in sorted(_Seen.flowed)]
        if used:
            journal.write("frozen", weights=used[:_SHOWN], count=len(used))


def _called(name: str, _module: Any, _inputs: Any, output: Any) -> None:
    """A suspect's module was called: whether a gradient comes back to what it gave."""
    if getattr(output, "requires_grad", False):
        output.register_hook(functools.partial(_flowed, name))


def _flowed(name: str, gradient: Any) -> None:
    if name not in _Seen.flowed and bool(gradient.any()):
        _Seen.flowed.add(name)


def _suspects(held: set[int]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, its module, what is told of it) of frozen weights beside trained ones that nobody loaded."""
    torch: Any = sys.modules["torch"]
    known = [each for each in (ref() for ref in _Seen.loaded.values()) if each is not None]
    seen: set[int] = set()
    for root in [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]:
        if not any(id(each) in held for each in root.parameters()):
            continue
        for path, module in root.named_modules():
            for name, each in module.named_parameters(path, recurse=False):
                if each.requires_grad or id(each) in seen or id(each) in _Seen.loaded or not _plain(torch, name, each):
                    continue
                seen.add(id(each))
                rows = _rows_of(torch, each, known)
                if rows is None:
                    yield name, module, {"name": name, "kind": type(module).__name__, "shape": list(each.shape)}


def _plain(torch: Any, name: str, weight: Any) -> bool:
    """Whether a weight is a whole one of ordinary numbers, and no adapter's."""
    ordinary = type(weight) is torch.nn.Parameter and weight.numel() and weight.is_floating_point()
    return bool(ordinary) and not hasattr(weight, "ds_id") and not any(each in name for each in _OF_ADAPTERS)


def _rows_of(torch: Any, weight: Any, known: list[Any]) -> Optional[int]:
    """How many rows of a weight are those of a loaded one of equal or smaller size; None where none is like it."""
    for each in known:
        if each.ndim == weight.ndim and each.shape[1:] == weight.shape[1:] and 0 < len(each) <= len(weight):
            few = min(len(each), 64)
            if torch.equal(each.detach()[:few].to(weight), weight.detach()[:few]):
                return len(each)
    return None
