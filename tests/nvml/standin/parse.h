/* Words and numbers of the scenario file. Readers return 0, or -1 for what they do not understand. */
#ifndef PARSE_H
#define PARSE_H

#include "standin.h"

struct place {
    const char *path;
    int line, depth;
    enum { IN_NONE, IN_SYSTEM, IN_GPU, IN_CALLS } section;
    unsigned int chosen;            /* bit k: this section speaks of GPU k */
};

int complain(const struct place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *trim(char *text);
char *next_word(char **cursor);
char *split(char *word);
int parse_number(const char *text, int64_t *value);
int parse_real(const char *text, double *value);
int parse_set(const char *text, unsigned int *set, int limit);
nvmlReturn_t code_by_name(const char *text, int *ok);

/* scenario_gpu.c */
void prepare_gpu(struct gpu *gpu, int index);
int read_gpu_key(const struct place *place, const char *key, char *value);
int finish_gpu(const struct place *place, struct gpu *gpu);

#endif
