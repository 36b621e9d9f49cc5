/* The stand-in's own structures. Times are scenario seconds (clock.c), rates are per scenario second. */
#ifndef STANDIN_H
#define STANDIN_H

#include "nvml_abi.h"

enum { MAX_GPUS = 16, MAX_MIG = 7, MAX_PROCESSES = 64, MAX_EVENTS = 64, MAX_RULES = 64, MAX_LINKS = 36,
       MAX_PAGES = 64, MAX_FIELDS = 64, MAX_FUNCTIONS = 256, LOCATIONS = 8, ALL_GPUS = -1 };

#define UNSET INT64_MIN  /* a key that the scenario does not give: the call answers NOT_SUPPORTED */

/* Whole numbers of a `[gpu ...]` section: one key of the scenario, one member of `struct gpu`. */
#define GPU_NUMBERS(X) \
    X(minor) X(pci_device_id) X(pci_subsystem_id) X(architecture) X(brand) X(cores) \
    X(memory_total) X(memory_used) X(memory_reserved) X(memory_bus_width) X(bar1_total) X(bar1_used) \
    X(utilization_gpu) X(utilization_memory) X(power_usage_mw) X(power_limit_mw) X(power_limit_default_mw) \
    X(power_limit_enforced_mw) X(power_limit_min_mw) X(power_limit_max_mw) X(energy_base_mj) \
    X(temperature) X(temperature_memory) X(temperature_shutdown) X(temperature_slowdown) X(temperature_gpu_max) \
    X(fan) X(clock_graphics) X(clock_sm) X(clock_memory) X(clock_video) X(clock_graphics_max) X(clock_sm_max) \
    X(clock_memory_max) X(clock_video_max) X(throttle) X(throttle_supported) X(persistence) X(compute_mode) \
    X(performance_state) X(ecc_mode) X(ecc_mode_pending) X(ecc_mode_default) X(retired_pages_pending) \
    X(remap_correctable) X(remap_uncorrectable) X(remap_pending) X(remap_failure) \
    X(pcie_generation) X(pcie_generation_max) X(pcie_generation_gpu_max) X(pcie_width) X(pcie_width_max) \
    X(pcie_speed_mbps) X(pcie_replay) X(nvlinks) X(nvlink_version) X(nvlink_speed_mbps) X(numa_node) \
    X(virtualization) X(mig) X(mig_pending) X(mig_max) X(lost_after_calls) X(event_types) X(gpm) \
    X(samples_ring) X(samples_stop_when_idle) X(process_garbage) X(gsp_firmware)

/* Fractions of a second and the like. */
#define GPU_REALS(X) \
    X(lost_at_s) X(utilization_period_s) X(power_window_s) X(power_step_s) X(energy_step_s) X(activity_repeat_s)

/* Channels of the truth. The first group is integrated (fractions, MiB/s, watts), the rest is read at a moment. */
#define CHANNELS(X) \
    X(busy) X(membusy) X(sm) X(occupancy) X(tensor) X(dram) X(pcie_tx) X(pcie_rx) X(nvlink_tx) X(nvlink_rx) \
    X(power) X(memory) X(throttle) X(sm_clock) X(temperature)

enum channel {
#define AS_ENUM(name) CH_##name,
    CHANNELS(AS_ENUM)
#undef AS_ENUM
    CHANNEL_COUNT
};

struct step {
    double at_s;
    double value[CHANNEL_COUNT];
};

/* A step function of time. `before[k]` is the integral from 0 to steps[k].at_s of every channel. */
struct activity {
    struct step *steps;
    double (*before)[CHANNEL_COUNT];
    size_t count, room;
    double repeat_s;                /* 0: the last step lasts for ever */
    unsigned char given[CHANNEL_COUNT];
};

struct process {
    unsigned int pid, instance, compute_instance;
    int64_t bytes;                  /* UNSET: NVML says "not available", as in many containers and under WSL */
    int kind;                       /* 'c', 'g', 'm' */
    double share, from_s, to_s;
};

struct device {
    int is_mig;
};

struct mig_device {
    struct device device;
    struct gpu *parent;
    char uuid[96], profile[32];
    unsigned int instance, compute_instance;
    nvmlDeviceAttributes_t attributes;
    int64_t memory_total, memory_used;
    struct activity activity;
};

