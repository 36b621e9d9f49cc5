"""The norm of each gradient, as torch computes it on the way to the norm of all of them.

Clipping with a norm that is NaN makes every gradient NaN, and then nothing tells any more which one was so first. torch
has computed the norm of each by then. They are kept as they are, on the device, and read after an alarm only; the
gradients themselves are neither kept nor touched. What is wrapped is what torch, Accelerate and FSDP2 clip with (torch
2.6 and newer) and what FSDP1 does; torch's kernels of norms are replaced only while such a call lasts:
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/nn/utils/clip_grad.py
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/fsdp/fully_sharded_data_parallel.py

Runs inside the patient: Python 3.9, its own torch.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Callable, Optional

from doctor.monitors.guard.finite import FINITE, INF, NAN, readable
from doctor.monitors.guard.shield import shielded

#: module -> the function in it that is given tensors (gradients, or parameters) and computes the norm of all
_TOTALS = {
    "torch.nn.utils.clip_grad": "_get_total_norm",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "_get_grad_norm",
}


class Norms:
    """Keeps the norms of the last clipping, while it is attached."""

    def __init__(self) -> None:
        self._kept: list[tuple[list[int], list[Any]]] = []
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self._attach()

    @shielded
    def _attach(self) -> None:
        for name, function in _TOTALS.items():
            module = sys.modules.get(name)
            original = getattr(module, function, None)
            if original is not None:
                ours = self._around(original)
                setattr(module, function, ours)
                self._undo.append((module, function, original, ours))

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def total(*args: Any, **kwargs: Any) -> Any:
            if _compiles():  # what a compiler traces is the program's own; nothing of ours is to be in the graph
                return original(*args, **kwargs)
            kept: list[tuple[list[int], list[Any]]] = []
            try:
                with _recorded(kept):
                    return original(*args, **kwargs)
            finally:  # `error_if_nonfinite` raises
                if self._undo:
                    self._kept = kept

        return total

    def forget(self) -> None:
        """A new step begins."""
        self._kept = []

    def codes(self) -> dict[int, int]:
        """Key of a gradient (`code_of`) -> FINITE, INF or NAN, as it was before clipping. Waits for the device."""
        import torch

        found: dict[int, int] = {}
        with torch.no_grad():
            for names, norms in self._kept:
                local = [part for each in norms if (part := readable(each)) is not None]
                if not local or len(names) != len(local):
                    continue
                read = torch.stack([each.float().reshape(()).to(local[0].device) for each in local]).tolist()
                found.update(zip(names, map(_code, read)))  # noqa: B905 - Python 3.9
        return found

    @shielded
    def close(self) -> None:
        """Put torch's own functions back, unless somebody has put others around ours."""
        while self._undo:
            module, function, original, ours = self._undo.pop()
            if getattr(module, function, None) is ours:
                setattr(module, function, original)
        self._kept = []


def _compiles() -> bool:
    """Whether torch traces this call; `is_compiling` folds to a constant there (torch 2.3 and newer)."""
    asked = getattr(getattr(sys.modules["torch"], "compiler", None), "is_compiling", None)
    return asked is not None and bool(asked())


def _code(norm: float) -> int:
    """Of a norm as it was read."""
    return NAN if norm != norm else INF if norm in (float("inf"), -float("inf")) else FINITE  # noqa: PLR0124


def _of_many(original: Any, kept: list[tuple[list[int], list[Any]]], mine: int) -> Any:
    def of_many(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        norms = original(tensors, *args, **kwargs)
        with suppress(Exception):  # a generator of tensors is used up, and gives no keys
            if threading.get_ident() == mine:
                kept.append((list(map(id, tensors)), list(norms)))
        return norms

    return of_many


def _of_one(original: Any, kept: list[tuple[list[int], list[Any]]], mine: int) -> Any:
    def of_one(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        norm = original(tensor, *args, **kwargs)
        if threading.get_ident() != mine:
            return norm
        with suppress(Exception):  # no storage: a wrapper's. FSDP1 hands over `grad.detach()`, with the same one
            kept.append(([tensor.data_ptr()], [norm]))  # the norm of all is among them, and belongs to no gradient
        return norm

    return of_one


@contextmanager
def _recorded(kept: list[tuple[list[int], list[Any]]]) -> Iterator[None]:
    """While a norm of all is computed, keep what torch's kernels say of each tensor that they are given."""
    torch: Any = sys.modules["torch"]
    mine = threading.get_ident()  # another thread may compute norms of its own meanwhile: it is passed through
    many, one = torch._foreach_norm, torch.linalg.vector_norm  # noqa: SLF001 - what clip_grad itself calls
    of_many, of_one = _of_many(many, kept, mine), _of_one(one, kept, mine)
    torch._foreach_norm, torch.linalg.vector_norm = of_many, of_one  # noqa: SLF001
    try:
        yield
    finally:
        _put_back(torch, of_many, many, of_one, one)


def _put_back(torch: Any, of_many: Any, many: Any, of_one: Any, one: Any) -> None:
    """Only what is still ours: another thread may clip as well."""
    if torch._foreach_norm is of_many:  # noqa: SLF001
        torch._foreach_norm = many  # noqa: SLF001
    if torch.linalg.vector_norm is of_one:
        torch.linalg.vector_norm = one


def code_of(gradient: Any, codes: dict[int, int]) -> int:
    """What a gradient held before it was clipped; FINITE where its norm was not seen."""
    code = codes.get(id(gradient))
    if code is None and codes:
        with suppress(RuntimeError):
            code = codes.get(gradient.data_ptr())
    return code or FINITE


def kept_codes(norms: Optional[Norms]) -> dict[int, int]:
    """What the norms tell; nothing where none are kept or they cannot be read."""
    try:
        return {} if norms is None else norms.codes()
    except Exception as error:  # noqa: BLE001 - the search goes on without them
        sys.stderr.write(f"doctor: guard: norms of the gradients were not read ({type(error).__name__}: {error})\n")
        return {}
