/* The `[gpu ...]` sections of the scenario file. */
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prepare_gpu(struct gpu *gpu, int index) {
    memset(gpu, 0, sizeof *gpu);
    gpu->index = index;
#define UNSET_NUMBER(name) gpu->name = UNSET;
    GPU_NUMBERS(UNSET_NUMBER)
#undef UNSET_NUMBER
#define UNSET_REAL(name) gpu->name = -1.0;
    GPU_REALS(UNSET_REAL)
#undef UNSET_REAL
    gpu->compute_major = -1;
    gpu->minor = index;
    memset(gpu->p2p, -1, sizeof gpu->p2p);
    memset(gpu->topology, -1, sizeof gpu->topology);
    memset(gpu->link_peer, -1, sizeof gpu->link_peer);
    snprintf(gpu->bus_id, sizeof gpu->bus_id, "00000000:%02X:00.0", 0x10 + 8 * index);
    snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-d0c70000-0000-4000-8000-%012x", index);
    for (int m = 0; m < MAX_MIG; m++) {
        gpu->migs[m].device.is_mig = 1;
        gpu->migs[m].parent = gpu;
    }
}

static const struct { const char *name; size_t offset; } number_keys[] = {
#define AS_KEY(name) {#name, offsetof(struct gpu, name)},
    GPU_NUMBERS(AS_KEY)
#undef AS_KEY
}, real_keys[] = {
#define AS_KEY(name) {#name, offsetof(struct gpu, name)},
    GPU_REALS(AS_KEY)
#undef AS_KEY
};

static const struct { const char *name; size_t offset, room; } text_keys[] = {
#define AS_KEY(name) {#name, offsetof(struct gpu, name), sizeof(((struct gpu *)0)->name)},
    AS_KEY(name) AS_KEY(uuid) AS_KEY(serial) AS_KEY(bus_id) AS_KEY(vbios) AS_KEY(part_number)
#undef AS_KEY
};

static const char *const channel_names[] = {
#define AS_NAME(name) #name,
    CHANNELS(AS_NAME)
#undef AS_NAME
};

/* 1: the key is a plain one and is set; 0: it is not; -1: its value is bad. */
static int read_plain(struct gpu *gpu, const char *key, const char *value) {
    for (size_t k = 0; k < sizeof number_keys / sizeof *number_keys; k++)
        if (strcmp(number_keys[k].name, key) == 0)
            return parse_number(value, (int64_t *)((char *)gpu + number_keys[k].offset)) == 0 ? 1 : -1;
    for (size_t k = 0; k < sizeof real_keys / sizeof *real_keys; k++)
        if (strcmp(real_keys[k].name, key) == 0)
            return parse_real(value, (double *)((char *)gpu + real_keys[k].offset)) == 0 ? 1 : -1;
    for (size_t k = 0; k < sizeof text_keys / sizeof *text_keys; k++)
        if (strcmp(text_keys[k].name, key) == 0) {
            char *out = (char *)gpu + text_keys[k].offset;
            int needed = snprintf(out, text_keys[k].room, "%s", strcmp(value, "none") == 0 ? "" : value);
            return (size_t)needed < text_keys[k].room ? 1 : -1;
        }
    return 0;
}

static int read_compute_capability(struct gpu *gpu, char *value) {
    char rest;
    return sscanf(value, "%d.%d%c", &gpu->compute_major, &gpu->compute_minor, &rest) == 2 ? 0 : -1;
}

/* process = pid=4242 bytes=30GiB kind=compute gi=1 ci=0 share=0.7 from=0 to=60 */
static int read_process(struct gpu *gpu, char *value) {
    if (strcmp(value, "none") == 0) return gpu->process_count = 0;
    if (gpu->process_count == MAX_PROCESSES) return -1;
    struct process process = {.instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE, .bytes = UNSET,
                              .kind = 'c', .share = 1.0, .from_s = -INFINITY, .to_s = INFINITY};
    for (char *word; (word = next_word(&value));) {
        char *text = split(word);
        int64_t number = 0;
        double real = 0.0;
        if (!text) return -1;
        if (strcmp(word, "kind") == 0 && strchr("cgm", *text) && *text) process.kind = *text;
        else if (strcmp(word, "share") == 0 && parse_real(text, &real) == 0) process.share = real;
        else if (strcmp(word, "from") == 0 && parse_real(text, &real) == 0) process.from_s = real;
        else if (strcmp(word, "to") == 0 && parse_real(text, &real) == 0) process.to_s = real;
        else if (parse_number(text, &number) != 0) return -1;
        else if (strcmp(word, "pid") == 0) process.pid = (unsigned int)number;
        else if (strcmp(word, "bytes") == 0) process.bytes = number;
        else if (strcmp(word, "gi") == 0) process.instance = (unsigned int)number;
        else if (strcmp(word, "ci") == 0) process.compute_instance = (unsigned int)number;
        else return -1;
    }
    gpu->processes[gpu->process_count++] = process;
    return process.pid ? 0 : -1;
}