struct gpu {
    struct device device;
    int index;
#define AS_MEMBER(name) int64_t name;
    GPU_NUMBERS(AS_MEMBER)
#undef AS_MEMBER
#define AS_MEMBER(name) double name;
    GPU_REALS(AS_MEMBER)
#undef AS_MEMBER
    char name[96], uuid[96], serial[32], bus_id[32], vbios[32], part_number[80];
    int compute_major, compute_minor;
    int64_t ecc[2][2][LOCATIONS];   /* [corrected, uncorrected][volatile, aggregate][location] */
    struct { uint64_t address; unsigned int cause; uint64_t stamp; } pages[MAX_PAGES];
    int page_count;
    struct process processes[MAX_PROCESSES];
    int process_count;
    struct { double at_s; uint64_t type, data; unsigned int instance, compute_instance; } events[MAX_EVENTS];
    int event_count;
    struct mig_device migs[MAX_MIG];
    int mig_count;
    signed char p2p[MAX_GPUS][5];   /* -1: not given */
    short topology[MAX_GPUS];
    unsigned char link_down[MAX_LINKS];
    short link_peer[MAX_LINKS];     /* index of a GPU, or -1: a switch */
    int64_t link_errors[MAX_LINKS][5];
    double link_errors_at_s[MAX_LINKS][5]; /* none before */
    struct { unsigned int id; nvmlReturn_t code; int has_value; unsigned int type; double value; } fields[MAX_FIELDS];
    int field_count;
    struct activity activity;
    int64_t calls;
};

/* What happens to calls of functions whose name matches: an error, a delay, a call that never returns. */
struct rule {
    char pattern[64];
    int gpu;
    int has_code, block;
    nvmlReturn_t code;
    int64_t after_calls, for_calls; /* for_calls < 0: for good */
    double from_s, to_s, latency_s;
    int64_t seen;
};

struct scenario {
    int gpu_count;
    char driver[80], nvml[80];
    int64_t cuda;
    int boot_clock_stamps;
    int64_t stamp_origin_us;        /* the stamp of scenario time 0; UNSET: the clock's */
    int gpm_short_interval;         /* what MetricsGet answers when samples are too close: 'n'an, 'o'k, 'e'rror */
    struct gpu gpus[MAX_GPUS];
    struct rule rules[MAX_RULES];
    int rule_count;
};

extern struct scenario scenario;

/* scenario.c */
int scenario_load(void);            /* 0, or -1 after a line on stderr that names file and line */

/* clock.c */
void clock_start(void);
double clock_now_s(void);           /* scenario seconds since the first nvmlInit of this process */
void clock_sleep_s(double scenario_s);
uint64_t clock_stamp_us(double scenario_s);
double clock_from_stamp(uint64_t stamp_us);

/* calls.c: every exported function begins with one of these two */
enum { GO_ON = -1 };
int enter_library(const char *function);
int enter_device(const char *function, nvmlDevice_t handle, struct gpu **gpu, struct mig_device **mig);
int library_is_initialized(void);
void library_lock(void);
void library_unlock(void);
int gpu_is_lost(const struct gpu *gpu, double now_s);
nvmlReturn_t give_text(const char *text, char *out, unsigned int length);
nvmlReturn_t give_number(int64_t value, unsigned int *out);

#define ENTER_LIBRARY() \
    do { \
        int entered_ = enter_library(__func__); \
        if (entered_ != GO_ON) return (nvmlReturn_t)entered_; \
    } while (0)

/* A call on a whole GPU; NVML does not answer it for a MIG instance. */
#define ENTER_GPU(handle) \
    struct gpu *gpu = NULL; \
    do { \
        struct mig_device *mig_ = NULL; \
        int entered_ = enter_device(__func__, handle, &gpu, &mig_); \
        if (entered_ != GO_ON) return (nvmlReturn_t)entered_; \
        if (mig_) return NVML_ERROR_NOT_SUPPORTED; \
    } while (0)

/* A call that also serves MIG instances: `mig` is NULL for a whole GPU. */
#define ENTER_ANY(handle) \
    struct gpu *gpu = NULL; \
    struct mig_device *mig = NULL; \
    do { \
        int entered_ = enter_device(__func__, handle, &gpu, &mig); \
        if (entered_ != GO_ON) return (nvmlReturn_t)entered_; \
    } while (0)

/* activity.c */
int activity_add(struct activity *activity, double at_s, const double *values, const unsigned char *given);
int activity_finish(struct activity *activity);
double activity_at(const struct activity *activity, enum channel channel, double at_s);
double activity_integral(const struct activity *activity, enum channel channel, double to_s);
double activity_mean(const struct activity *activity, enum channel channel, double from_s, double to_s);
double activity_time_with_bits(const struct activity *activity, enum channel channel, uint64_t bits, double to_s);

/* sampling.c: also read by fields.c */
double power_mean_mw(const struct gpu *gpu, double now_s);
double power_now_mw(const struct gpu *gpu, double now_s);
double energy_mj(const struct gpu *gpu, double now_s);
int64_t memory_used_now(const struct gpu *gpu, double now_s);
uint64_t throttle_now(const struct gpu *gpu, double now_s);
int64_t temperature_now(const struct gpu *gpu, double now_s);
double or_default(double value, double otherwise);

/* links.c */
int64_t link_errors_now(const struct gpu *gpu, unsigned int link, int kind);

/* health.c */
int64_t ecc_total(const struct gpu *gpu, unsigned int kind, unsigned int counter);

#endif
