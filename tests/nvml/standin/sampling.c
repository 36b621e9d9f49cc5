/* What a sampler reads while work runs: utilization, its buffers, power and energy, process shares. All of it is
 * computed from the truth of the scenario (activity.c). */
#include "standin.h"

#include <math.h>

double or_default(double value, double otherwise) { return value > 0.0 ? value : otherwise; }

/* "percent of time over the past sample period", a period "between 1 second and 1/6 second" by product (nvml.h). */
static double period_s(const struct gpu *gpu) { return or_default(gpu->utilization_period_s, 1.0 / 6.0); }

static const struct activity *truth_of(const struct gpu *gpu) { return gpu->activity.count ? &gpu->activity : NULL; }

int64_t memory_used_now(const struct gpu *gpu, double now_s) {
    const struct activity *truth = truth_of(gpu);
    if (!truth || !truth->given[CH_memory]) return gpu->memory_used;
    return (int64_t)activity_at(truth, CH_memory, now_s);
}

uint64_t throttle_now(const struct gpu *gpu, double now_s) {
    const struct activity *truth = truth_of(gpu);
    if (!truth || !truth->given[CH_throttle]) return gpu->throttle == UNSET ? 0 : (uint64_t)gpu->throttle;
    return (uint64_t)activity_at(truth, CH_throttle, now_s);
}

int64_t temperature_now(const struct gpu *gpu, double now_s) {
    const struct activity *truth = truth_of(gpu);
    if (!truth || !truth->given[CH_temperature]) return gpu->temperature;
    return (int64_t)activity_at(truth, CH_temperature, now_s);
}

static double fraction(const struct gpu *gpu, enum channel channel, double from_s, double to_s) {
    const struct activity *truth = truth_of(gpu);
    if (truth) return activity_mean(truth, channel, from_s, to_s);
    int64_t constant = channel == CH_busy ? gpu->utilization_gpu : gpu->utilization_memory;
    return constant == UNSET ? 0.0 : (double)constant / 100.0;
}

static unsigned int percent(double fraction) { return (unsigned int)lround(fmin(fmax(fraction, 0.0), 1.0) * 100.0); }

/* Neither the rates nor their buffer are reported for a card that is cut into instances. */
static int reports_utilization(const struct gpu *gpu) {
    return gpu->mig != 1 && (truth_of(gpu) || gpu->utilization_gpu != UNSET);
}

NVML_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t *rates) {
    ENTER_GPU(handle);
    if (!rates) return NVML_ERROR_INVALID_ARGUMENT;
    if (!reports_utilization(gpu)) return NVML_ERROR_NOT_SUPPORTED;
    double period = period_s(gpu), end = floor(clock_now_s() / period) * period;
    rates->gpu = percent(fraction(gpu, CH_busy, end - period, end));
    rates->memory = percent(fraction(gpu, CH_membusy, end - period, end));
    return NVML_SUCCESS;
}

static int knows_power(const struct gpu *gpu) {
    return (truth_of(gpu) && gpu->activity.given[CH_power]) || gpu->power_usage_mw != UNSET;
}

static double power_between_mw(const struct gpu *gpu, double from_s, double to_s) {
    const struct activity *truth = truth_of(gpu);
    if (truth && truth->given[CH_power]) return activity_mean(truth, CH_power, from_s, to_s) * 1e3;
    return (double)gpu->power_usage_mw;
}

static double last_step(double now_s, double step_s) { return floor(now_s / step_s + 1e-9) * step_s; }

/* The mean of 1 s on Ampere (not GA100, 8.0) and newer, the moment itself on others (nvmlDeviceGetPowerUsage). */
double power_mean_mw(const struct gpu *gpu, double now_s) {
    int averages = gpu->compute_major > 8 || (gpu->compute_major == 8 && gpu->compute_minor > 0);
    double window_s = gpu->power_window_s >= 0.0 ? gpu->power_window_s : averages ? 1.0 : 0.0;
    double end_s = last_step(now_s, or_default(gpu->power_step_s, 0.1));
    return knows_power(gpu) ? power_between_mw(gpu, end_s - window_s, end_s) : NAN;
}

double power_now_mw(const struct gpu *gpu, double now_s) {
    double end_s = last_step(now_s, or_default(gpu->power_step_s, 0.1));
    return knows_power(gpu) ? power_between_mw(gpu, end_s, end_s) : NAN;
}

/* Counts from the driver's start: only differences mean something. */
double energy_mj(const struct gpu *gpu, double now_s) {
    if (!knows_power(gpu) || gpu->compute_major < 7) return NAN;
    double end_s = last_step(now_s, or_default(gpu->energy_step_s, 0.1));
    const struct activity *truth = truth_of(gpu);
    double spent = truth && truth->given[CH_power] ? activity_integral(truth, CH_power, end_s) * 1e3
                                                   : (double)gpu->power_usage_mw * end_s;
    return spent + (gpu->energy_base_mj == UNSET ? 0.0 : (double)gpu->energy_base_mj);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned int *milliwatts) {
    ENTER_GPU(handle);
    double power = power_mean_mw(gpu, clock_now_s());
    return give_number(isnan(power) ? UNSET : llround(power), milliwatts);
}

NVML_API nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle, unsigned long long *millijoules) {
    ENTER_GPU(handle);
    double energy = energy_mj(gpu, clock_now_s());
    if (!millijoules) return NVML_ERROR_INVALID_ARGUMENT;
    if (isnan(energy)) return NVML_ERROR_NOT_SUPPORTED;
    *millijoules = (unsigned long long)llround(energy);
    return NVML_SUCCESS;
}