/* ecc_errors = uncorrected volatile dram 3 */
static int read_ecc(struct gpu *gpu, char *value) {
    static const char *const places[LOCATIONS] = {"l1", "l2", "dram", "register", "texture", "shared", "cbu", "sram"};
    char *kind = next_word(&value), *counter = next_word(&value), *where = next_word(&value);
    char *text = next_word(&value);
    int64_t number;
    if (!text || next_word(&value) || parse_number(text, &number) != 0) return -1;
    int bad = strcmp(kind, "uncorrected") == 0, aggregate = strcmp(counter, "aggregate") == 0, k = 0;
    if ((!bad && strcmp(kind, "corrected") != 0) || (!aggregate && strcmp(counter, "volatile") != 0)) return -1;
    while (k < LOCATIONS && strcmp(places[k], where) != 0) k++;
    if (k == LOCATIONS) return -1;
    gpu->ecc[bad][aggregate][k] = number;
    return 0;
}

/* retired_page = single|double ADDRESS [UNIX-SECONDS] */
static int read_page(struct gpu *gpu, char *value) {
    if (strcmp(value, "none") == 0) return gpu->page_count = 0;
    char *cause = next_word(&value), *address = next_word(&value), *when = next_word(&value);
    int64_t number, stamp = 0;
    if (!address || gpu->page_count == MAX_PAGES || parse_number(address, &number) != 0) return -1;
    if (when && parse_number(when, &stamp) != 0) return -1;
    int is_double = strcmp(cause, "double") == 0;
    if (!is_double && strcmp(cause, "single") != 0) return -1;
    gpu->pages[gpu->page_count].address = (uint64_t)number;
    gpu->pages[gpu->page_count].cause = (unsigned int)is_double;
    gpu->pages[gpu->page_count++].stamp = (uint64_t)stamp;
    return 0;
}

/* event = at=2.5 xid=79 | at=3 type=0x2 data=5 [gi=1 ci=0] */
static int read_event(struct gpu *gpu, char *value) {
    if (gpu->event_count == MAX_EVENTS) return -1;
    double at_s = -1.0;
    int64_t type = 0, data = 0, instance = NVML_NO_INSTANCE, compute_instance = NVML_NO_INSTANCE;
    for (char *word; (word = next_word(&value));) {
        char *text = split(word);
        if (!text) return -1;
        if (strcmp(word, "at") == 0) {
            if (parse_real(text, &at_s) != 0) return -1;
            continue;
        }
        int64_t number;
        if (parse_number(text, &number) != 0) return -1;
        if (strcmp(word, "xid") == 0) type = 0x8, data = number;
        else if (strcmp(word, "type") == 0) type = number;
        else if (strcmp(word, "data") == 0) data = number;
        else if (strcmp(word, "gi") == 0) instance = number;
        else if (strcmp(word, "ci") == 0) compute_instance = number;
        else return -1;
    }
    if (at_s < 0.0 || !type) return -1;
    int k = gpu->event_count++;
    gpu->events[k].at_s = at_s;
    gpu->events[k].type = (uint64_t)type;
    gpu->events[k].data = (uint64_t)data;
    gpu->events[k].instance = (unsigned int)instance;
    gpu->events[k].compute_instance = (unsigned int)compute_instance;
    return 0;
}

/* p2p = 1-3 OK, or p2p = * read=OK write=OK atomics=NS: status of the pairs (this GPU, those GPUs) */
static int read_p2p(struct gpu *gpu, char *value) {
    static const char *const kinds[] = {"read", "write", "nvlink", "atomics", "pci"};
    static const char *const states[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
    char *peers = next_word(&value);
    unsigned int set;
    if (!peers || parse_set(peers, &set, MAX_GPUS) != 0) return -1;
    for (char *word; (word = next_word(&value));) {
        char *text = split(word);
        int state = 0, kind = 0;
        while (state < 7 && strcmp(states[state], text ? text : word) != 0) state++;
        while (text && kind < 5 && strcmp(kinds[kind], word) != 0) kind++;
        if (state == 7 || kind == 5) return -1;
        for (int k = 0; k < MAX_GPUS; k++)
            for (int c = 0; c < 5; c++)
                if ((set >> k & 1) && (!text || c == kind)) gpu->p2p[k][c] = (signed char)state;
    }
    return 0;
}

/* topology = 1-3 NODE */
static int read_topology(struct gpu *gpu, char *value) {
    static const struct { const char *name; short level; } levels[] = {
        {"INTERNAL", 0}, {"PIX", 10}, {"PXB", 20}, {"PHB", 30}, {"NODE", 40}, {"SYS", 50}};
    char *peers = next_word(&value), *name = peers ? next_word(&value) : NULL;
    unsigned int set;
    if (!name || parse_set(peers, &set, MAX_GPUS) != 0) return -1;
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        if (strcmp(levels[k].name, name) != 0) continue;
        for (int peer = 0; peer < MAX_GPUS; peer++)
            if (set >> peer & 1) gpu->topology[peer] = levels[k].level;
        return 0;
    }
    return -1;
}

