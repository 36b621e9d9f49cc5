"""The columns of the monitor's CSV files: name, and what it means. Units are in the names; an empty cell is "not told".

`docs/monitor.md` is checked against these tables.
"""

from __future__ import annotations

GPU_SCHEMA = "doctor-gpu/1"
HOST_SCHEMA = "doctor-host/1"
PROCESS_SCHEMA = "doctor-processes/1"
GPU_PROCESS_SCHEMA = "doctor-gpu-processes/1"

_STAMP = {
    "time": "time of the sample: ISO 8601, UTC",
    "t_ns": "the same in nanoseconds since the epoch",
    "mono_s": "the same on the machine's monotonic clock, which no correction of the wall clock moves",
    "host": "name of the machine",
}

#: one row a GPU and tick, and one for each value that the driver stamped itself
GPU: dict[str, str] = {
    **_STAMP,
    "gpu": "index of the GPU, NVML's",
    "mig": "GPU instance that the row is about, where the card is cut by MIG",
    "uuid": "of the card or instance",
    "sm_active_pct": "share of the SMs that had a warp, mean over the window: GPM or DCGM, never a busy figure",
    "sm_occupancy_pct": "warps resident, of those that fit",
    "tensor_active_pct": "share of cycles in which a tensor pipe worked",
    "dram_active_pct": "share of the memory's bandwidth in use",
    "graphics_active_pct": "share of time in which the compute or graphics engine had work (GPM 1, DCGM 1001)",
    "sm_window_s": "seconds that these figures are the mean of; empty where the source does not say",
    "sm_source": "where they come from: gpm or dcgm",
    "gpu_busy_pct": "utilization.gpu: share of time in which some kernel was resident, on however few SMs",
    "memory_busy_pct": "utilization.memory: share of time in which memory was read or written, in the last window",
    "busy_source": "gpu_busy_pct's. samples: drained from the driver's buffer, none lost; polled: asked once a second",
    "memory_used_mib": "memory in use, without the driver's own reserve",
    "power_w": "current power if the card reports it (field 186), else the driver's mean over its last second",
    "power_limit_w": "the most that the card may draw now, by all limits together",
    "energy_j": "energy since the driver was loaded",
    "temperature_c": "of the GPU",
    "sm_clock_mhz": "clock of the SMs",
    "throttle_reasons": "clock event reasons by NVML's short names, joined by |; none",
    "power_capped_s": "time that the power cap held the clock down, since the driver was loaded",
    "thermal_slowed_s": "time that heat held the clock down, since the driver was loaded",
    "pcie_rx_mib_s": "received over PCIe",
    "pcie_tx_mib_s": "sent over PCIe",
    "nvlink_rx_mib_s": "received over all NVLinks",
    "nvlink_tx_mib_s": "sent over all NVLinks",
    "pcie_generation": "of the link now; an idle card lowers it",
    "pcie_width": "lanes of the link now",
    "pcie_width_max": "lanes that card and slot can have",
    "ecc_corrected": "memory errors corrected since the driver was loaded",
    "ecc_uncorrected": "memory errors not corrected since the driver was loaded",
}

#: one row a second
HOST: dict[str, str] = {
    **_STAMP,
    "cpu_pct": "of all CPUs of the machine, 0 to 100",
    "cpus": "how many there are",
    "load1": "load average of a minute",
    "memory_used_mib": "total less available",
    "memory_total_mib": "of the machine",
    "swap_used_mib": "swapped out",
    "shm_used_mib": "used of /dev/shm",
    "shm_total_mib": "size of /dev/shm",
    "disk_read_mib_s": "read from all disks",
    "disk_write_mib_s": "written to all disks",
    "net_rx_mib_s": "received by all interfaces but loopback",
    "net_tx_mib_s": "sent by all interfaces but loopback",
    "run_disk_free_mib": "free on the run folder's disk",
    "gpu_sampling": "ok, starting, absent (no GPU or driver) or blocked (the driver does not answer)",
    "missed_ticks": "ticks that were late and skipped, since the sampler started",
    "sampler_cpu_s": "CPU time that the sampler itself has used",
}

#: one row a process of the run and second
PROCESS: dict[str, str] = {
    **_STAMP,
    "pid": "process id",
    "parent_pid": "of the parent",
    "name": "as the kernel knows it",
    "role": "trainer, {vllm,sglang}_{server,engine,worker}, ray_worker, ray, launcher, loader or other",
    "rank": "of the training process that it is or belongs to",
    "cpu_pct": "100 is one CPU",
    "memory_mib": "resident memory",
    "threads": "number of threads",
    "read_mib_s": "read from storage",
    "write_mib_s": "written to storage",
}

#: one row a process on a GPU, every ten seconds
GPU_PROCESS: dict[str, str] = {
    **_STAMP,
    "gpu": "index of the GPU, NVML's",
    "mig": "GPU instance, where the card is cut by MIG",
    "pid": "as NVML reports it: in a container perhaps the host's",
    "memory_used_mib": "memory of the GPU that it holds",
    "name": "as the kernel knows it; empty where the process belongs to another container",
    "role": "as in the host's file",
    "rank": "as in the host's file",
}
