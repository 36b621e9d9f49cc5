/* Numbers, the values of a metric line of a known layout, and progress bars; see _quick.c. */
#include "_quick.h"

#include <float.h>
#include <math.h>

static text behind_number(text at, text end)
{
    while (at < end && (is_digit(*at) || is_letter(*at) || *at == '.' || *at == '+' || *at == '-'))
        at++;
    return at;
}

/* What ends a value that nobody asks for: in a dict a quote, a comma or a brace. */
static const unsigned char ends_other[2][256] = {
    {['{'] = 1, ['}'] = 1, [' '] = 1, [':'] = 1},
    {['{'] = 1, ['}'] = 1, [','] = 1, ['\''] = 1},
};

static text behind_other(text at, text end, int dict)
{
    const unsigned char *ends = ends_other[dict];
    while (at < end && !ends[*at])
        at++;
    return at;
}

/* Behind `np.float64(`, where it stands; `at` otherwise. */
static text behind_numpy(text at, text end)
{
    text from = at + 3, to;
    if (end - at < 5 || memcmp(at, "np.", 3))
        return at;
    for (to = from; to < end && (is_digit(*to) || is_letter(*to) || *to == '_'); to++)
        ;
    return to > from && to - from <= 12 && to < end && *to == '(' ? to + 1 : at;
}

/* Whether only white space is left. */
static int is_over(text at, text end)
{
    while (at < end && is_space(*at))
        at++;
    return at == end;
}

/* 0.00 up to 0.000000000, and nothing behind it. */
static int is_rounded_off(text at, text end)
{
    text zeros = at + 3, to = zeros;
    if (end - at < 4 || memcmp(at, "0.0", 3))
        return 0;
    while (to < end && *to == '0')
        to++;
    return to > zeros && to - zeros <= 8 && ((end - to >= 3 && !memcmp(to, " - ", 3)) || is_over(to, end));
}

static text behind_digits(text at, text end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
enum { MOST_EXACT = 22 };

#if defined(__SIZEOF_INT128__) && defined(__GNUC__)
enum { MOST_DIVIDED = 19 };

/* The double nearest to a number above 0 divided by a power of ten. Of the quotient 63 digits of two are found, of which
 * the last tells whether anything is left; turning that into a double rounds it once.
 */
static double nearest_quotient(unsigned long long whole, int power)
{
    unsigned long long divisor = 1;
    for (int each = 0; each < power; each++)
        divisor *= 10;
    int up = __builtin_clzll(whole), wide = 63 - __builtin_clzll(divisor);
    unsigned __int128 dividend = (unsigned __int128)(whole << up) << wide;
    unsigned long long quotient = (unsigned long long)(dividend / divisor);
    quotient |= dividend != (unsigned __int128)quotient * divisor;
    return ldexp((double)quotient, -up - wide);
}
#else
enum { MOST_DIVIDED = -1 };

static double nearest_quotient(unsigned long long whole, int power)
{
    return (double)whole / power; /* is never asked for */
}
#endif

/* A number times a power of ten where that is found at once; 0 where it is not. What a double holds exactly, times a
 * power that it holds exactly, is the nearest double (W. D. Clinger, "How to Read Floating Point Numbers Accurately",
 * PLDI 1990).
 */
static int is_scaled(unsigned long long whole, int power, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (whole >> 53 == 0 && -MOST_EXACT <= power && power <= MOST_EXACT) {
        *value = power < 0 ? (double)whole / powers[-power] : (double)whole * powers[power];
        return 1;
    }
    if (whole == 0 || power > 0 || -power > MOST_DIVIDED)
        return 0;
    *value = nearest_quotient(whole, -power);
    return 1;
}

/* What is read off at once: a number of at most 19 digits behind its first zeros, and a power of ten of two digits. */
static int is_short_decimal(text at, text to, double *value)
{
    unsigned long long whole = 0;
    int digits = 0, any = 0, power = 0, point = 0, negative = at < to && *at == '-';
    for (at += negative; at < to && digits <= 19 && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = 1;
            continue;
        }
        any = 1;
        whole = whole * 10 + (*at - '0');
        power -= point;
        digits += whole != 0;
    }
    if (!any || digits > 19)
        return 0;
    if (at < to && (*at == 'e' || *at == 'E')) { /* two digits: others are rare, and left to Python */
        int minus = to - at == 4 && at[1] == '-';
        if (to - at != 4 || !(minus || at[1] == '+') || !is_digit(at[2]) || !is_digit(at[3]))
            return 0;
        int told = (at[2] - '0') * 10 + (at[3] - '0');
        power += minus ? -told : told;
        at = to;
    }
    if (at != to || !is_scaled(whole, power, value))
        return 0;
    if (negative)
        *value = -*value;
    return 1;
}
#else
static int is_short_decimal(text at, text to, double *value)
{
    (void)at, (void)to, (void)value;
    return 0;
}
#endif

