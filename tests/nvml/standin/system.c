/* Start and end, versions, handles. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int references, loaded;

int library_is_initialized(void) { return __atomic_load_n(&references, __ATOMIC_ACQUIRE) > 0; }

static nvmlReturn_t start(void) {
    library_lock();
    if (!loaded && scenario_load() != 0) {
        library_unlock();
        return NVML_ERROR_UNKNOWN;
    }
    loaded = 1;
    clock_start();
    library_unlock();
    return NVML_SUCCESS;
}

/* The scenario is read first, since it may say that this very call fails. */
#define START() \
    do { \
        if (start() != NVML_SUCCESS) return NVML_ERROR_UNKNOWN; \
        ENTER_LIBRARY(); \
        __atomic_add_fetch(&references, 1, __ATOMIC_ACQ_REL); \
    } while (0)

NVML_API nvmlReturn_t nvmlInit_v2(void) {
    START();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlInit(void) {
    START();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    START();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlShutdown(void) {
    ENTER_LIBRARY();
    __atomic_sub_fetch(&references, 1, __ATOMIC_ACQ_REL);
    return NVML_SUCCESS;
}

NVML_API const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_ERROR_MEMORY: return "Insufficient Memory";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    ENTER_LIBRARY();
    return give_text(scenario.driver, version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    ENTER_LIBRARY();
    return give_text(scenario.nvml, version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
    ENTER_LIBRARY();
    return give_number(scenario.cuda, (unsigned int *)version);
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER_LIBRARY();
    return give_number(scenario.cuda, (unsigned int *)version);
}

/* The real library reads /proc of the process; one that is gone, or hidden, is not found. */
NVML_API nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    ENTER_LIBRARY();
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "r");
    if (!file) return NVML_ERROR_NOT_FOUND;
    size_t used = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return used ? give_text(text, name, length) : NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    ENTER_LIBRARY();
    return give_number(scenario.gpu_count, count);
}

NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) {
    ENTER_LIBRARY();
    return give_number(scenario.gpu_count, count);
}

/* Counts as a call on that GPU: a lost card is refused here already. */
static nvmlReturn_t hand_over(const char *function, struct gpu *gpu, nvmlDevice_t *handle) {
    struct mig_device *mig = NULL;
    int code = enter_device(function, &gpu->device, &gpu, &mig);
    if (code != GO_ON) return (nvmlReturn_t)code;
    *handle = &gpu->device;
    return NVML_SUCCESS;
}

static nvmlReturn_t by_index(const char *function, unsigned int index, nvmlDevice_t *handle) {
    if (!library_is_initialized()) return (nvmlReturn_t)enter_library(function);
    if (!handle || index >= (unsigned int)scenario.gpu_count) {
        int code = enter_library(function);
        return code == GO_ON ? NVML_ERROR_INVALID_ARGUMENT : (nvmlReturn_t)code;
    }
    return hand_over(function, &scenario.gpus[index], handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *handle) {
    return by_index(__func__, index, handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *handle) {
    return by_index(__func__, index, handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *handle) {
    ENTER_LIBRARY();
    if (!uuid || !handle) return NVML_ERROR_INVALID_ARGUMENT;
    for (int k = 0; k < scenario.gpu_count; k++) {
        struct gpu *gpu = &scenario.gpus[k];
        int lost = gpu_is_lost(gpu, clock_now_s());
        if (strcmp(gpu->uuid, uuid) == 0) {
            *handle = &gpu->device;
            return lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
        }
        for (int m = 0; m < gpu->mig_count; m++) {
            if (strcmp(gpu->migs[m].uuid, uuid) != 0) continue;
            *handle = &gpu->migs[m].device;
            return lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *handle) {
    ENTER_LIBRARY();
    if (!serial || !handle) return NVML_ERROR_INVALID_ARGUMENT;
    for (int k = 0; k < scenario.gpu_count; k++) {
        if (strcmp(scenario.gpus[k].serial, serial) != 0) continue;
        *handle = &scenario.gpus[k].device;
        return gpu_is_lost(&scenario.gpus[k], clock_now_s()) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

/* "00000000:3B:00.0", "0000:3B:00.0" and "3b:00.0" all name the same card. */
static int parse_bus_id(const char *text, unsigned int *domain, unsigned int *bus, unsigned int *device) {
    if (sscanf(text, "%x:%x:%x.0", domain, bus, device) == 3) return 1;
    *domain = 0;
    return sscanf(text, "%x:%x.0", bus, device) == 2;
}

static nvmlReturn_t find_bus_id(const char *bus_id, nvmlDevice_t *handle) {
    unsigned int domain, bus, device;
    if (!bus_id || !handle || !parse_bus_id(bus_id, &domain, &bus, &device)) return NVML_ERROR_INVALID_ARGUMENT;
    for (int k = 0; k < scenario.gpu_count; k++) {
        unsigned int d = 0, b = 0, v = 0;
        parse_bus_id(scenario.gpus[k].bus_id, &d, &b, &v);
        if (d != domain || b != bus || v != device) continue;
        *handle = &scenario.gpus[k].device;
        return gpu_is_lost(&scenario.gpus[k], clock_now_s()) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *handle) {
    ENTER_LIBRARY();
    return find_bus_id(bus_id, handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *handle) {
    ENTER_LIBRARY();
    return find_bus_id(bus_id, handle);
}
