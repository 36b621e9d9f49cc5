/* nvmlDeviceGetFieldValues: many counters in one call, each with a return code of its own. */
#include "standin.h"

#include <math.h>
#include <string.h>

#define ALL_LINKS 0xFFFFFFFFu  /* scopeId of the sum over links */

static void give_uint(nvmlFieldValue_t *field, int64_t value) {
    field->nvmlReturn = value == UNSET ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (value != UNSET) field->value.uiVal = (unsigned int)value;
}

static void give_ull(nvmlFieldValue_t *field, double value) {
    field->nvmlReturn = isnan(value) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    if (!isnan(value)) field->value.ullVal = (unsigned long long)llround(value);
}

static double ecc_field(const struct gpu *gpu, unsigned int id) {
    int64_t count = ecc_total(gpu, (id - 3) & 1, (id - 3) >> 1);
    return count == UNSET ? NAN : (double)count;
}

static int64_t milliwatts(double power) { return isnan(power) ? UNSET : llround(power); }

/* Nanoseconds that a reason held the clocks down; only counted where the truth of the scenario tells reasons. */
static double throttled_ns(const struct gpu *gpu, uint64_t bits, double now_s) {
    if (gpu->throttle == UNSET) return NAN;
    return activity_time_with_bits(&gpu->activity, CH_throttle, bits, now_s) * 1e9;
}

static double bytes_moved(const struct gpu *gpu, enum channel channel, double now_s, double unit) {
    if (!gpu->activity.given[channel]) return NAN;
    return activity_integral(&gpu->activity, channel, now_s) * 1048576.0 / unit;
}

/* KiB of payload since the driver's start, one link's or all links'; traffic spreads evenly over the links. */
static double link_kib(const struct gpu *gpu, enum channel channel, unsigned int link, double now_s) {
    double all = bytes_moved(gpu, channel, now_s, 1024.0);
    if (gpu->nvlinks == UNSET || gpu->nvlinks <= 0) return NAN;
    if (link == ALL_LINKS) return all;
    return link < gpu->nvlinks ? all / (double)gpu->nvlinks : NAN;
}

static int64_t link_errors(const struct gpu *gpu, unsigned int link, int kind) {
    if (gpu->nvlinks == UNSET || (link != ALL_LINKS && link >= gpu->nvlinks)) return UNSET;
    if (link != ALL_LINKS) return link_errors_now(gpu, link, kind);
    int64_t sum = 0;
    for (unsigned int k = 0; k < MAX_LINKS; k++) sum += link_errors_now(gpu, k, kind);
    return sum;
}

static int64_t link_state(const struct gpu *gpu, unsigned int link) {
    return gpu->nvlinks == UNSET || link >= gpu->nvlinks ? UNSET : !gpu->link_down[link];
}

static int64_t pages_retired(const struct gpu *gpu, unsigned int cause) {
    if (gpu->retired_pages_pending == UNSET) return UNSET;
    int64_t count = 0;
    for (int k = 0; k < gpu->page_count; k++) count += gpu->pages[k].cause == cause;
    return count;
}

