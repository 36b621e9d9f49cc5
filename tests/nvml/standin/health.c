/* Errors of memory and what slows a card down. */
#include "standin.h"

NVML_API nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t handle, unsigned int *current, unsigned int *pending) {
    ENTER_GPU(handle);
    nvmlReturn_t code = give_number(gpu->ecc_mode, current);
    if (code != NVML_SUCCESS) return code;
    return give_number(gpu->ecc_mode_pending == UNSET ? gpu->ecc_mode : gpu->ecc_mode_pending, pending);
}

NVML_API nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t handle, unsigned int *mode) {
    ENTER_GPU(handle);
    return give_number(gpu->ecc_mode_default, mode);
}

/* UNSET where ECC is off: NVML counts nothing then. */
int64_t ecc_total(const struct gpu *gpu, unsigned int kind, unsigned int counter) {
    if (gpu->ecc_mode != 1) return UNSET;
    int64_t sum = 0;
    for (int k = 0; k < LOCATIONS; k++) sum += gpu->ecc[kind][counter][k];
    return sum;
}

static nvmlReturn_t give_errors(int64_t count, unsigned long long *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (count == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    *out = (unsigned long long)count;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t handle, unsigned int kind, unsigned int counter,
                                                  unsigned long long *count) {
    ENTER_GPU(handle);
    if (kind > 1 || counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
    return give_errors(ecc_total(gpu, kind, counter), count);
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t handle, unsigned int kind, unsigned int counter,
                                                      unsigned int location, unsigned long long *count) {
    ENTER_GPU(handle);
    if (kind > 1 || counter > 1 || location >= LOCATIONS) return NVML_ERROR_INVALID_ARGUMENT;
    return give_errors(gpu->ecc_mode == 1 ? gpu->ecc[kind][counter][location] : UNSET, count);
}

static nvmlReturn_t give_pages(const struct gpu *gpu, unsigned int cause, unsigned int *count,
                               unsigned long long *addresses, unsigned long long *stamps) {
    if (!count || cause > 1) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->retired_pages_pending == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    unsigned int room = *count, found = 0;
    for (int k = 0; k < gpu->page_count; k++) found += gpu->pages[k].cause == cause;
    *count = found;
    if (found > room || (found && !addresses)) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (int k = 0, at = 0; k < gpu->page_count; k++) {
        if (gpu->pages[k].cause != cause) continue;
        addresses[at] = gpu->pages[k].address;
        if (stamps) stamps[at] = gpu->pages[k].stamp;
        at++;
    }
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t handle, unsigned int cause, unsigned int *count,
                                                unsigned long long *addresses) {
    ENTER_GPU(handle);
    return give_pages(gpu, cause, count, addresses, NULL);
}

/* The binding's first call passes four arguments only: the fifth may be looked at only where pages are written. */
NVML_API nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t handle, unsigned int cause, unsigned int *count,
                                                   unsigned long long *addresses, unsigned long long *stamps) {
    ENTER_GPU(handle);
    return give_pages(gpu, cause, count, addresses, addresses ? stamps : NULL);
}

NVML_API nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t handle, unsigned int *pending) {
    ENTER_GPU(handle);
    return give_number(gpu->retired_pages_pending, pending);
}

NVML_API nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t handle, unsigned int *correctable,
                                                unsigned int *uncorrectable, unsigned int *pending,
                                                unsigned int *failure) {
    ENTER_GPU(handle);
    nvmlReturn_t code = give_number(gpu->remap_correctable, correctable);
    if (code == NVML_SUCCESS) code = give_number(gpu->remap_uncorrectable, uncorrectable);
    if (code == NVML_SUCCESS) code = give_number(gpu->remap_pending, pending);
    return code == NVML_SUCCESS ? give_number(gpu->remap_failure, failure) : code;
}

/* Banks by how many spare rows are left. A failed remapping means one bank has none. */
NVML_API nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t handle,
                                                        nvmlRowRemapperHistogramValues_t *banks) {
    ENTER_GPU(handle);
    if (!banks) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->remap_failure == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    unsigned int touched = gpu->remap_correctable > 0 || gpu->remap_uncorrectable > 0;
    *banks = (nvmlRowRemapperHistogramValues_t){.max = 640 - touched - (gpu->remap_failure > 0), .high = touched,
                                                .none = gpu->remap_failure > 0};
    return NVML_SUCCESS;
}

static nvmlReturn_t give_reasons(int64_t known, uint64_t reasons, unsigned long long *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (known == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    *out = reasons;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t handle, unsigned long long *reasons) {
    ENTER_GPU(handle);
    return give_reasons(gpu->throttle, throttle_now(gpu, clock_now_s()), reasons);
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t handle, unsigned long long *reasons) {
    ENTER_GPU(handle);
    return give_reasons(gpu->throttle, throttle_now(gpu, clock_now_s()), reasons);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t handle, unsigned long long *reasons) {
    ENTER_GPU(handle);
    return give_reasons(gpu->throttle_supported, (uint64_t)gpu->throttle_supported, reasons);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t handle, unsigned long long *reasons) {
    ENTER_GPU(handle);
    return give_reasons(gpu->throttle_supported, (uint64_t)gpu->throttle_supported, reasons);
}

static uint64_t bits_of_policy(unsigned int policy) {
    switch (policy) {
    case 0: return 0x4;                 /* power cap */
    case 1: return 0x20 | 0x40;         /* thermal, software's and hardware's */
    case 2: return 0x10;                /* sync boost */
    default: return 0;
    }
}

NVML_API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t handle, unsigned int policy,
                                                   nvmlViolationTime_t *time) {
    ENTER_GPU(handle);
    if (!time || policy > 11) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->throttle == UNSET || !bits_of_policy(policy)) return NVML_ERROR_NOT_SUPPORTED;
    double now_s = clock_now_s();
    double spent_s = activity_time_with_bits(&gpu->activity, CH_throttle, bits_of_policy(policy), now_s);
    time->referenceTime = clock_stamp_us(now_s);
    time->violationTime = (unsigned long long)(spent_s * 1e9);
    return NVML_SUCCESS;
}
