"""CUDA_VISIBLE_DEVICES as CUDA reads it.

https://docs.nvidia.com/cuda/cuda-programming-guide/ and torch/cuda/__init__.py (`_parse_visible_devices`,
`_transform_uuid_to_ordinals`): the list ends at its first entry that is no device, the same one twice leaves none, a
UUID may be shortened as long as it fits one card, a number may be followed by anything.
"""

from __future__ import annotations

from doctor.facts.gpus import Gpu, Gpus

#: what people and schedulers write to hide all cards
_HIDES = frozenset({"", "nodevfiles", "none", "void"})


def visible(gpus: Gpus, value: str | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """NVML indices that are left by a value of CUDA_VISIBLE_DEVICES, in its order, and the entries that fit no GPU.

    None stands for the variable being unset. Numbers are taken for NVML's indices, which holds when
    CUDA_DEVICE_ORDER is PCI_BUS_ID or all cards are of one model. A MIG instance stands for its card.
    """
    if value is None:
        return tuple(gpu.index for gpu in gpus.gpus), ()
    entries = [each.strip() for each in value.split(",")]
    found: list[int] = []
    unknown: list[str] = []
    seen: set[str] = set()
    by_uuid = entries[0].startswith(("GPU-", "MIG-"))
    for entry in entries:
        match = _by_uuid(gpus, entry) if by_uuid else _by_number(gpus, entry)
        if match is None:
            if entry.lower() not in _HIDES and not entry.startswith("-"):
                unknown.append(entry)
            break
        index, identity = match
        if identity in seen:
            return (), ()
        seen.add(identity)
        if index not in found:
            found.append(index)
    return tuple(found), tuple(unknown + _absent_behind(gpus, entries, unknown, by_uuid=by_uuid))


def listed(value: str) -> int:
    """How many GPUs a value of CUDA_VISIBLE_DEVICES leaves at most, whatever machine it is set on."""
    entries: list[str] = []
    for entry in (each.strip() for each in value.split(",")):
        if entry.lower() in _HIDES or entry.startswith("-"):
            break
        if entry in entries:
            return 0
        entries.append(entry)
    return len(entries)


def _absent_behind(gpus: Gpus, entries: list[str], unknown: list[str], *, by_uuid: bool) -> list[str]:
    """Further entries that fit no GPU, behind the first one."""
    if not unknown:
        return []
    behind = entries[entries.index(unknown[0]) + 1 :]
    find = _by_uuid if by_uuid else _by_number
    named = [each for each in behind if each.lower() not in _HIDES and not each.startswith("-")]
    return [each for each in dict.fromkeys(named) if find(gpus, each) is None]


def _by_number(gpus: Gpus, entry: str) -> tuple[int, str] | None:
    digits = entry.removeprefix("+")
    length = next((at for at, letter in enumerate(digits) if letter not in "0123456789"), len(digits))
    if not 0 < length < 10:
        return None
    number = int(digits[:length])
    return next(((gpu.index, str(number)) for gpu in gpus.gpus if gpu.index == number), None)


def _by_uuid(gpus: Gpus, entry: str) -> tuple[int, str] | None:
    if entry.startswith("GPU-"):
        fits = [gpu for gpu in gpus.gpus if gpu.uuid is not None and gpu.uuid.startswith(entry)]
        return (fits[0].index, str(fits[0].uuid)) if len(fits) == 1 else None
    if not entry.startswith("MIG-"):
        return None
    owners = [gpu for gpu in gpus.gpus if _holds(gpu, entry)]
    return (owners[0].index, entry) if len(owners) == 1 else None


def _holds(gpu: Gpu, entry: str) -> bool:
    """Whether a MIG name is one of this card: `MIG-<uuid>`, or `MIG-GPU-<uuid>/<gi>/<ci>` of older drivers."""
    if entry.startswith("MIG-GPU-"):
        return gpu.uuid is not None and entry.removeprefix("MIG-").partition("/")[0] == gpu.uuid
    return any(device.uuid.startswith(entry) for device in gpu.mig_devices)
