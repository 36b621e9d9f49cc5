/* The door of every call: is the library initialized, which rule applies, is the GPU lost; and the count of calls. */
#include "standin.h"

#include <fnmatch.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { const char *name; uint64_t calls; } counts[MAX_FUNCTIONS];
static int count_of_functions;

void library_lock(void) { pthread_mutex_lock(&lock); }
void library_unlock(void) { pthread_mutex_unlock(&lock); }

/* `function` is __func__ of the caller: one address per function, so comparing addresses is enough. */
static void count_call(const char *function) {
    for (int k = 0; k < count_of_functions; k++) {
        if (counts[k].name == function) {
            counts[k].calls++;
            return;
        }
    }
    if (count_of_functions < MAX_FUNCTIONS) {
        counts[count_of_functions].name = function;
        counts[count_of_functions++].calls = 1;
    }
}

/* One line per function, appended in one write so that several processes can share the file. */
__attribute__((destructor)) static void write_counts(void) {
    const char *path = getenv("DOCTOR_NVML_COUNTS");
    if (!path || !count_of_functions) return;
    size_t room = (size_t)count_of_functions * 128, used = 0;
    char *text = malloc(room);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (text && file >= 0) {
        for (int k = 0; k < count_of_functions; k++)
            used += (size_t)snprintf(text + used, room - used, "%ld %s %llu\n", (long)getpid(), counts[k].name,
                                     (unsigned long long)counts[k].calls);
        if (write(file, text, used) < 0) perror("nvml stand-in: DOCTOR_NVML_COUNTS");
    }
    if (file >= 0) close(file);
    free(text);
}

/* A forked child begins at zero: what its parent called is the parent's to report. The lock is taken before the
 * fork, as a driver library must, so that the child never inherits one held by another thread. */
static void forget_counts(void) {
    count_of_functions = 0;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void prepare(void) {
    pthread_atfork(library_lock, library_unlock, forget_counts);
}

static int rule_applies(struct rule *rule, const char *function, const struct gpu *gpu, double now_s) {
    if (fnmatch(rule->pattern, function, 0) != 0) return 0;
    if (rule->gpu != ALL_GPUS && (!gpu || gpu->index != rule->gpu)) return 0;
    if (now_s < rule->from_s || now_s >= rule->to_s) return 0;
    int64_t before = rule->seen++;
    return before >= rule->after_calls && (rule->for_calls < 0 || before < rule->after_calls + rule->for_calls);
}

__attribute__((noreturn)) static void hang(void) {
    for (;;) pause();
}

/* The delays of all rules that apply add up; the first rule that gives a code decides. */
static int apply_rules(const char *function, const struct gpu *gpu) {
    double now_s = clock_now_s(), delay_s = 0.0;
    int code = GO_ON, block = 0;
    library_lock();
    for (int k = 0; k < scenario.rule_count; k++) {
        struct rule *rule = &scenario.rules[k];
        if (!rule_applies(rule, function, gpu, now_s)) continue;
        delay_s += rule->latency_s;
        block |= rule->block;
        if (rule->has_code && code == GO_ON) code = (int)rule->code;
    }
    library_unlock();
    if (block) hang();
    clock_sleep_s(delay_s);
    return code;
}

/* nvmlInit* and nvmlErrorString work before initialization. */
static int works_uninitialized(const char *function) {
    return strncmp(function, "nvmlInit", 8) == 0;
}

static int begin(const char *function) {
    library_lock();
    count_call(function);
    library_unlock();
    return library_is_initialized() || works_uninitialized(function) ? GO_ON : NVML_ERROR_UNINITIALIZED;
}

int enter_library(const char *function) {
    int code = begin(function);
    return code != GO_ON ? code : apply_rules(function, NULL);
}

static int resolve(nvmlDevice_t handle, struct gpu **gpu, struct mig_device **mig) {
    for (int k = 0; k < scenario.gpu_count; k++) {
        struct gpu *candidate = &scenario.gpus[k];
        if (handle == &candidate->device) {
            *gpu = candidate;
            return 1;
        }
        for (int m = 0; m < candidate->mig_count; m++) {
            if (handle == &candidate->migs[m].device) {
                *gpu = candidate;
                *mig = &candidate->migs[m];
                return 1;
            }
        }
    }
    return 0;
}

int gpu_is_lost(const struct gpu *gpu, double now_s) {
    int64_t calls = __atomic_load_n(&gpu->calls, __ATOMIC_RELAXED);
    if (gpu->lost_after_calls != UNSET && calls > gpu->lost_after_calls) return 1;
    return gpu->lost_at_s >= 0.0 && now_s >= gpu->lost_at_s;
}

int enter_device(const char *function, nvmlDevice_t handle, struct gpu **gpu, struct mig_device **mig) {
    int code = begin(function);
    if (code != GO_ON) return code;
    if (!resolve(handle, gpu, mig)) return NVML_ERROR_INVALID_ARGUMENT;
    __atomic_add_fetch(&(*gpu)->calls, 1, __ATOMIC_RELAXED);
    code = apply_rules(function, *gpu);
    if (code != GO_ON) return code;
    return gpu_is_lost(*gpu, clock_now_s()) ? (int)NVML_ERROR_GPU_IS_LOST : GO_ON;
}

nvmlReturn_t give_text(const char *text, char *out, unsigned int length) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (!*text) return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

nvmlReturn_t give_number(int64_t value, unsigned int *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (value == UNSET) return NVML_ERROR_NOT_SUPPORTED;
    *out = (unsigned int)value;
    return NVML_SUCCESS;
}
