"""Reads one GPU after another from an open NVML into `Gpu`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doctor.facts.gpus import Gpu, GpuProcess, MigDevice
from doctor.readers.machine import nvml as _nvml
from doctor.readers.machine.gpu_processes import describe
from doctor.readers.machine.nvml import GpuLost, Nvml

# Bits of nvmlClocksEventReasons (nvml.h; formerly nvmlClocksThrottleReasons), under the names nvidia-smi
# gives them. An idle card and application clocks set by the user are states, not slow-downs, but they are
# reported all the same.
REASONS = (
    (0x001, "gpu_idle"), (0x002, "applications_clocks_setting"), (0x004, "sw_power_cap"), (0x008, "hw_slowdown"),
    (0x010, "sync_boost"), (0x020, "sw_thermal_slowdown"), (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"), (0x100, "display_clock_setting"), (0x200, "board_limit"),
    (0x400, "reliability"),
)  # fmt: skip
_COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}

_P2P_READ = 0  # NVML_P2P_CAPS_INDEX_READ; the binding's constant is a tuple by a stray comma
_P2P_OK, _P2P_UNKNOWN = 0, 6
_UNCORRECTED, _VOLATILE = 1, 0  # nvmlMemoryErrorType_t, nvmlEccCounterType_t
_CLOCK_SM = 1
_SENSOR_GPU = 0
_MAX_LINKS = 36
_NOT_AVAILABLE = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE

# Drivers whose list of processes is right only in its first row, for its rows were longer than the header
# says: https://github.com/wookayin/gpustat/issues/161 https://github.com/NVIDIA/go-nvml/issues/75
_WRONG_PROCESS_ROWS = ((535, 43), (535, 98))


def read_gpu(nvml: Nvml, index: int, driver: str | None) -> tuple[Gpu, Any]:
    """One GPU and its NVML handle (None when it has none). A lost card keeps what was read before, and an `error`."""
    try:
        handle, code = nvml.ask("nvmlDeviceGetHandleByIndex", index)
    except GpuLost as exc:
        return Gpu(index, error=_lost(exc)), None
    if handle is None:
        what = (
            "may not be opened by this user" if code == _nvml.NO_PERMISSION else f"gives no handle (NVML error {code})"
        )
        return Gpu(index, error=f"the driver lists it, but it {what}"), None
    values: dict[str, Any] = {}
    try:
        for part in _PARTS:
            values.update(part(nvml, handle))
        values["processes"] = _processes(nvml, handle, driver)
    except GpuLost as exc:
        values["error"] = _lost(exc)
    return Gpu(index, **values), handle


def _lost(error: GpuLost) -> str:
    if error.code == _nvml.RESET_REQUIRED:
        return "needs a reset before it can be used (NVML: GPU requires reset)"
    return "does not answer any more: it fell off the bus (NVML: GPU is lost)"


def _identity(nvml: Nvml, handle: Any) -> dict[str, Any]:
    capability = nvml.query("nvmlDeviceGetCudaComputeCapability", handle)
    return {
        "uuid": _text(nvml.query("nvmlDeviceGetUUID", handle)),
        "name": _text(nvml.query("nvmlDeviceGetName", handle)),
        "compute_capability": tuple(capability) if capability else None,
        **_bus(nvml, handle),
    }


def _bus(nvml: Nvml, handle: Any) -> dict[str, Any]:
    """PCI address as Linux writes it, and the NUMA node the kernel gives it.

    nvmlDeviceGetNumaNodeId is another thing: the node of the card's own memory, on Grace only.
    """
    info = nvml.query("nvmlDeviceGetPciInfo", handle)
    address = _text(getattr(info, "busId", None)) if info is not None else None
    if not address:
        return {}
    domain, _, rest = address.lower().partition(":")
    bus_id = f"{int(domain, 16):04x}:{rest}" if rest else address.lower()
    try:
        with open(f"/sys/bus/pci/devices/{bus_id}/numa_node", encoding="ascii") as file:  # noqa: PTH123
            node = int(file.read())
    except (OSError, ValueError):
        node = -1
    return {"bus_id": bus_id, "numa_node": node if node >= 0 else None}


def _memory(nvml: Nvml, handle: Any) -> dict[str, Any]:
    """Version 2 where the driver has it (510 and newer): version 1 counts the driver's own reserve as used."""
    version = nvml.constant("nvmlMemory_v2", 0)
    info = nvml.query("nvmlDeviceGetMemoryInfo", handle, version) if version else None
    if info is None:
        info = nvml.query("nvmlDeviceGetMemoryInfo", handle)
    if info is None:
        return {}
    return {
        "memory_total_bytes": _count(info.total),
        "memory_used_bytes": _count(info.used),
        "memory_free_bytes": _count(info.free),
    }