/* nvlink_down = 3 7;  nvlink_peers = 1 2 3 3 4 4 (one GPU index per link);  nvlink_errors = LINK KIND COUNT [at=2.5] */
static int read_links(struct gpu *gpu, const char *key, char *value) {
    static const char *const kinds[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};
    int64_t number = 0;
    if (strcmp(key, "nvlink_errors") == 0) {
        char *link = next_word(&value), *kind = next_word(&value), *count = next_word(&value);
        char *at = count ? next_word(&value) : NULL;
        int k = 0;
        if (!count || parse_number(link, &number) != 0 || number < 0 || number >= MAX_LINKS) return -1;
        while (k < 5 && strcmp(kinds[k], kind) != 0) k++;
        if (k == 5 || (at && (strncmp(at, "at=", 3) != 0 || parse_real(at + 3, &gpu->link_errors_at_s[number][k]) != 0)))
            return -1;
        return parse_number(count, &gpu->link_errors[number][k]);
    }
    int position = 0;
    for (char *word; (word = next_word(&value)); position++) {
        if (parse_number(word, &number) != 0 || number < 0 || number >= MAX_LINKS || position >= MAX_LINKS) return -1;
        if (strcmp(key, "nvlink_down") == 0) gpu->link_down[number] = 1;
        else gpu->link_peer[position] = (short)number;
    }
    return 0;
}

/* field = 230 uint 1, field = 83 code=NOT_SUPPORTED: instead of what is computed */
static int read_field(struct gpu *gpu, char *value) {
    char *id = next_word(&value), *type = next_word(&value), *text = type ? next_word(&value) : NULL;
    int64_t number;
    int ok = 1;
    if (!type || gpu->field_count == MAX_FIELDS || parse_number(id, &number) != 0) return -1;
    int k = gpu->field_count++;
    memset(&gpu->fields[k], 0, sizeof gpu->fields[k]);
    gpu->fields[k].id = (unsigned int)number;
    char *code = split(type);
    if (code) {
        gpu->fields[k].code = code_by_name(code, &ok);
        return ok && strcmp(type, "code") == 0 ? 0 : -1;
    }
    gpu->fields[k].has_value = 1;
    if (strcmp(type, "double") == 0) gpu->fields[k].type = NVML_VALUE_TYPE_DOUBLE;
    else if (strcmp(type, "uint") == 0) gpu->fields[k].type = NVML_VALUE_TYPE_UNSIGNED_INT;
    else if (strcmp(type, "ull") == 0) gpu->fields[k].type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    else return -1;
    return text ? parse_real(text, &gpu->fields[k].value) : -1;
}

/* mig_device = gi=1 ci=0 profile=1g.10gb memory=9984MiB used=12MiB sms=16 slices=1 ... */
static int read_mig_device(struct gpu *gpu, char *value) {
    if (gpu->mig_count == MAX_MIG) return -1;
    struct mig_device *mig = &gpu->migs[gpu->mig_count];
    for (char *word; (word = next_word(&value));) {
        char *text = split(word);
        int64_t number = 0;
        if (!text) return -1;
        if (strcmp(word, "profile") == 0) snprintf(mig->profile, sizeof mig->profile, "%s", text);
        else if (strcmp(word, "uuid") == 0) snprintf(mig->uuid, sizeof mig->uuid, "%s", text);
        else if (parse_number(text, &number) != 0) return -1;
        else if (strcmp(word, "gi") == 0) mig->instance = (unsigned int)number;
        else if (strcmp(word, "ci") == 0) mig->compute_instance = (unsigned int)number;
        else if (strcmp(word, "memory") == 0) mig->memory_total = number;
        else if (strcmp(word, "used") == 0) mig->memory_used = number;
        else if (strcmp(word, "sms") == 0) mig->attributes.multiprocessorCount = (unsigned int)number;
        else if (strcmp(word, "slices") == 0)
            mig->attributes.gpuInstanceSliceCount = mig->attributes.computeInstanceSliceCount = (unsigned int)number;
        else if (strcmp(word, "copy_engines") == 0) mig->attributes.sharedCopyEngineCount = (unsigned int)number;
        else if (strcmp(word, "decoders") == 0) mig->attributes.sharedDecoderCount = (unsigned int)number;
        else if (strcmp(word, "jpeg") == 0) mig->attributes.sharedJpegCount = (unsigned int)number;
        else return -1;
    }
    mig->attributes.memorySizeMB = (unsigned long long)mig->memory_total >> 20;
    if (!mig->uuid[0])
        snprintf(mig->uuid, sizeof mig->uuid, "MIG-d0c70000-%04x-4000-8000-%012x", gpu->index, gpu->mig_count);
    gpu->mig_count++;
    return mig->memory_total > 0 ? 0 : -1;
}

