/* Reads the scenario file. The format is described in tests/nvml/README.md. */
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scenario scenario;

static int read_system(const struct place *place, const char *key, char *value) {
    int64_t number = UNSET;
    if (strcmp(key, "driver") == 0) snprintf(scenario.driver, sizeof scenario.driver, "%s", value);
    else if (strcmp(key, "nvml") == 0) snprintf(scenario.nvml, sizeof scenario.nvml, "%s", value);
    else if (strcmp(key, "stamps") == 0 && (strcmp(value, "epoch") == 0 || strcmp(value, "boot") == 0))
        scenario.boot_clock_stamps = strcmp(value, "boot") == 0;
    else if (strcmp(key, "gpm_short_interval") == 0 && strchr("noe", *value) && *value)
        scenario.gpm_short_interval = *value;
    else if (strcmp(key, "stamp_origin_us") == 0 && parse_number(value, &number) == 0)
        scenario.stamp_origin_us = number;
    else if (strcmp(key, "cuda") == 0 && parse_number(value, &number) == 0) scenario.cuda = number;
    else if (strcmp(key, "gpus") == 0 && parse_number(value, &number) == 0 && number >= 0 && number <= MAX_GPUS)
        scenario.gpu_count = (int)number;
    else return complain(place, "no such key or value in [system]: %s = %s", key, value);
    return 0;
}

static int read_rule_word(struct rule *rule, char *word) {
    char *value = split(word);
    int ok = 1;
    int64_t number = 0;
    if (!value) return strcmp(word, "block") == 0 ? (rule->block = 1, 0) : -1;
    if (strcmp(word, "code") == 0) {
        rule->has_code = 1;
        rule->code = code_by_name(value, &ok);
        return ok ? 0 : -1;
    }
    if (strcmp(word, "from") == 0) return parse_real(value, &rule->from_s);
    if (strcmp(word, "to") == 0) return parse_real(value, &rule->to_s);
    if (strcmp(word, "latency_ms") == 0) {
        if (parse_real(value, &rule->latency_s) != 0) return -1;
        rule->latency_s *= 1e-3;
        return 0;
    }
    if (parse_number(value, &number) != 0) return -1;
    if (strcmp(word, "gpu") == 0) rule->gpu = (int)number;
    else if (strcmp(word, "after") == 0) rule->after_calls = number;
    else if (strcmp(word, "calls") == 0) rule->for_calls = number;
    else return -1;
    return 0;
}

static int read_call(const struct place *place, const char *key, char *value) {
    if (scenario.rule_count == MAX_RULES) return complain(place, "more than %d rules", MAX_RULES);
    struct rule rule = {.gpu = ALL_GPUS, .for_calls = -1, .from_s = -INFINITY, .to_s = INFINITY};
    if (strlen(key) >= sizeof rule.pattern) return complain(place, "name too long: %s", key);
    strcpy(rule.pattern, key);
    for (char *word; (word = next_word(&value));)
        if (read_rule_word(&rule, word) != 0) return complain(place, "not understood in [calls]: %s", word);
    if (!rule.has_code && !rule.block && rule.latency_s <= 0.0) return complain(place, "this rule does nothing");
    scenario.rules[scenario.rule_count++] = rule;
    return 0;
}

static int read_section(struct place *place, char *text) {
    text[strlen(text) - 1] = '\0';
    char *rest = text + 1, *kind = next_word(&rest), *which = kind ? next_word(&rest) : NULL;
    if (kind && !which && strcmp(kind, "system") == 0) place->section = IN_SYSTEM;
    else if (kind && !which && strcmp(kind, "calls") == 0) place->section = IN_CALLS;
    else if (kind && which && strcmp(kind, "gpu") == 0 && parse_set(which, &place->chosen, MAX_GPUS) == 0)
        place->section = IN_GPU;
    else return complain(place, "sections are [system], [calls], [gpu *], [gpu 0], [gpu 1,4-7]");
    return 0;
}

static int read_file(const char *path, int depth);

/* A file included by name lies beside the one that includes it, or in DOCTOR_NVML_SCENARIO_DIR. */
static int read_include(const struct place *place, const char *name) {
    char path[4096];
    const char *slash = strrchr(place->path, '/'), *folder = getenv("DOCTOR_NVML_SCENARIO_DIR");
    if (*name == '/') snprintf(path, sizeof path, "%s", name);
    else snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - place->path + 1) : 0, place->path, name);
    FILE *there = fopen(path, "r");
    if (there) fclose(there);
    else if (folder) snprintf(path, sizeof path, "%s/%s", folder, name);
    if (place->depth >= 4) return complain(place, "includes lie too deep");
    return read_file(path, place->depth + 1) == 0 ? 0 : complain(place, "included from here");
}

/* From a "#" that begins the line or follows a blank. */
static void cut_comment(char *line) {
    for (char *at = line; (at = strchr(at, '#')); at++) {
        if (at != line && !strchr(" \t", at[-1])) continue;
        *at = '\0';
        return;
    }
}

static int read_line(struct place *place, char *line) {
    cut_comment(line);
    char *text = trim(line);
    if (!*text) return 0;
    if (*text == '[' && text[strlen(text) - 1] == ']') return read_section(place, text);
    char *value = split(text);
    if (!value) return complain(place, "neither [section] nor key = value");
    char *key = trim(text);
    value = trim(value);
    if (strcmp(key, "include") == 0) return read_include(place, value);
    switch (place->section) {
    case IN_SYSTEM: return read_system(place, key, value);
    case IN_CALLS: return read_call(place, key, value);
    case IN_GPU: return read_gpu_key(place, key, value);
    default: return complain(place, "a key before the first [section]");
    }
}

static int read_file(const char *path, int depth) {
    struct place place = {.path = path, .depth = depth};
    FILE *file = fopen(path, "r");
    if (!file) return complain(&place, "cannot be opened");
    char *line = NULL;
    size_t room = 0;
    int bad = 0;
    while (!bad && getline(&line, &room, file) >= 0) {
        place.line++;
        bad = read_line(&place, line);
    }
    free(line);
    fclose(file);
    return bad;
}

int scenario_load(void) {
    const char *path = getenv("DOCTOR_NVML_SCENARIO");
    if (!path) {
        fputs("nvml stand-in: DOCTOR_NVML_SCENARIO is not set\n", stderr);
        return -1;
    }
    scenario.cuda = scenario.stamp_origin_us = UNSET;
    scenario.gpm_short_interval = 'n';
    for (int k = 0; k < MAX_GPUS; k++) prepare_gpu(&scenario.gpus[k], k);
    if (read_file(path, 0) != 0) return -1;
    struct place place = {.path = path};
    for (int k = 0; k < scenario.gpu_count; k++)
        if (finish_gpu(&place, &scenario.gpus[k]) != 0) return -1;
    return 0;
}