def _health(nvml: Nvml, handle: Any) -> dict[str, Any]:
    mode = nvml.query("nvmlDeviceGetEccMode", handle)
    rows = nvml.query("nvmlDeviceGetRemappedRows", handle)
    reasons = nvml.first(
        ("nvmlDeviceGetCurrentClocksEventReasons", handle),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", handle),
    )
    enabled = bool(mode[0]) if mode is not None else None
    errors = nvml.query("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _VOLATILE) if enabled else None
    return {
        "ecc_enabled": enabled,
        "ecc_uncorrected": _count(errors),
        "rows_remapped_uncorrectable": rows[1] if rows else None,
        "row_remap_pending": bool(rows[2]) if rows else None,
        "row_remap_failure": bool(rows[3]) if rows else None,
        "retired_pages_pending": _flag(nvml.query("nvmlDeviceGetRetiredPagesPendingStatus", handle)),
        "throttle_reasons": None if reasons is None else tuple(name for bit, name in REASONS if reasons & bit),
    }


#: nvmlGpuFabricState_t (nvml.h); a card without NVSwitch answers "not supported"
_FABRIC = {1: "not started", 2: "in progress", 3: "completed"}


def _fabric(nvml: Nvml, handle: Any) -> dict[str, Any]:
    """How far the registration with the fabric manager of NVSwitch is (Hopper and newer)."""
    import ctypes

    info = nvml.structure("c_nvmlGpuFabricInfo_t")
    if info is None or nvml.query("nvmlDeviceGetGpuFabricInfo", handle, ctypes.byref(info)) is None:
        return {}
    return {"fabric_state": _FABRIC.get(info.state)}


def _power(nvml: Nvml, handle: Any) -> dict[str, Any]:
    return {
        "temperature_c": nvml.first(
            ("nvmlDeviceGetTemperature", handle, _SENSOR_GPU),
            ("nvmlDeviceGetTemperatureV", handle, _SENSOR_GPU),
        ),
        "power_w": _watts(nvml.query("nvmlDeviceGetPowerUsage", handle)),
        "power_limit_w": _watts(nvml.query("nvmlDeviceGetEnforcedPowerLimit", handle)),
        "power_limit_default_w": _watts(nvml.query("nvmlDeviceGetPowerManagementDefaultLimit", handle)),
        "sm_clock_mhz": nvml.query("nvmlDeviceGetClockInfo", handle, _CLOCK_SM),
        "sm_clock_max_mhz": nvml.query("nvmlDeviceGetMaxClockInfo", handle, _CLOCK_SM),
    }


def _link(nvml: Nvml, handle: Any) -> dict[str, Any]:
    return {
        "pcie_generation": nvml.query("nvmlDeviceGetCurrPcieLinkGeneration", handle),
        "pcie_generation_max": nvml.query("nvmlDeviceGetMaxPcieLinkGeneration", handle),
        "pcie_width": nvml.query("nvmlDeviceGetCurrPcieLinkWidth", handle),
        "pcie_width_max": nvml.query("nvmlDeviceGetMaxPcieLinkWidth", handle),
        **_nvlinks(nvml, handle),
    }


def _nvlinks(nvml: Nvml, handle: Any) -> dict[str, Any]:
    """How many NVLinks are up and down; nothing for a card that has none."""
    states: list[bool] = []
    for link in range(_MAX_LINKS):
        state, code = nvml.ask("nvmlDeviceGetNvLinkState", handle, link)
        if code in {_nvml.INVALID_ARGUMENT, _nvml.FUNCTION_NOT_FOUND, _nvml.NOT_SUPPORTED}:
            break
        if code is None:
            states.append(bool(state))
    return {"nvlinks_active": sum(states), "nvlinks_inactive": len(states) - sum(states)} if states else {}


def _modes(nvml: Nvml, handle: Any) -> dict[str, Any]:
    mode = nvml.query("nvmlDeviceGetComputeMode", handle)
    mig = nvml.query("nvmlDeviceGetMigMode", handle)
    enabled = bool(mig[0]) if mig is not None else None
    return {
        "persistence_mode": _flag(nvml.query("nvmlDeviceGetPersistenceMode", handle)),
        "compute_mode": _COMPUTE_MODES.get(mode) if mode is not None else None,
        "mig_enabled": enabled,
        "mig_devices": tuple(_mig_devices(nvml, handle)) if enabled else (),
    }


def _mig_devices(nvml: Nvml, handle: Any) -> list[MigDevice]:
    found = []
    for index in range(nvml.query("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        instance = nvml.query("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        uuid = _text(nvml.query("nvmlDeviceGetUUID", instance)) if instance is not None else None
        if uuid is None:
            continue
        name = _text(nvml.query("nvmlDeviceGetName", instance)) or ""
        total = _memory(nvml, instance).get("memory_total_bytes")
        found.append(MigDevice(uuid, name.rpartition("MIG ")[2].strip() or None if "MIG " in name else None, total))
    return found


_PARTS: tuple[Callable[[Nvml, Any], dict[str, Any]], ...] = (
    _identity,
    _memory,
    _health,
    _fabric,
    _power,
    _link,
    _modes,
)


def _processes(nvml: Nvml, handle: Any, driver: str | None) -> tuple[GpuProcess, ...] | None:
    """Compute processes with their memory; version 3 is of driver 510, version 2 of 450 (nvml.h)."""
    if _wrong_process_rows(driver):
        return None
    rows = nvml.first(
        ("nvmlDeviceGetComputeRunningProcesses_v3", handle), ("nvmlDeviceGetComputeRunningProcesses_v2", handle)
    )
    if rows is None:
        return None
    merged: dict[int, int | None] = {}
    for row in rows:  # under MIG one process may hold several instances
        used = _count(row.usedGpuMemory)
        before = merged.get(row.pid)
        merged[row.pid] = used if before is None else before + (used or 0)
    return tuple(describe(pid, used) for pid, used in merged.items())


def _wrong_process_rows(driver: str | None) -> bool:
    try:
        major, minor = (int(part) for part in (driver or "").split(".")[:2])
    except ValueError:
        return False
    low, high = _WRONG_PROCESS_ROWS
    return low <= (major, minor) < high


def peer_access(nvml: Nvml, handles: dict[int, Any]) -> tuple[tuple[int, int, bool], ...]:
    """Unordered pairs of indices -> whether each reads the other's memory; pairs that are not reported are left out."""
    pairs = []
    indices = sorted(handles)
    for position, one in enumerate(indices):
        for other in indices[position + 1 :]:
            try:
                status = nvml.query("nvmlDeviceGetP2PStatus", handles[one], handles[other], _P2P_READ)
            except GpuLost:
                continue
            if status is not None and status != _P2P_UNKNOWN:
                pairs.append((one, other, status == _P2P_OK))
    return tuple(pairs)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return str(value) if value else None


def _count(value: Any) -> int | None:
    return None if value is None or int(value) == _NOT_AVAILABLE else int(value)


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _watts(milliwatts: Any) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
