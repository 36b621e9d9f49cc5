"""Whether tensors are finite, as one number that stays on their device until somebody wants it.

Runs inside the patient: Python 3.9, its own torch, imported when first needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional

#: the number that `non_finite` gives
FINITE, INF, NAN = 0, 1, 2

_KINDS = {INF: "inf", NAN: "nan"}


def non_finite(tensors: Iterable[Any]) -> Optional[Any]:
    """Tell whether any tensor holds a value that is not finite, without waiting for the device.

    Each tensor is read once, for its largest absolute value, in one fused kernel a device and dtype; that value always
    fits the dtype, as a sum or a 2-norm in fp16 would not, and a NaN passes through it.

    Args:
        tensors: of any shape, device and dtype. Integers, empty ones and those without storage (meta) are left out; of
            a distributed tensor this process's part is read, of a sparse one its values.

    Returns:
        A scalar on the device of the first tensor: FINITE, INF (no NaN beside it) or NAN; None when there is none.

    """
    import torch

    with torch.no_grad():
        groups: dict[tuple[Any, Any], list[Any]] = {}
        for tensor in tensors:
            local = readable(tensor)
            if local is not None:
                groups.setdefault((local.device, local.dtype), []).append(local)
        if not groups:
            return None
        largest = [_largest(torch, group) for group in groups.values()]
        device = largest[0].device
        return code_of(torch.stack([each.to(device, non_blocking=True) for each in largest]).amax())


def code_of(extreme: Any) -> Any:
    """FINITE, INF or NAN, as uint8 on the device, of a largest absolute value (elementwise)."""
    return extreme.isinf().byte() + extreme.isnan().byte() * NAN


def kind(scalar: Optional[Any]) -> Optional[str]:
    """Read what `non_finite` gave, which waits for the device: "nan", "inf", or None where all is finite."""
    return None if scalar is None else _KINDS.get(int(scalar))


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


def _largest(torch: Any, group: list[Any]) -> Any:
    """The largest absolute value in tensors of one device and dtype, in fp32 or better."""
    norms = torch._foreach_norm(group, float("inf"))  # noqa: SLF001 - torch's own clip_grad_norm_ is built on it
    largest = torch.stack(list(norms)).amax()
    return largest.double() if largest.dtype == torch.float64 else largest.float()
