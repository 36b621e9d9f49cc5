/* GPM (Hopper and newer): a sample holds counters, a metric is the difference of two samples, so any interval gives
 * the exact mean of the time between. */
#include "standin.h"

#include <math.h>
#include <stdlib.h>

struct gpm_sample {
    const struct gpu *gpu;
    int64_t instance;               /* -1: the whole card */
    double at_s, counters[CHANNEL_COUNT];
};

static nvmlReturn_t take(nvmlGpmSample_t sample, const struct gpu *gpu, const struct activity *truth,
                         int64_t instance) {
    sample->gpu = gpu;
    sample->instance = instance;
    sample->at_s = clock_now_s();
    for (int channel = 0; channel < CHANNEL_COUNT; channel++)
        sample->counters[channel] = activity_integral(truth, (enum channel)channel, sample->at_s);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t handle, nvmlGpmSupport_t *support) {
    ENTER_GPU(handle);
    if (!support) return NVML_ERROR_INVALID_ARGUMENT;
    if (support->version != 1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = gpu->gpm == 1;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) {
    ENTER_LIBRARY();
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    *sample = calloc(1, sizeof **sample);
    return *sample ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

NVML_API nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
    ENTER_LIBRARY();
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    free(sample);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t handle, nvmlGpmSample_t sample) {
    ENTER_GPU(handle);
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->gpm != 1) return NVML_ERROR_NOT_SUPPORTED;
    return take(sample, gpu, &gpu->activity, -1);
}

NVML_API nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t handle, unsigned int instance, nvmlGpmSample_t sample) {
    ENTER_GPU(handle);
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu->gpm != 1) return NVML_ERROR_NOT_SUPPORTED;
    for (int k = 0; k < gpu->mig_count; k++)
        if (gpu->migs[k].instance == instance) return take(sample, gpu, &gpu->migs[k].activity, instance);
    return NVML_ERROR_INVALID_ARGUMENT;
}

static const struct {
    unsigned int id;
    enum channel channel;
    double scale;
    char *short_name, *long_name, *unit;
} metrics[] = {
    {1, CH_busy, 100.0, "gract", "Graphics Engine Active", "%"},
    {2, CH_sm, 100.0, "smutil", "SM Activity", "%"},
    {3, CH_occupancy, 100.0, "smocc", "SM Occupancy", "%"},
    {5, CH_tensor, 100.0, "anytensor", "Any Tensor Activity", "%"},
    {10, CH_dram, 100.0, "dramutil", "DRAM Activity", "%"},
    {20, CH_pcie_tx, 1.0, "pcietx", "PCIe Bandwidth Tx", "MiB/s"},
    {21, CH_pcie_rx, 1.0, "pcierx", "PCIe Bandwidth Rx", "MiB/s"},
    {60, CH_nvlink_rx, 1.0, "nvlrx", "NVLink Total Bandwidth Rx", "MiB/s"},
    {61, CH_nvlink_tx, 1.0, "nvltx", "NVLink Total Bandwidth Tx", "MiB/s"},
};

static void compute(nvmlGpmMetric_t *metric, const struct gpm_sample *first, const struct gpm_sample *second) {
    double elapsed_s = second->at_s - first->at_s;
    metric->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
        if (metrics[k].id != metric->metricId) continue;
        metric->nvmlReturn = NVML_SUCCESS;
        metric->metricInfo = (nvmlGpmMetricInfo_t){metrics[k].short_name, metrics[k].long_name, metrics[k].unit};
        metric->value = elapsed_s <= 0.0 || (elapsed_s < 0.1 && scenario.gpm_short_interval == 'n')
                            ? NAN
                            : (second->counters[metrics[k].channel] - first->counters[metrics[k].channel]) /
                                  elapsed_s * metrics[k].scale;
    }
}

/* The header asks for more than 100 ms between samples and does not say what comes of less: the scenario chooses
 * (`gpm_short_interval`), a NaN, which DCGM takes for "blank", unless told. */
NVML_API nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *request) {
    ENTER_LIBRARY();
    if (!request || !request->sample1 || !request->sample2) return NVML_ERROR_INVALID_ARGUMENT;
    if (request->version != 1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const struct gpm_sample *first = request->sample1, *second = request->sample2;
    int comparable = first->gpu && first->gpu == second->gpu && first->instance == second->instance;
    double elapsed_s = second->at_s - first->at_s;
    if (!comparable || elapsed_s < 0.0) return NVML_ERROR_INVALID_ARGUMENT;
    if (elapsed_s < 0.1 && scenario.gpm_short_interval == 'e') return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int k = 0; k < request->numMetrics; k++) compute(&request->metrics[k], first, second);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t handle, unsigned int *state) {
    ENTER_GPU(handle);
    return give_number(gpu->gpm == 1 ? 0 : UNSET, state);
}