static void compute_counters(const struct gpu *gpu, nvmlFieldValue_t *field, double now_s) {
    switch (field->fieldId) {
    case 3: case 4: case 5: case 6: give_ull(field, ecc_field(gpu, field->fieldId)); break;
    case 83: case 191: give_ull(field, energy_mj(gpu, now_s)); break;
    case 74: give_ull(field, throttled_ns(gpu, 0x4, now_s)); break;
    case 75: give_ull(field, throttled_ns(gpu, 0x20 | 0x40, now_s)); break;
    case 76: give_ull(field, throttled_ns(gpu, 0x10, now_s)); break;
    case 269: give_ull(field, throttled_ns(gpu, 0x20, now_s)); break;
    case 270: give_ull(field, throttled_ns(gpu, 0x40, now_s)); break;
    case 271: give_ull(field, throttled_ns(gpu, 0x80, now_s)); break;
    case 138: give_ull(field, link_kib(gpu, CH_nvlink_tx, field->scopeId, now_s)); break;
    case 139: give_ull(field, link_kib(gpu, CH_nvlink_rx, field->scopeId, now_s)); break;
    case 197: give_ull(field, bytes_moved(gpu, CH_pcie_tx, now_s, 1.0)); break;
    case 198: give_ull(field, bytes_moved(gpu, CH_pcie_rx, now_s, 1.0)); break;
    default: field->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
}

static void compute(const struct gpu *gpu, nvmlFieldValue_t *field, double now_s) {
    switch (field->fieldId) {
    case 1: give_uint(field, gpu->ecc_mode); break;
    case 2: give_uint(field, gpu->ecc_mode_pending == UNSET ? gpu->ecc_mode : gpu->ecc_mode_pending); break;
    case 29: give_uint(field, pages_retired(gpu, 0)); break;
    case 30: give_uint(field, pages_retired(gpu, 1)); break;
    case 31: give_uint(field, gpu->retired_pages_pending); break;
    case 82: give_uint(field, gpu->temperature_memory); break;
    case 90: give_uint(field, gpu->nvlink_speed_mbps); break;
    case 91: give_uint(field, gpu->nvlinks == UNSET ? 0 : gpu->nvlinks); break;
    case 94: give_uint(field, gpu->pcie_replay); break;
    case 142: give_uint(field, gpu->remap_correctable); break;
    case 143: give_uint(field, gpu->remap_uncorrectable); break;
    case 144: give_uint(field, gpu->remap_pending); break;
    case 145: give_uint(field, gpu->remap_failure); break;
    case 161: give_uint(field, link_errors(gpu, field->scopeId, 0)); break;
    case 162: give_uint(field, link_errors(gpu, field->scopeId, 1)); break;
    case 163: give_uint(field, link_errors(gpu, field->scopeId, 2)); break;
    case 164: give_uint(field, link_state(gpu, field->scopeId) == 1 ? gpu->nvlink_speed_mbps : UNSET); break;
    case 165: give_uint(field, link_state(gpu, field->scopeId)); break;
    case 166: give_uint(field, link_state(gpu, field->scopeId) == UNSET ? UNSET : gpu->nvlink_version); break;
    case 185: give_uint(field, milliwatts(power_mean_mw(gpu, now_s))); break;
    case 186: give_uint(field, milliwatts(power_now_mw(gpu, now_s))); break;
    case 187: give_uint(field, gpu->power_limit_min_mw); break;
    case 188: give_uint(field, gpu->power_limit_max_mw); break;
    case 189: give_uint(field, gpu->power_limit_default_mw); break;
    case 190: case 192: give_uint(field, gpu->power_limit_mw); break;
    default: compute_counters(gpu, field, now_s);
    }
}

static int stated_by_scenario(const struct gpu *gpu, nvmlFieldValue_t *field) {
    for (int k = gpu->field_count - 1; k >= 0; k--) {
        if (gpu->fields[k].id != field->fieldId) continue;
        double value = gpu->fields[k].value;
        field->nvmlReturn = gpu->fields[k].code;
        field->valueType = gpu->fields[k].type;
        if (!gpu->fields[k].has_value) return 1;
        if (field->valueType == NVML_VALUE_TYPE_DOUBLE) field->value.dVal = value;
        else if (field->valueType == NVML_VALUE_TYPE_UNSIGNED_INT) field->value.uiVal = (unsigned int)value;
        else field->value.ullVal = (unsigned long long)value;
        return 1;
    }
    return 0;
}

NVML_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t *fields) {
    ENTER_GPU(handle);
    if (!fields || count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
    double now_s = clock_now_s();
    for (int k = 0; k < count; k++) {
        fields[k].timestamp = (int64_t)clock_stamp_us(now_s);
        fields[k].latencyUsec = 0;
        memset(&fields[k].value, 0, sizeof fields[k].value);
        if (!stated_by_scenario(gpu, &fields[k])) compute(gpu, &fields[k], now_s);
    }
    return NVML_SUCCESS;
}
