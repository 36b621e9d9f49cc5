/* Cards cut into instances. */
#include "standin.h"

NVML_API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int *current, unsigned int *pending) {
    ENTER_GPU(handle);
    nvmlReturn_t code = give_number(gpu->mig, current);
    if (code != NVML_SUCCESS) return code;
    return give_number(gpu->mig_pending == UNSET ? gpu->mig : gpu->mig_pending, pending);
}

/* 0, not an error, for cards that cannot be cut. */
NVML_API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int *count) {
    ENTER_GPU(handle);
    return give_number(gpu->mig_max == UNSET ? 0 : gpu->mig_max, count);
}

NVML_API nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned int index, nvmlDevice_t *out) {
    ENTER_GPU(handle);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->mig == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    if (index >= (unsigned int)gpu->mig_count) return NVML_ERROR_NOT_FOUND;
    *out = &gpu->migs[index].device;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t handle, nvmlDevice_t *out) {
    ENTER_ANY(handle);
    if (!out || !mig) return NVML_ERROR_INVALID_ARGUMENT;
    *out = &gpu->device;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned int *is_mig) {
    ENTER_ANY(handle);
    (void)gpu;
    return give_number(mig != NULL, is_mig);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned int *id) {
    ENTER_ANY(handle);
    (void)gpu;
    return mig ? give_number(mig->instance, id) : NVML_ERROR_INVALID_ARGUMENT;
}

NVML_API nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned int *id) {
    ENTER_ANY(handle);
    (void)gpu;
    return mig ? give_number(mig->compute_instance, id) : NVML_ERROR_INVALID_ARGUMENT;
}

NVML_API nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t handle, nvmlDeviceAttributes_t *attributes) {
    ENTER_ANY(handle);
    (void)gpu;
    if (!attributes) return NVML_ERROR_INVALID_ARGUMENT;
    if (!mig) return NVML_ERROR_NOT_SUPPORTED;
    *attributes = mig->attributes;
    return NVML_SUCCESS;
}
