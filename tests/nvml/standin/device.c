/* What a card is and holds: identity, memory, clocks, temperatures, modes. */
#include "standin.h"

#include <stdio.h>
#include <string.h>

NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char *name, unsigned int length) {
    ENTER_ANY(handle);
    if (!mig) return give_text(gpu->name, name, length);
    char text[160];
    snprintf(text, sizeof text, "%s MIG %s", gpu->name, mig->profile);
    return give_text(text, name, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char *uuid, unsigned int length) {
    ENTER_ANY(handle);
    return give_text(mig ? mig->uuid : gpu->uuid, uuid, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t handle, char *serial, unsigned int length) {
    ENTER_GPU(handle);
    return give_text(gpu->serial, serial, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t handle, char *version, unsigned int length) {
    ENTER_GPU(handle);
    return give_text(gpu->vbios, version, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t handle, char *number, unsigned int length) {
    ENTER_GPU(handle);
    return give_text(gpu->part_number, number, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int *index) {
    ENTER_ANY(handle);
    return give_number(mig ? mig - gpu->migs : gpu->index, index);
}

/* Calls that hand out one whole number of the scenario. */
#define GETTER(function, member) \
    NVML_API nvmlReturn_t function(nvmlDevice_t handle, unsigned int *out) { \
        ENTER_GPU(handle); \
        return give_number(gpu->member, out); \
    }

GETTER(nvmlDeviceGetMinorNumber, minor)
GETTER(nvmlDeviceGetArchitecture, architecture)
GETTER(nvmlDeviceGetBrand, brand)
GETTER(nvmlDeviceGetNumGpuCores, cores)
GETTER(nvmlDeviceGetMemoryBusWidth, memory_bus_width)
GETTER(nvmlDeviceGetPersistenceMode, persistence)
GETTER(nvmlDeviceGetComputeMode, compute_mode)
GETTER(nvmlDeviceGetPerformanceState, performance_state)
GETTER(nvmlDeviceGetPowerState, performance_state)
GETTER(nvmlDeviceGetFanSpeed, fan)
GETTER(nvmlDeviceGetVirtualizationMode, virtualization)
GETTER(nvmlDeviceGetPowerManagementLimit, power_limit_mw)
GETTER(nvmlDeviceGetPowerManagementDefaultLimit, power_limit_default_mw)
GETTER(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation)
GETTER(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation_max)
GETTER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_generation_gpu_max)
GETTER(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
GETTER(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)
GETTER(nvmlDeviceGetPcieSpeed, pcie_speed_mbps)
GETTER(nvmlDeviceGetPcieReplayCounter, pcie_replay)

/* Memory as a NUMA node of the host: Grace only, -1 or NOT_SUPPORTED elsewhere. */
NVML_API nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t handle, int *node) {
    ENTER_GPU(handle);
    return give_number(gpu->numa_node, (unsigned int *)node);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t handle, unsigned int *mode) {
    ENTER_GPU(handle);
    return give_number(gpu->power_limit_mw == UNSET ? UNSET : 1, mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle, unsigned int *limit) {
    ENTER_GPU(handle);
    int64_t enforced = gpu->power_limit_enforced_mw;
    return give_number(enforced == UNSET ? gpu->power_limit_mw : enforced, limit);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t handle, unsigned int *least,
                                                                   unsigned int *most) {
    ENTER_GPU(handle);
    nvmlReturn_t code = give_number(gpu->power_limit_min_mw, least);
    return code == NVML_SUCCESS ? give_number(gpu->power_limit_max_mw, most) : code;
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int *major, int *minor) {
    ENTER_ANY(handle);
    if (!major || !minor) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->compute_major < 0) return NVML_ERROR_NOT_SUPPORTED;
    *major = gpu->compute_major;
    *minor = gpu->compute_minor;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t *info) {
    ENTER_GPU(handle);
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    if (sscanf(gpu->bus_id, "%x:%x:%x.0", &info->domain, &info->bus, &info->device) != 3) return NVML_ERROR_UNKNOWN;
    snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, info->bus & 0xff, info->device & 0xff);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0", info->domain & 0xffff,
             info->bus & 0xff, info->device & 0xff);
    info->pciDeviceId = gpu->pci_device_id == UNSET ? 0 : (unsigned int)gpu->pci_device_id;
    info->pciSubSystemId = gpu->pci_subsystem_id == UNSET ? 0 : (unsigned int)gpu->pci_subsystem_id;
    return NVML_SUCCESS;
}

/* Version 1 counts what the driver keeps for itself as used, version 2 shows it apart. */
static void fill_memory(const struct gpu *gpu, const struct mig_device *mig, nvmlMemory_v2_t *memory) {
    int64_t used = mig ? mig->memory_used : memory_used_now(gpu, clock_now_s());
    int64_t total = mig ? mig->memory_total : gpu->memory_total;
    int64_t reserved = mig || gpu->memory_reserved == UNSET ? 0 : gpu->memory_reserved;
    if (used == UNSET) used = 0;
    memory->total = (unsigned long long)total;
    memory->used = (unsigned long long)used;
    memory->reserved = (unsigned long long)reserved;
    memory->free = total > used + reserved ? (unsigned long long)(total - used - reserved) : 0;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t *memory) {
    ENTER_ANY(handle);
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlMemory_v2_t full;
    fill_memory(gpu, mig, &full);
    memory->total = full.total;
    memory->free = full.free;
    memory->used = full.total - full.free;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t *memory) {
    ENTER_ANY(handle);
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != NVML_MEMORY_V2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    fill_memory(gpu, mig, memory);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t *memory) {
    ENTER_ANY(handle);
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->bar1_total == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    int64_t used = gpu->bar1_used == UNSET ? 0 : gpu->bar1_used;
    memory->bar1Total = (unsigned long long)gpu->bar1_total;
    memory->bar1Used = (unsigned long long)used;
    memory->bar1Free = (unsigned long long)(gpu->bar1_total - used);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, unsigned int sensor, unsigned int *celsius) {
    ENTER_GPU(handle);
    if (sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;
    return give_number(temperature_now(gpu, clock_now_s()), celsius);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_v1_t *temperature) {
    ENTER_GPU(handle);
    if (!temperature || temperature->sensorType != 0) return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != 0x100000C) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return give_number(temperature_now(gpu, clock_now_s()), (unsigned int *)&temperature->temperature);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t handle, unsigned int kind,
                                                        unsigned int *celsius) {
    ENTER_GPU(handle);
    switch (kind) {
    case 0: return give_number(gpu->temperature_shutdown, celsius);
    case 1: return give_number(gpu->temperature_slowdown, celsius);
    case 3: return give_number(gpu->temperature_gpu_max, celsius);
    default: return kind < 8 ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    }
}

static nvmlReturn_t give_clock(const struct gpu *gpu, unsigned int kind, int greatest, unsigned int *mhz) {
    double now_s = clock_now_s();
    switch (kind) {
    case 0: return give_number(greatest ? gpu->clock_graphics_max : gpu->clock_graphics, mhz);
    case 1:
        if (!greatest && gpu->activity.given[CH_sm_clock])
            return give_number((int64_t)activity_at(&gpu->activity, CH_sm_clock, now_s), mhz);
        return give_number(greatest ? gpu->clock_sm_max : gpu->clock_sm, mhz);
    case 2: return give_number(greatest ? gpu->clock_memory_max : gpu->clock_memory, mhz);
    case 3: return give_number(greatest ? gpu->clock_video_max : gpu->clock_video, mhz);
    default: return NVML_ERROR_INVALID_ARGUMENT;
    }
}

NVML_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, unsigned int kind, unsigned int *mhz) {
    ENTER_GPU(handle);
    return give_clock(gpu, kind, 0, mhz);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, unsigned int kind, unsigned int *mhz) {
    ENTER_GPU(handle);
    return give_clock(gpu, kind, 1, mhz);
}

NVML_API nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t handle, unsigned int kind, unsigned int id, unsigned int *mhz) {
    ENTER_GPU(handle);
    if (id != 0) return id < 4 ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    return give_clock(gpu, kind, 0, mhz);
}

NVML_API nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t handle, unsigned int *enabled,
                                                   unsigned int *by_default) {
    ENTER_GPU(handle);
    nvmlReturn_t code = give_number(gpu->gsp_firmware, enabled);
    return code == NVML_SUCCESS ? give_number(gpu->gsp_firmware, by_default) : code;
}
