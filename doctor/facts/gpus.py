"""NVIDIA GPUs as NVML reports them, through `nvidia-ml-py`."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.record import record


@record
class GpuProcess:
    """A process that holds memory of a GPU.

    `name` and what follows are None when /proc does not show it (another container).
    """

    pid: int
    used_bytes: int | None = None
    name: str | None = None
    command: str | None = None
    user: str | None = None
    parent_pid: int | None = None
    is_mine: bool | None = None


@record
class MigDevice:
    """A MIG instance: its UUID, profile name ("1g.10gb") and memory."""

    uuid: str
    profile: str | None = None
    memory_total_bytes: int | None = None


@record
class Gpu:
    """One GPU. Every reading is None when the card or driver does not report it; `error` says why nothing was read.

    Args:
        index: NVML's, which is PCI order; CUDA's may differ.
        compute_capability: (9, 0).
        ecc_uncorrected: uncorrected errors since the driver was loaded.
        rows_remapped_*: row remapping of Ampere and newer; `row_remap_pending`: a reset is due.
        throttle_reasons: active clock event reasons by NVML's short names: "hw_thermal_slowdown", "sw_power_cap" ...
        pcie_*: current and greatest link generation and width (an idle card lowers its generation, never its width).
        compute_mode: "default", "exclusive_process", "prohibited".
        fabric_state: of NVSwitch: "not started", "in progress", "completed"; None where there is none.

    """

    index: int
    uuid: str | None = None
    name: str | None = None
    compute_capability: tuple[int, int] | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None
    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None
    rows_remapped_uncorrectable: int | None = None
    row_remap_pending: bool | None = None
    row_remap_failure: bool | None = None
    retired_pages_pending: bool | None = None
    throttle_reasons: tuple[str, ...] | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    persistence_mode: bool | None = None
    compute_mode: str | None = None
    mig_enabled: bool | None = None
    mig_devices: tuple[MigDevice, ...] = ()
    nvlinks_active: int | None = None
    nvlinks_inactive: int | None = None
    processes: tuple[GpuProcess, ...] | None = None
    bus_id: str | None = None
    numa_node: int | None = None
    error: str | None = None
    fabric_state: str | None = None

    @property
    def label(self) -> str:
        """Name for people: GPU 3 (NVIDIA H100 80GB HBM3)."""
        return f"GPU {self.index} ({self.name})" if self.name else f"GPU {self.index}"


@record
class Gpus:
    """All GPUs of the machine, whatever CUDA_VISIBLE_DEVICES says.

    Args:
        driver_version: "550.54.15"; `cuda_driver_version` the newest CUDA it runs, "12.4".
        peer_access: unordered pairs of indices -> whether P2P reads work; empty when not asked or not reported.
        xids: (GPU index or None, Xid) of kernel messages since boot, where they may be read; None where not.

    """

    driver_version: str | None = None
    cuda_driver_version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    peer_access: tuple[tuple[int, int, bool], ...] = ()
    xids: tuple[tuple[int | None, int, str], ...] | None = None
    source: str = "nvml"

    def that_report(self, attribute: str) -> Iterator[Gpu]:
        """GPUs whose `attribute` is not None."""
        return (gpu for gpu in self.gpus if getattr(gpu, attribute) is not None)

    def silent_about(self, attribute: str) -> tuple[int, ...]:
        """Indices of GPUs that do not report `attribute`: what a check must skip, not pass."""
        return tuple(gpu.index for gpu in self.gpus if getattr(gpu, attribute) is None)