/* "This call queries a byte counter over a 20 ms interval" (nvml.h): it blocks that long. KiB/s. */
NVML_API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t handle, unsigned int direction,
                                                  unsigned int *kib_per_s) {
    ENTER_GPU(handle);
    if (direction > 1) return NVML_ERROR_INVALID_ARGUMENT;
    if (!truth_of(gpu)) return NVML_ERROR_NOT_SUPPORTED;
    double start_s = clock_now_s();
    clock_sleep_s(0.02);
    double mib = activity_mean(&gpu->activity, direction ? CH_pcie_rx : CH_pcie_tx, start_s, clock_now_s());
    return give_number(llround(mib * 1024.0), kib_per_s);
}

enum {
    POWER_SAMPLES,
    GPU_SAMPLES,
    MEMORY_SAMPLES,
    ENCODER_SAMPLES,
    DECODER_SAMPLES,
    SM_CLOCK_SAMPLES,
    MEMORY_CLOCK_SAMPLES
};

static int64_t sample(const struct gpu *gpu, unsigned int kind, double from_s, double to_s) {
    switch (kind) {
    case POWER_SAMPLES: return knows_power(gpu) ? llround(power_between_mw(gpu, from_s, to_s)) : UNSET;
    case GPU_SAMPLES: return reports_utilization(gpu) ? percent(fraction(gpu, CH_busy, from_s, to_s)) : UNSET;
    case MEMORY_SAMPLES: return reports_utilization(gpu) ? percent(fraction(gpu, CH_membusy, from_s, to_s)) : UNSET;
    case ENCODER_SAMPLES:
    case DECODER_SAMPLES: return reports_utilization(gpu) ? 0 : UNSET;
    case SM_CLOCK_SAMPLES:
        return truth_of(gpu) && gpu->activity.given[CH_sm_clock]
                   ? (int64_t)activity_at(&gpu->activity, CH_sm_clock, to_s) : gpu->clock_sm;
    case MEMORY_CLOCK_SAMPLES: return gpu->clock_memory;
    default: return UNSET;
    }
}

/* The buffer of an idle card runs dry on some drivers (https://github.com/polarsignals/gpu-metrics-agent/pull/37). */
static int window_is_kept(const struct gpu *gpu, double from_s, double to_s) {
    return gpu->samples_stop_when_idle != 1 || fraction(gpu, CH_busy, from_s, to_s) > 0.0;
}

/* Room asked for (samples == NULL): the whole ring. Else the windows that ended after `last_seen`, oldest first. */
NVML_API nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t handle, unsigned int kind, unsigned long long last_seen,
                                           unsigned int *value_type, unsigned int *count, nvmlSample_t *samples) {
    ENTER_GPU(handle);
    if (!value_type || !count || kind > 9) return NVML_ERROR_INVALID_ARGUMENT;
    double period = period_s(gpu), newest = floor(clock_now_s() / period);
    if (sample(gpu, kind, -period, 0.0) == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    unsigned int ring = gpu->samples_ring == UNSET ? 72 : (unsigned int)gpu->samples_ring, used = 0;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (!samples) {
        *count = ring;
        return NVML_SUCCESS;
    }
    for (double k = newest - ring + 1; k <= newest && used < *count; k++) {
        double end = k * period;
        unsigned long long stamp = clock_stamp_us(end);
        if (stamp <= last_seen || !window_is_kept(gpu, end - period, end)) continue;
        samples[used].timeStamp = stamp;
        samples[used].sampleValue.ullVal = 0;
        samples[used++].sampleValue.uiVal = (unsigned int)sample(gpu, kind, end - period, end);
    }
    *count = used;
    return used ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* The mean over what is both after `last_seen` and inside the ring, of the part of it that the process ran. */
static double share_of(const struct gpu *gpu, const struct process *process, enum channel channel, double from_s,
                       double to_s) {
    double begin = fmax(from_s, process->from_s), end = fmin(to_s, process->to_s);
    if (end <= begin || to_s <= from_s) return 0.0;
    return process->share * fraction(gpu, channel, begin, end) * (end - begin) / (to_s - from_s);
}

/* `last_seen` 0 averages the whole buffer and so shows processes that are gone. Some drivers add a row of garbage,
 * above 100 % (https://github.com/Syllo/nvtop/pull/110): `process_garbage = 1`. */
NVML_API nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t handle, nvmlProcessUtilizationSample_t *rows,
                                                      unsigned int *count, unsigned long long last_seen) {
    ENTER_GPU(handle);
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    if (!reports_utilization(gpu)) return NVML_ERROR_NOT_SUPPORTED;
    unsigned int room = *count, used = 0;
    if (!rows || room < 100) {
        *count = 100;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    double period = period_s(gpu), end = floor(clock_now_s() / period) * period;
    double oldest = end - period * (gpu->samples_ring == UNSET ? 72 : (double)gpu->samples_ring);
    double begin = last_seen ? fmax(oldest, clock_from_stamp(last_seen)) : oldest;
    for (int k = 0; k < gpu->process_count; k++) {
        double sm = share_of(gpu, &gpu->processes[k], CH_busy, begin, end);
        double memory = share_of(gpu, &gpu->processes[k], CH_membusy, begin, end);
        if (sm <= 0.0 && memory <= 0.0) continue;
        rows[used++] = (nvmlProcessUtilizationSample_t){.pid = gpu->processes[k].pid, .timeStamp = clock_stamp_us(end),
                                                        .smUtil = percent(sm), .memUtil = percent(memory)};
    }
    if (used && gpu->process_garbage == 1) {
        rows[used] = (nvmlProcessUtilizationSample_t){.pid = 1, .timeStamp = rows[0].timeStamp};
        rows[used++].smUtil = 4294967200u;
    }
    *count = used;
    return used ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
