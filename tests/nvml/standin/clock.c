/* Scenario time: seconds since the first nvmlInit of the process, faster than real by DOCTOR_NVML_TIME_SCALE. */
#include "standin.h"

#include <stdlib.h>
#include <time.h>

static double started_s, scale = 1.0;
static uint64_t epoch_us, boot_us;
static int running;

static double read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void clock_start(void) {
    if (running) return;
    const char *text = getenv("DOCTOR_NVML_TIME_SCALE");
    double wanted = text ? strtod(text, NULL) : 1.0;
    scale = wanted > 0.0 ? wanted : 1.0;
    epoch_us = (uint64_t)(read_clock(CLOCK_REALTIME) * 1e6);
    boot_us = (uint64_t)(read_clock(CLOCK_BOOTTIME) * 1e6);
    started_s = read_clock(CLOCK_MONOTONIC);
    running = 1;
}

double clock_now_s(void) {
    return running ? (read_clock(CLOCK_MONOTONIC) - started_s) * scale : 0.0;
}

void clock_sleep_s(double scenario_s) {
    if (scenario_s <= 0.0) return;
    double real_s = scenario_s / scale;
    struct timespec left = {(time_t)real_s, (long)((real_s - (double)(time_t)real_s) * 1e9)};
    while (nanosleep(&left, &left) != 0) {
    }
}

static uint64_t stamp_origin_us(void) {
    if (scenario.stamp_origin_us != UNSET) return (uint64_t)scenario.stamp_origin_us;
    return scenario.boot_clock_stamps ? boot_us : epoch_us;
}

/* Most drivers stamp in microseconds since the epoch, some on the boot clock
 * (https://github.com/polarsignals/gpu-metrics-agent/pull/37). */
uint64_t clock_stamp_us(double scenario_s) {
    return (uint64_t)((int64_t)stamp_origin_us() + (int64_t)(scenario_s * 1e6 + (scenario_s < 0 ? -0.5 : 0.5)));
}

double clock_from_stamp(uint64_t stamp_us) {
    return ((double)stamp_us - (double)stamp_origin_us()) * 1e-6;
}
