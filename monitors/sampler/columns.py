"""The columns of the monitor's CSV files: name and meaning. Units are in the names; an empty cell means "not reported".

`docs/monitor.md` is checked against these tables.
"""

from __future__ import annotations

GPU_SCHEMA = "doctor-gpu/1"
HOST_SCHEMA = "doctor-host/1"
PROCESS_SCHEMA = "doctor-processes/1"
GPU_PROCESS_SCHEMA = "doctor-gpu-processes/1"

_STAMP = {
    "time": "time of the sample: ISO 8601, UTC",
    "t_ns": "time of the sample in nanoseconds since the epoch",
    "mono_s": "time of the sample on the machine's monotonic clock, which corrections of the wall clock do not change",
    "host": "name of the machine",
}

#: one row per GPU and tick, and one for each value that the driver stamped itself
GPU: dict[str, str] = {
    **_STAMP,
    "gpu": "NVML's index of the GPU",
    "mig": "GPU instance of the row, if MIG divides the card",
    "uuid": "UUID of the card or instance",
    "sm_active_pct": "share of the SMs that had a warp, mean over the window: GPM or DCGM, never a busy figure",
    "sm_occupancy_pct": "resident warps, as a share of those that fit",
    "tensor_active_pct": "share of cycles in which a tensor pipe worked",
    "dram_active_pct": "share of the memory's bandwidth in use",
    "graphics_active_pct": "share of time in which the compute or graphics engine had work (GPM 1, DCGM 1001)",
    "sm_window_s": "seconds over which these figures are the mean; empty if the source does not say",
    "sm_source": "source of these figures: gpm or dcgm",
    "gpu_busy_pct": "utilization.gpu: share of time in which some kernel was resident, on any number of SMs",
    "memory_busy_pct": "utilization.memory: share of time in which memory was read or written, in the last window",
    "busy_source": "source of the busy figure: samples (drained from the driver's buffer, none lost) or polled",
    "memory_used_mib": "memory in use, without the driver's own reserve",
    "power_w": "current power if the card reports it (field 186), else the driver's mean over its last second",
    "power_limit_w": "power limit that applies now, the lowest of all limits",
    "energy_j": "energy since the driver was loaded",
    "temperature_c": "temperature of the GPU",
    "sm_clock_mhz": "clock of the SMs",
    "throttle_reasons": "clock event reasons by NVML's short names, joined by |; or none",
    "power_capped_s": "time in which the power cap lowered the clock, since the driver was loaded",
    "thermal_slowed_s": "time in which heat lowered the clock, since the driver was loaded",
    "pcie_rx_mib_s": "received over PCIe",
    "pcie_tx_mib_s": "sent over PCIe",
    "nvlink_rx_mib_s": "received over all NVLinks",
    "nvlink_tx_mib_s": "sent over all NVLinks",
    "pcie_generation": "current generation of the link; an idle card lowers it",
    "pcie_width": "current lanes of the link",
    "pcie_width_max": "lanes that card and slot support",
    "ecc_corrected": "memory errors corrected since the driver was loaded",
    "ecc_uncorrected": "memory errors not corrected since the driver was loaded",
}

#: one row per second
HOST: dict[str, str] = {
    **_STAMP,
    "cpu_pct": "usage of all CPUs of the machine, 0 to 100",
    "cpus": "number of CPUs",
    "load1": "load average over one minute",
    "memory_used_mib": "total memory minus available memory",
    "memory_total_mib": "memory of the machine",
    "swap_used_mib": "swap in use",
    "shm_used_mib": "space used in /dev/shm",
    "shm_total_mib": "size of /dev/shm",
    "disk_read_mib_s": "read from all disks",
    "disk_write_mib_s": "written to all disks",
    "net_rx_mib_s": "received by all interfaces except loopback",
    "net_tx_mib_s": "sent by all interfaces except loopback",
    "run_disk_free_mib": "free space on the run folder's disk",
    "gpu_sampling": "ok, starting, absent (no GPU or driver) or blocked (the driver does not answer)",
    "missed_ticks": "ticks that were late and skipped, since the sampler started",
    "sampler_cpu_s": "CPU time that the sampler itself has used",
}

#: one row per process of the run and second
PROCESS: dict[str, str] = {
    **_STAMP,
    "pid": "process id",
    "parent_pid": "process id of the parent",
    "name": "name in the kernel",
    "role": "trainer, {vllm,sglang}_{server,engine,worker}, ray_worker, ray, launcher, loader or other",
    "rank": "rank of the training process that it is or belongs to",
    "cpu_pct": "100 is one CPU",
    "memory_mib": "resident memory",
    "threads": "number of threads",
    "read_mib_s": "read from storage",
    "write_mib_s": "written to storage",
}

#: one row per process on a GPU, every ten seconds
GPU_PROCESS: dict[str, str] = {
    **_STAMP,
    "gpu": "NVML's index of the GPU",
    "mig": "GPU instance, where the card is cut by MIG",
    "pid": "process id as NVML reports it: in a container, it can be the host's",
    "memory_used_mib": "GPU memory that the process holds",
    "name": "name in the kernel; empty if the process belongs to another container",
    "role": "as in the host's process file",
    "rank": "as in the host's process file",
}
