/* Who holds memory of a card. */
#include "standin.h"

static int is_seen(const struct process *process, const struct mig_device *mig, int kind, double now_s) {
    if (process->kind != kind || now_s < process->from_s || now_s >= process->to_s) return 0;
    return !mig || (process->instance == mig->instance && process->compute_instance == mig->compute_instance);
}

/* NVML's way with arrays: the count comes in as room and goes out as need; too little room writes nothing. */
static nvmlReturn_t give_processes(const struct gpu *gpu, const struct mig_device *mig, int kind, unsigned int *count,
                                   void *out, int with_instances) {
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    double now_s = clock_now_s();
    unsigned int room = *count, found = 0;
    for (int k = 0; k < gpu->process_count; k++) found += is_seen(&gpu->processes[k], mig, kind, now_s);
    *count = found;
    if (found > room || (found && !out)) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (int k = 0, at = 0; k < gpu->process_count; k++) {
        const struct process *process = &gpu->processes[k];
        if (!is_seen(process, mig, kind, now_s)) continue;
        unsigned long long bytes =
            process->bytes == UNSET ? NVML_VALUE_NOT_AVAILABLE_ULL : (unsigned long long)process->bytes;
        if (with_instances)
            ((nvmlProcessInfo_v2_t *)out)[at++] =
                (nvmlProcessInfo_v2_t){process->pid, bytes, process->instance, process->compute_instance};
        else
            ((nvmlProcessInfo_v1_t *)out)[at++] = (nvmlProcessInfo_v1_t){process->pid, bytes};
    }
    return NVML_SUCCESS;
}

#define PROCESS_CALL(function, kind, with_instances) \
    NVML_API nvmlReturn_t function(nvmlDevice_t handle, unsigned int *count, void *out) { \
        ENTER_ANY(handle); \
        return give_processes(gpu, mig, kind, count, out, with_instances); \
    }

PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses, 'c', 0)
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v2, 'c', 1)
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v3, 'c', 1)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses, 'g', 0)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v2, 'g', 1)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, 'g', 1)
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses, 'm', 0)
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'm', 1)
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'm', 1)
