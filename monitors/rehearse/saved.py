"""What a program saves by itself: that it does, and files of weights that hold placeholders of size 0 in their place.

ZeRO-3 leaves a tensor of size 0 where it has taken a weight apart, and saving such a model by hand writes those.
https://huggingface.co/docs/transformers/deepspeed#save-model-weights
Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal, outside
from doctor.monitors.rehearse.settings import settings

#: where programs put the weights in what they save; DeepSpeed's own files (`module`) hold their sizes elsewhere
_HELD = ("model", "state_dict", "model_state_dict", "weights")
#: weights of a model, at least, and the share of them that is empty where all were taken apart
_LEAST, _SHARE = 4, 0.5
#: what a program calls that goes on from a state it has saved, and what it asks first: whether there is one
_RESTORES = ("load_state_dict(", "load_state(", "load_checkpoint(")
_ASKS = ("exists(", "isdir(", "is_dir(", "isfile(", "is_file(", "glob(", "listdir(")


class Written:
    """Files that this process has saved."""

    names: ClassVar[list[str]] = []


def for_a_second_start() -> list[str]:
    """What a loop has saved, where its own script goes on from such files when it finds them."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    text = Path(path).read_text(encoding="utf-8", errors="replace") if path and Written.names else ""
    restores = any(each in text for each in _RESTORES) and any(each in text for each in _ASKS)
    return sorted(set(Written.names)) if restores else []


def torch_files(module: Any) -> None:
    """Look at what `torch.save` is given, and refuse what may not be overwritten; note what a second start loads."""
    outside.saves(module)
    _around(module, "save", _of_tensors)
    original = getattr(module, "load", None)
    if not callable(original):
        return

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        _loading(args, kwargs)
        return original(*args, **kwargs)

    module.load = load


def safetensors_files(module: Any) -> None:
    """The same of what is written as safetensors."""
    outside.saves(module)
    _around(module, "serialize_file", _of_shapes)


def _around(module: Any, name: str, sizes: Any) -> None:
    original = getattr(module, name, None)
    if not callable(original):
        return

    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        _look(sizes, args, kwargs)
        return original(*args, **kwargs)

    setattr(module, name, save)


@journal.shielded
def _look(sizes: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    given = args[0] if args else next(iter(kwargs.values()), None)
    path = _path(args[1] if len(args) > 1 else kwargs.get("f", kwargs.get("filename")))
    if path:
        Written.names.append(Path(path).name)
    if not isinstance(given, Mapping):
        return
    for each in (given, *(given[name] for name in _HELD if isinstance(given.get(name), Mapping))):
        told = [(str(name), size) for name, one in each.items() if (size := sizes(one)) is not None]
        empty = [name for name, size in told if size == 0]
        if len(told) >= _LEAST and len(empty) >= _SHARE * len(told):
            journal.once("saved_empty", "saved_empty", path=path, empty=len(empty), of=len(told), first=empty[0])
            return


@journal.shielded
def _loading(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """A second start is about to load what the first one saved: it does go on from there."""
    name = Path(_path(args[0] if args else kwargs.get("f"))).name
    if settings().resume and name:
        written = (each["saved"] for each in journal.entries(settings().root, journal.FIRST) if each.get("saved"))
        if any(name in each for each in written):
            journal.once("loaded", "loaded", name=name)


def _path(place: Any) -> str:
    return str(place) if hasattr(place, "__fspath__") or isinstance(place, str) else ""


def _of_tensors(value: Any) -> Optional[int]:
    return int(value.numel()) if hasattr(value, "numel") and hasattr(value, "dtype") else None


def _of_shapes(value: Any) -> Optional[int]:
    shape = value.get("shape") if isinstance(value, Mapping) else None
    return None if shape is None else functools.reduce(lambda one, two: one * two, map(int, shape), 1)