/* Whether a number stands from `at` to `to`, both within a bytes object, which ends with a NUL. */
static int is_number(text at, text to, double *value)
{
    char *stop;
    if (at == to)
        return 0;
    if (is_short_decimal(at, to, value))
        return 1;
    *value = PyOS_string_to_double((const char *)at, &stop, NULL);
    if (*value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return (text)stop == to;
}

/* Behind a step of at most 18 digits, and behind a slash and the count of all where that follows; NULL: none. */
static text behind_step(text from, text end, int of_all, long long *step)
{
    text to = behind_digits(from, end), all;
    if (to == from || to - from > 18)
        return NULL;
    for (*step = 0; from < to; from++)
        *step = *step * 10 + (*from - '0');
    if (!of_all)
        return to;
    if (to == end || *to != '/')
        return NULL;
    all = behind_digits(to + 1, end);
    return all > to + 1 ? all : NULL;
}

/* Behind a number; NULL where none is. */
static text behind_figure(text from, text end, int may_be_numpy, double *value)
{
    text inside = may_be_numpy ? behind_numpy(from, end) : from;
    text to = behind_number(inside, end);
    if (!is_number(inside, to, value))
        return NULL;
    if (inside == from)
        return to;
    return to < end && *to == ')' ? to + 1 : NULL;
}

/* Behind a value of a kind, whose number or step is told; NULL where there is none. */
static text behind_value(text from, text end, char kind, int dict, double *value, long long *step)
{
    text to;
    if (dict && from < end && *from == '\'')
        from++;
    if (kind == '-')
        to = behind_other(from, end, dict);
    else if (kind == 's' || kind == 'o')
        to = behind_step(from, end, kind == 'o', step);
    else if (kind == 'r' && is_rounded_off(from, end))
        return NULL;
    else
        to = behind_figure(from, end, !dict && kind == 'v', value);
    if (to == NULL || (kind == '-' && to == from && !dict))
        return NULL;
    return dict && to < end && *to == '\'' ? to + 1 : to;
}

int take_values(text at, text end, PyObject *words, const char *kinds, char *values, long long *step)
{
    int dict = kinds[0] == 'd';
    char *word;
    Py_ssize_t length, many = PyTuple_Size(words);
    double value;
    for (Py_ssize_t each = 0; each < many; each++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, each), &word, &length) < 0)
            return -1;
        if (end - at < length || memcmp(at, word, length))
            return 0;
        at += length;
        if (each == many - 1)
            break;
        char kind = kinds[each + 1];
        at = behind_value(at, end, kind, dict, &value, step);
        if (at == NULL)
            return 0;
        if (kind == 'v' || kind == 'r') {
            memcpy(values, &value, sizeof value);
            values += sizeof value;
        }
    }
    return is_over(at, end);
}

Py_ssize_t asked_for(const char *kinds, Py_ssize_t many)
{
    Py_ssize_t wanted = 0;
    for (Py_ssize_t each = 1; each < many; each++)
        wanted += kinds[each] == 'v' || kinds[each] == 'r';
    return wanted;
}

PyObject *values_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    char *line, *kinds;
    Py_ssize_t size, many, start;
    long long step = -1;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "four arguments are expected");
        return NULL;
    }
    start = PyLong_AsSsize_t(given[1]);
    if ((start == -1 && PyErr_Occurred()) || PyBytes_AsStringAndSize(given[0], &line, &size) < 0 ||
        PyBytes_AsStringAndSize(given[3], &kinds, &many) < 0)
        return NULL;
    if (start < 0 || start > size || many < 2 || PyTuple_Size(given[2]) != many) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a kind for each word but the last, behind that of the line");
        return NULL;
    }
    PyObject *values = PyBytes_FromStringAndSize(NULL, asked_for(kinds, many) * (Py_ssize_t)sizeof(double)), *told = NULL;
    if (values == NULL)
        return NULL;
    text from = (text)line;
    int taken = take_values(from + start, from + size, given[2], kinds, PyBytes_AsString(values), &step);
    if (taken > 0)
        told = step < 0 ? Py_BuildValue("(OO)", Py_None, values) : Py_BuildValue("(LO)", step, values);
    Py_DECREF(values);
    if (taken == 0)
        Py_RETURN_NONE;
    return told;
}

