/* Words and numbers of the scenario file. */
#include "parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int complain(const struct place *place, const char *format, ...) {
    va_list values;
    fprintf(stderr, "nvml stand-in: %s:%d: ", place->path, place->line);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    return -1;
}

char *trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) *--end = '\0';
    return text;
}

char *next_word(char **cursor) {
    *cursor += strspn(*cursor, " \t");
    if (!**cursor) return NULL;
    char *word = *cursor;
    *cursor += strcspn(*cursor, " \t");
    if (**cursor) *(*cursor)++ = '\0';
    return word;
}

/* "key=value" -> the value, with the word cut down to the key; NULL when there is no "=". */
char *split(char *word) {
    char *equals = strchr(word, '=');
    if (!equals) return NULL;
    *equals = '\0';
    return equals + 1;
}

static const struct { const char *name; int64_t value; } names[] = {
    {"gpu_idle", 0x1}, {"applications_clocks", 0x2}, {"sw_power_cap", 0x4}, {"hw_slowdown", 0x8},
    {"sync_boost", 0x10}, {"sw_thermal_slowdown", 0x20}, {"hw_thermal_slowdown", 0x40},
    {"hw_power_brake", 0x80}, {"display_clocks", 0x100},
};

/* "81559MiB", "0x10DE", "-1", "sw_power_cap|gpu_idle"; "none" for not supported. */
int parse_number(const char *text, int64_t *value) {
    if (strcmp(text, "none") == 0 || strcmp(text, "na") == 0) {
        *value = UNSET;
        return 0;
    }
    if (isdigit((unsigned char)*text) || *text == '-') {
        char *end;
        int64_t number = strtoll(text, &end, 0);
        if (strcmp(end, "KiB") == 0) number <<= 10;
        else if (strcmp(end, "MiB") == 0) number <<= 20;
        else if (strcmp(end, "GiB") == 0) number <<= 30;
        else if (*end) return -1;
        *value = number;
        return 0;
    }
    int64_t bits = 0;
    for (const char *part = text; *part;) {
        size_t length = strcspn(part, "|"), k = 0, total = sizeof names / sizeof *names;
        while (k < total && (strlen(names[k].name) != length || strncmp(names[k].name, part, length) != 0)) k++;
        if (k == total) return -1;
        bits |= names[k].value;
        part += length + (part[length] == '|');
    }
    *value = bits;
    return 0;
}

int parse_real(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end == text || *end ? -1 : 0;
}

static const struct { const char *name; nvmlReturn_t code; } codes[] = {
    {"SUCCESS", 0}, {"UNINITIALIZED", 1}, {"INVALID_ARGUMENT", 2}, {"NOT_SUPPORTED", 3}, {"NO_PERMISSION", 4},
    {"NOT_FOUND", 6}, {"INSUFFICIENT_SIZE", 7}, {"INSUFFICIENT_POWER", 8}, {"DRIVER_NOT_LOADED", 9},
    {"TIMEOUT", 10}, {"IRQ_ISSUE", 11}, {"LIBRARY_NOT_FOUND", 12}, {"FUNCTION_NOT_FOUND", 13},
    {"CORRUPTED_INFOROM", 14}, {"GPU_IS_LOST", 15}, {"RESET_REQUIRED", 16}, {"OPERATING_SYSTEM", 17},
    {"LIB_RM_VERSION_MISMATCH", 18}, {"IN_USE", 19}, {"MEMORY", 20}, {"NO_DATA", 21},
    {"INSUFFICIENT_RESOURCES", 23}, {"ARGUMENT_VERSION_MISMATCH", 25}, {"NOT_READY", 27}, {"GPU_NOT_FOUND", 28},
    {"INVALID_STATE", 29}, {"UNKNOWN", 999},
};

nvmlReturn_t code_by_name(const char *text, int *ok) {
    *ok = 1;
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
        if (strcmp(codes[k].name, text) == 0) return codes[k].code;
    char *end;
    long number = strtol(text, &end, 10);
    *ok = end != text && !*end;
    return (nvmlReturn_t)number;
}

/* "*", "3", "0-3", "1,4-7" -> bits. */
int parse_set(const char *text, unsigned int *set, int limit) {
    *set = 0;
    if (strcmp(text, "*") == 0) {
        *set = (1u << limit) - 1;
        return 0;
    }
    for (const char *part = text; *part;) {
        char *end;
        long first = strtol(part, &end, 10), last = first;
        if (end == part) return -1;
        if (*end == '-') {
            part = end + 1;
            last = strtol(part, &end, 10);
            if (end == part) return -1;
        }
        if (first < 0 || last < first || last >= limit || (*end && *end != ',')) return -1;
        for (long k = first; k <= last; k++) *set |= 1u << k;
        part = *end ? end + 1 : end;
    }
    return *set ? 0 : -1;
}