/* activity = 2.5 busy=1 sm=0.6 tensor=0.3 ... [gi=1]: from that second on */
static int read_activity(struct gpu *gpu, char *value) {
    double values[CHANNEL_COUNT] = {0}, at_s;
    unsigned char given[CHANNEL_COUNT] = {0};
    struct activity *activity = &gpu->activity;
    if (strcmp(value, "none") == 0) {
        activity->count = 0;
        memset(activity->given, 0, sizeof activity->given);
        return 0;
    }
    char *when = next_word(&value);
    if (!when || parse_real(when, &at_s) != 0) return -1;
    for (char *word; (word = next_word(&value));) {
        char *text = split(word);
        int64_t number = 0;
        int channel = 0, instance_found = 0;
        if (!text) return -1;
        if (strcmp(word, "gi") == 0) {
            if (parse_number(text, &number) != 0) return -1;
            for (int m = 0; m < gpu->mig_count; m++)
                if (gpu->migs[m].instance == number) activity = &gpu->migs[m].activity, instance_found = 1;
            if (!instance_found) return -1;
            continue;
        }
        while (channel < CHANNEL_COUNT && strcmp(channel_names[channel], word) != 0) channel++;
        if (channel == CHANNEL_COUNT) return -1;
        given[channel] = 1;
        if (parse_real(text, &values[channel]) == 0) continue;
        if (parse_number(text, &number) != 0) return -1;
        values[channel] = (double)number;
    }
    return activity_add(activity, at_s, values, given);
}

static int read_listed(struct gpu *gpu, const char *key, char *value) {
    if (strcmp(key, "compute_capability") == 0) return read_compute_capability(gpu, value);
    if (strcmp(key, "process") == 0) return read_process(gpu, value);
    if (strcmp(key, "ecc_errors") == 0) return read_ecc(gpu, value);
    if (strcmp(key, "retired_page") == 0) return read_page(gpu, value);
    if (strcmp(key, "event") == 0) return read_event(gpu, value);
    if (strcmp(key, "p2p") == 0) return read_p2p(gpu, value);
    if (strcmp(key, "topology") == 0) return read_topology(gpu, value);
    if (strcmp(key, "field") == 0) return read_field(gpu, value);
    if (strcmp(key, "mig_device") == 0) return read_mig_device(gpu, value);
    if (strcmp(key, "activity") == 0) return read_activity(gpu, value);
    if (strncmp(key, "nvlink_", 7) == 0 && (strcmp(key + 7, "down") == 0 || strcmp(key + 7, "peers") == 0 ||
                                            strcmp(key + 7, "errors") == 0))
        return read_links(gpu, key, value);
    return 1;
}

int read_gpu_key(const struct place *place, const char *key, char *value) {
    for (int k = 0; k < MAX_GPUS; k++) {
        if (!(place->chosen >> k & 1)) continue;
        struct gpu *gpu = &scenario.gpus[k];
        int plain = read_plain(gpu, key, value);
        if (plain < 0) return complain(place, "bad value: %s = %s", key, value);
        if (plain > 0) continue;
        char *copy = strdup(value);  /* the readers cut their text up, and the next GPU needs it whole */
        int listed = copy ? read_listed(gpu, key, copy) : -1;
        free(copy);
        if (listed > 0) return complain(place, "no such key in [gpu]: %s", key);
        if (listed < 0) return complain(place, "bad value: %s = %s", key, value);
    }
    return 0;
}

int finish_gpu(const struct place *place, struct gpu *gpu) {
    if (!gpu->name[0] || gpu->memory_total == UNSET)
        return complain(place, "GPU %d needs a name and memory_total", gpu->index);
    double repeat_s = gpu->activity_repeat_s > 0.0 ? gpu->activity_repeat_s : 0.0;
    gpu->activity.repeat_s = repeat_s;
    int bad = activity_finish(&gpu->activity);
    for (int m = 0; m < gpu->mig_count; m++) {
        gpu->migs[m].activity.repeat_s = repeat_s;
        bad |= activity_finish(&gpu->migs[m].activity);
    }
    return bad ? complain(place, "GPU %d: activity_repeat_s must lie after the last step", gpu->index) : 0;
}
