"""Whether tensors are finite: one number that is read from the device, and a second one only when they are not.

Every element goes into the one number, through which NaN and infinities pass: a sum on a CPU, a 2-norm in one fused
kernel elsewhere. On a CPU that costs a fifth to a tenth of the largest absolute value, which torch computes there
without vector instructions (2.13); many small tensors are laid side by side first, for there each call costs more than
the numbers do. Sums and norms of finite numbers may overflow, so what is not finite is looked at once more, exactly.

Gradients have a way of their own, for they may be written: the kernel with which torch's GradScaler looks at them and
multiplies them, here by 1, which changes no number. It makes nothing for each tensor, and costs half or less.
https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/native/cuda/AmpKernels.cu

Runs inside the patient: Python 3.9, its own torch, imported when first needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Optional

#: what `worst` gives
FINITE, INF, NAN = 0, 1, 2

#: as text, where it is not finite
KINDS = {INF: "inf", NAN: "nan"}

#: on a CPU: elements of a tensor up to which it is copied beside others, and elements of such a copy
SMALL, SIDE_BY_SIDE = 4096, 1 << 18

Groups = dict[Any, list[Any]]

#: kinds of devices on which torch has refused to look with GradScaler's kernel
_refused: set[str] = set()

#: device -> what that kernel notes there, and the 1 that it multiplies by
_notes: dict[Any, tuple[Any, Any]] = {}


def worst(tensors: Iterable[Any]) -> int:
    """FINITE, INF (no NaN beside it) or NAN; FINITE where there is nothing to look at. Waits for the device.

    Args:
        tensors: of any shape, device and dtype. Integers, empty ones and those without storage (meta) are left out; of
            a distributed tensor this process's part is read, of a sparse one its values.

    """
    import torch

    with torch.no_grad():
        groups = _groups(torch, tensors)
        if not groups or math.isfinite(float(_through(torch, groups))):
            return FINITE
        return int(_exactly(torch, groups))


def worst_gradient(gradients: Iterable[Any]) -> int:
    """The same of gradients that an optimizer is about to apply; None among them is left out."""
    import torch

    plain = torch.Tensor
    with torch.no_grad():
        kept = [each for each in gradients if each is not None]
        if any(each is not plain for each in set(map(type, kept))):
            kept = [local for each in kept if (local := readable(each)) is not None]
        return FINITE if kept and _scaler_sees_none(torch, kept) else worst(kept)


def _scaler_sees_none(torch: Any, gradients: list[Any]) -> bool:
    """Whether GradScaler's kernel has looked and found all finite; False too where it cannot look."""
    device = gradients[0].device
    if device.type in _refused or any(map(attrgetter("requires_grad"), gradients)):  # create_graph=True
        return False
    if device not in _notes:
        _notes[device] = (torch.zeros(1, device=device), torch.ones(1, device=device))
    found, one = _notes[device]
    try:
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found.zero_(), one)
    except (RuntimeError, NotImplementedError):  # no such kernel, several devices, a dtype or layout that it refuses
        _refused.add(device.type)
        return False
    return not float(found)


def kind(tensors: Iterable[Any]) -> Optional[str]:
    """The same as "nan", "inf", or None where all is finite."""
    return KINDS.get(worst(tensors))


def readable(tensor: Any) -> Optional[Any]:
    """The part of a tensor that this process holds and that can be inspected; None where there is none."""
    if tensor is None:
        return None
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    if local.is_sparse:
        local = local._values()  # noqa: SLF001 - the only access to values that are not coalesced
    if not (local.is_floating_point() or local.is_complex()) or local.numel() == 0 or local.is_meta:
        return None
    local = local.detach()
    return local.float() if local.element_size() == 1 else local  # no reduction takes fp8


def _groups(torch: Any, tensors: Iterable[Any]) -> Groups:
    """Tensors by device and dtype. Plain ones, which almost all gradients are, are judged by their group."""
    plain, strided = torch.Tensor, torch.strided
    groups: Groups = {}
    for tensor in tensors:
        if type(tensor) is not plain or tensor.layout is not strided:
            tensor = readable(tensor)  # noqa: PLW2901
            if tensor is None:
                continue
        key = (tensor.dtype, tensor.device)
        group = groups.get(key)
        if group is None:
            groups[key] = [tensor]
        else:
            group.append(tensor)
    checked = ((key, _checked(group)) for key, group in groups.items())
    return {key: group for key, group in checked if group}


def _checked(group: list[Any]) -> list[Any]:
    """A group of which one tensor tells what all are; nothing of what cannot be inspected."""
    first = group[0]
    if first.is_meta or not (first.is_floating_point() or first.is_complex()):
        return []
    return group if first.element_size() > 1 else [each.float() for each in group]


def _through(torch: Any, groups: Groups) -> Any:
    """A number on the device of the first group that is not finite where any element is not."""
    told = [_sum(torch, group) if key[1].type == "cpu" else _norm(torch, group) for key, group in groups.items()]
    return torch.stack([each.to(told[0].device, non_blocking=True) for each in told]).sum()


def _sum(torch: Any, group: list[Any]) -> Any:
    """The sum of all elements, in fp32."""
    sums = [each.sum() for each in _side_by_side(torch, group)]
    return _magnitude(sums[0] if len(sums) == 1 else torch.stack(sums).sum())


def _side_by_side(torch: Any, group: list[Any]) -> Iterator[Any]:
    """Large tensors as they are, small ones copied into one behind the other."""
    small: list[Any] = []
    elements = 0
    for tensor in group:
        count = tensor.numel()
        if count > SMALL:
            yield tensor
            continue
        small.append(tensor)
        elements += count
        if elements > SIDE_BY_SIDE:
            yield torch._utils._flatten_dense_tensors(small)  # noqa: SLF001 - DDP's own way, in every torch
            small, elements = [], 0
    if small:
        yield torch._utils._flatten_dense_tensors(small)  # noqa: SLF001


def _norm(torch: Any, group: list[Any]) -> Any:
    """The sum of the 2-norms, which one fused kernel computes, in fp32."""
    norms = torch._foreach_norm(group, 2)  # noqa: SLF001 - torch's own clip_grad_norm_ is built on it
    return _magnitude(torch.stack(list(norms)).sum())


def _magnitude(number: Any) -> Any:
    return (number.abs() if number.is_complex() else number).float()


def _exactly(torch: Any, groups: Groups) -> Any:
    """FINITE, INF or NAN on the device: by the largest absolute value, which fits every dtype."""
    filled = [[each for each in group if each.numel()] for group in groups.values()]
    largest = [_largest(torch, group) for group in filled if group]
    extreme = torch.stack([each.to(largest[0].device, non_blocking=True) for each in largest]).amax()
    return extreme.isinf().byte() + extreme.isnan().byte() * NAN


def _largest(torch: Any, group: list[Any]) -> Any:
    """The largest absolute value in tensors of one device and dtype, in fp32 or better."""
    norms = torch._foreach_norm(group, float("inf"))  # noqa: SLF001
    largest = torch.stack(list(norms)).amax()
    return largest.double() if largest.dtype == torch.float64 else largest.float()
