/* The truth: a step function of time with exact integrals. Everything that samples the GPU is computed from it. */
#include "standin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A channel that a step does not name keeps the value of the step before it. */
int activity_add(struct activity *activity, double at_s, const double *values, const unsigned char *given) {
    if (activity->count && at_s <= activity->steps[activity->count - 1].at_s) return -1;
    if (!activity->count && at_s != 0.0) return -1;
    if (activity->count == activity->room) {
        size_t room = activity->room ? activity->room * 2 : 16;
        struct step *steps = realloc(activity->steps, room * sizeof *steps);
        if (!steps) return -1;
        activity->steps = steps;
        activity->room = room;
    }
    struct step *step = &activity->steps[activity->count];
    if (activity->count) *step = step[-1];
    else memset(step, 0, sizeof *step);
    step->at_s = at_s;
    for (int channel = 0; channel < CHANNEL_COUNT; channel++) {
        if (!given[channel]) continue;
        step->value[channel] = values[channel];
        activity->given[channel] = 1;
    }
    activity->count++;
    return 0;
}

int activity_finish(struct activity *activity) {
    if (!activity->count) return 0;
    if (activity->repeat_s > 0.0 && activity->repeat_s <= activity->steps[activity->count - 1].at_s) return -1;
    free(activity->before);
    activity->before = calloc(activity->count, sizeof *activity->before);
    if (!activity->before) return -1;
    for (size_t k = 1; k < activity->count; k++) {
        double width = activity->steps[k].at_s - activity->steps[k - 1].at_s;
        for (int channel = 0; channel < CHANNEL_COUNT; channel++)
            activity->before[k][channel] =
                activity->before[k - 1][channel] + width * activity->steps[k - 1].value[channel];
    }
    return 0;
}

static size_t step_at(const struct activity *activity, double at_s) {
    size_t low = 0, high = activity->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (activity->steps[middle].at_s <= at_s) low = middle;
        else high = middle;
    }
    return low;
}

/* Splits a time into whole repetitions (returned) and the rest. */
static double repetitions(const struct activity *activity, double at_s, double *rest_s) {
    *rest_s = at_s;
    if (activity->repeat_s <= 0.0) return 0.0;
    double whole = floor(at_s / activity->repeat_s);
    *rest_s = at_s - whole * activity->repeat_s;
    return whole;
}

double activity_at(const struct activity *activity, enum channel channel, double at_s) {
    if (!activity->count) return 0.0;
    double rest_s;
    repetitions(activity, at_s, &rest_s);
    return activity->steps[step_at(activity, rest_s)].value[channel];
}

static double integral_once(const struct activity *activity, enum channel channel, double to_s) {
    size_t k = step_at(activity, to_s);
    return activity->before[k][channel] + (to_s - activity->steps[k].at_s) * activity->steps[k].value[channel];
}

/* From time 0 to `to_s`; before time 0 the first step's values held. */
double activity_integral(const struct activity *activity, enum channel channel, double to_s) {
    if (!activity->count) return 0.0;
    double rest_s, whole = repetitions(activity, to_s, &rest_s), sum = 0.0;
    if (whole != 0.0) sum = whole * integral_once(activity, channel, activity->repeat_s);
    return sum + integral_once(activity, channel, rest_s);
}

double activity_mean(const struct activity *activity, enum channel channel, double from_s, double to_s) {
    if (to_s <= from_s) return activity_at(activity, channel, to_s);
    double work = activity_integral(activity, channel, to_s) - activity_integral(activity, channel, from_s);
    return work / (to_s - from_s);
}

static double bits_once(const struct activity *activity, enum channel channel, uint64_t bits, double to_s) {
    double sum = 0.0;
    for (size_t k = 0; k < activity->count && activity->steps[k].at_s < to_s; k++) {
        double end = k + 1 < activity->count ? fmin(activity->steps[k + 1].at_s, to_s) : to_s;
        if ((uint64_t)activity->steps[k].value[channel] & bits) sum += end - activity->steps[k].at_s;
    }
    return sum;
}

/* How long any of `bits` was set in a channel that holds bits, from 0 to `to_s`. */
double activity_time_with_bits(const struct activity *activity, enum channel channel, uint64_t bits, double to_s) {
    double rest_s, whole = repetitions(activity, to_s, &rest_s);
    double sum = whole > 0.0 ? whole * bits_once(activity, channel, bits, activity->repeat_s) : 0.0;
    return sum + bits_once(activity, channel, bits, rest_s);
}