enum { LONGEST_WORDS = 80, LONGEST_BAR = 400, LONGEST_RATE = 200, MOST_FIGURES = 12 };

/* Behind 1 to 12 digits, whose number is told; NULL where they are none or more. */
static text behind_count(text from, text end, long long *told)
{
    text to = behind_digits(from, end);
    if (to == from || to - from > MOST_FIGURES)
        return NULL;
    for (*told = 0; from < to; from++)
        *told = *told * 10 + (*from - '0');
    return to;
}

/* Seconds of an iteration, told as such or as its inverse; 0: neither, or none were made yet. */
static int is_paced(text from, text end, double *pace)
{
    for (text at = from; end - at >= 4; at++) {
        int inverse = !memcmp(at, "it/s", 4);
        text first = at;
        if (!inverse && memcmp(at, "s/it", 4))
            continue;
        while (first > from && at - first < MOST_FIGURES && (is_digit(first[-1]) || first[-1] == '.'))
            first--;
        if (first == at)
            continue;
        if (!is_number(first, at, pace) || *pace == 0)
            return 0;
        *pace = inverse ? 1 / *pace : *pace;
        return 1;
    }
    return 0;
}

/* Where the words before a bar end, of which `wall` is the left edge; NULL where it is none. */
static text behind_words(text from, text wall)
{
    if (wall == from || wall[-1] != '%')
        return NULL;
    text percent = wall - 1, first = percent;
    while (first > from && percent - first < 3 && is_digit(first[-1]))
        first--;
    if (first == percent)
        return NULL;
    text end = first;
    while (end > from && first - end < 3 && end[-1] == ' ')
        end--;
    return end - from <= LONGEST_WORDS ? end : NULL;
}

/* Behind the `[` that follows the counts of a bar; NULL where it is none. */
static text behind_counts(text wall, text end, long long *done, long long *all)
{
    text at = wall + 1;
    while (at < end && at - wall <= LONGEST_BAR && *at != '|' && *at != '\r' && *at != '\n')
        at++;
    if (at == end || *at != '|')
        return NULL;
    for (at++; at < end && *at == ' '; at++)
        ;
    at = behind_count(at, end, done);
    if (at == NULL || at == end || *at != '/')
        return NULL;
    at = behind_count(at + 1, end, all);
    return at != NULL && end - at >= 2 && at[0] == ' ' && at[1] == '[' ? at + 2 : NULL;
}

int read_bar(text from, text end, struct bar *bar)
{
    while (from < end && is_space(*from))
        from++;
    while (end > from && is_space(end[-1]))
        end--;
    text wall = from < end ? memchr(from, '|', end - from) : NULL;
    text words = wall == NULL ? NULL : behind_words(from, wall);
    text rate = words == NULL ? NULL : behind_counts(wall, end, &bar->done, &bar->all), stop = rate;
    if (rate == NULL)
        return 0;
    while (stop < end && stop - rate < LONGEST_RATE && *stop != ']' && *stop != '\r' && *stop != '\n')
        stop++;
    if (stop == rate)
        return 0;
    bar->words = from;
    bar->length = words - from;
    bar->paced = is_paced(rate, stop, &bar->pace);
    return 1;
}

PyObject *bar_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    text start;
    Py_ssize_t size, numbers[2];
    struct bar bar;
    if (take_arguments(given, count, &start, &size, numbers) < 0)
        return NULL;
    if (!read_bar(start + numbers[0], start + (numbers[1] < size ? numbers[1] : size), &bar))
        Py_RETURN_NONE;
    if (!bar.paced)
        return Py_BuildValue("(y#LLO)", (const char *)bar.words, bar.length, bar.done, bar.all, Py_None);
    return Py_BuildValue("(y#LLd)", (const char *)bar.words, bar.length, bar.done, bar.all, bar.pace);
}
