/* Event sets: a thread waits in the library until something happens to a card it registered. */
#include "standin.h"

#include <math.h>
#include <stdlib.h>

struct event_set {
    struct { uint64_t types; double since_s; uint64_t delivered; } of[MAX_GPUS];  /* delivered: one bit per event */
};

NVML_API nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    ENTER_LIBRARY();
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    *set = calloc(1, sizeof **set);
    return *set ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

NVML_API nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    ENTER_LIBRARY();
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    free(set);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t handle, unsigned long long *types) {
    ENTER_GPU(handle);
    if (!types) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->event_types == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    *types = (unsigned long long)gpu->event_types;
    return NVML_SUCCESS;
}

/* What happened before the registration is never delivered. */
NVML_API nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t handle, unsigned long long types, nvmlEventSet_t set) {
    ENTER_GPU(handle);
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->event_types == UNSET || types & ~(unsigned long long)gpu->event_types) return NVML_ERROR_NOT_SUPPORTED;
    library_lock();
    set->of[gpu->index].types |= types;
    set->of[gpu->index].since_s = clock_now_s();
    library_unlock();
    return NVML_SUCCESS;
}

/* The earliest event that is registered and not yet delivered; its time, or infinity. */
static double next_event(struct event_set *set, int *gpu_index, int *event_index) {
    double earliest_s = INFINITY;
    for (int g = 0; g < scenario.gpu_count; g++) {
        const struct gpu *gpu = &scenario.gpus[g];
        for (int k = 0; k < gpu->event_count; k++) {
            double at_s = gpu->events[k].at_s;
            if (!(set->of[g].types & gpu->events[k].type) || set->of[g].delivered >> k & 1) continue;
            if (at_s < set->of[g].since_s || at_s >= earliest_s) continue;
            earliest_s = at_s;
            *gpu_index = g;
            *event_index = k;
        }
    }
    return earliest_s;
}

static void fill(nvmlEventData_t *data, int gpu_index, int event_index, int with_instances) {
    struct gpu *gpu = &scenario.gpus[gpu_index];
    data->device = &gpu->device;
    data->eventType = gpu->events[event_index].type;
    data->eventData = gpu->events[event_index].data;
    if (!with_instances) return;
    data->gpuInstanceId = gpu->events[event_index].instance;
    data->computeInstanceId = gpu->events[event_index].compute_instance;
}

static int registered_is_lost(const struct event_set *set, double now_s) {
    for (int g = 0; g < scenario.gpu_count; g++)
        if (set->of[g].types && gpu_is_lost(&scenario.gpus[g], now_s)) return 1;
    return 0;
}

/* How long nothing can happen: until the next event or the next loss by the clock. Short naps where another thread may
 * register a further card meanwhile, or where a card is lost by the count of its calls. */
static double quiet_until(const struct event_set *set, double now_s, double next_s) {
    for (int g = 0; g < scenario.gpu_count; g++) {
        const struct gpu *gpu = &scenario.gpus[g];
        if (!set->of[g].types || gpu->lost_after_calls != UNSET) return fmin(next_s, now_s + 0.05);
        if (gpu->lost_at_s >= 0.0) next_s = fmin(next_s, gpu->lost_at_s);
    }
    return next_s;
}

/* A card that is lost ends the wait, after its last event. The timeout counts scenario milliseconds, as every time
 * here does. */
static nvmlReturn_t wait_for(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms, int with_instances) {
    if (!set || !data) return NVML_ERROR_INVALID_ARGUMENT;
    double deadline_s = clock_now_s() + (double)timeout_ms * 1e-3;
    for (;;) {
        int gpu_index = 0, event_index = 0;
        library_lock();
        double at_s = next_event(set, &gpu_index, &event_index), now_s = clock_now_s();
        int due = at_s <= now_s;
        if (due) set->of[gpu_index].delivered |= 1ull << event_index;
        library_unlock();
        if (due) {
            fill(data, gpu_index, event_index, with_instances);
            return NVML_SUCCESS;
        }
        if (registered_is_lost(set, now_s)) return NVML_ERROR_GPU_IS_LOST;
        if (now_s >= deadline_s) return NVML_ERROR_TIMEOUT;
        clock_sleep_s(quiet_until(set, now_s, fmin(at_s, deadline_s)) - now_s + 1e-5);
    }
}

NVML_API nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    ENTER_LIBRARY();
    return wait_for(set, data, timeout_ms, 1);
}

/* The first version's structure ends before the instance ids. */
NVML_API nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    ENTER_LIBRARY();
    return wait_for(set, data, timeout_ms, 0);
}
