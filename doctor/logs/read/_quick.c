/* What is done with every byte and every metric of a log, compiled: see quick.py, which says what each function gives and does the same
 * where this was not built. Arguments are bytes objects, which nobody can change meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <float.h>
#include <string.h>

#define ESCAPE 0x1b
#define BELL 0x07

enum { MOST_PARAMETERS = 64, MOST_INTERMEDIATE = 8, LONGEST_TITLE = 2048 };

typedef const unsigned char *text;

static int is_between(unsigned char byte, unsigned char first, unsigned char last)
{
    return first <= byte && byte <= last;
}

/* Where bytes of a range that start at `at` end, at most so many. */
static text behind(text at, text end, unsigned char first, unsigned char last, Py_ssize_t most)
{
    text limit = end - at > most ? at + most : end;
    while (at < limit && is_between(*at, first, last))
        at++;
    return at;
}

/* ESC [ parameters, intermediate bytes, a final byte; 0 where it is none. */
static Py_ssize_t sequence_length(text start, text end)
{
    text at = behind(start + 2, end, '0', '?', MOST_PARAMETERS);
    at = behind(at, end, ' ', '/', MOST_INTERMEDIATE);
    return at < end && is_between(*at, '@', '~') ? at + 1 - start : 0;
}

/* ESC ] a title or a link, ended by BEL or ESC \; 0 where it is none. */
static Py_ssize_t title_length(text start, text end)
{
    text at = start + 2, limit = end - at > LONGEST_TITLE ? at + LONGEST_TITLE : end;
    while (at < limit && *at != BELL && *at != ESCAPE && *at != '\r' && *at != '\n')
        at++;
    if (at < end && *at == BELL)
        return at + 1 - start;
    return end - at > 1 && at[0] == ESCAPE && at[1] == '\\' ? at + 2 - start : 0;
}

/* Length of the terminal code at an ESC, 0 where none is. */
static Py_ssize_t code_length(text start, text end)
{
    if (end - start < 2)
        return 0;
    switch (start[1]) {
    case '[':
        return sequence_length(start, end);
    case ']':
        return title_length(start, end);
    default:
        return is_between(start[1], '@', '_') ? 2 : 0;
    }
}

/* The first code at or behind `from`, and its length; `end` and 0 where there is none. */
static text next_code(text from, text end, Py_ssize_t *length)
{
    text at = from;
    while ((at = memchr(at, ESCAPE, end - at)) != NULL) {
        *length = code_length(at, end);
        if (*length)
            return at;
        at++; /* an ESC that begins no code stays */
    }
    *length = 0;
    return end;
}

static PyObject *cut_codes(PyObject *Py_UNUSED(module), PyObject *raw)
{
    char *bytes;
    Py_ssize_t size, length, cut = 0;
    if (PyBytes_AsStringAndSize(raw, &bytes, &size) < 0)
        return NULL;
    text end = (text)bytes + size;
    for (text at = next_code((text)bytes, end, &length); length; at = next_code(at + length, end, &length))
        cut += length;
    if (!cut) {
        Py_INCREF(raw);
        return raw;
    }
    PyObject *left = PyBytes_FromStringAndSize(NULL, size - cut);
    if (left == NULL)
        return NULL;
    char *to = PyBytes_AsString(left);
    for (text from = (text)bytes; from < end; from += length) {
        text at = next_code(from, end, &length);
        memcpy(to, from, at - from);
        to += at - from;
        from = at;
    }
    return left;
}

/* Take (bytes, position, position or count); the positions are cut to what there is, as a slice's are. */
static int arguments(PyObject *const *given, Py_ssize_t count, text *start, Py_ssize_t *size, Py_ssize_t numbers[2])
{
    char *bytes;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "three arguments are expected");
        return -1;
    }
    if (PyBytes_AsStringAndSize(given[0], &bytes, size) < 0)
        return -1;
    *start = (text)bytes;
    for (int each = 0; each < 2; each++) {
        numbers[each] = PyLong_AsSsize_t(given[each + 1]);
        if (numbers[each] == -1 && PyErr_Occurred())
            return -1;
        if (numbers[each] < 0) {
            PyErr_SetString(PyExc_ValueError, "positions and counts are not negative");
            return -1;
        }
    }
    if (numbers[0] > *size)
        numbers[0] = *size;
    return 0;
}

static PyObject *count_line_feeds(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    text start;
    Py_ssize_t size, numbers[2], found = 0;
    if (arguments(given, count, &start, &size, numbers) < 0)
        return NULL;
    text at = start + numbers[0], end = start + (numbers[1] < size ? numbers[1] : size);
    while (at < end) { /* sums of one byte each, which compilers make vectors of */
        text stop = end - at > 255 ? at + 255 : end;
        unsigned char few = 0;
        for (; at < stop; at++)
            few += *at == '\n';
        found += few;
    }
    return PyLong_FromSsize_t(found);
}

static PyObject *behind_line_feeds(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    text start;
    Py_ssize_t size, numbers[2];
    if (arguments(given, count, &start, &size, numbers) < 0)
        return NULL;
    text at = start + numbers[0], end = start + size;
    for (Py_ssize_t left = numbers[1]; left > 0; left--) {
        text feed = memchr(at, '\n', end - at);
        if (feed == NULL)
            break;
        at = feed + 1;
    }
    return PyLong_FromSsize_t(at - start);
}

static int is_digit(unsigned char byte)
{
    return is_between(byte, '0', '9');
}

static int is_letter(unsigned char byte)
{
    return is_between(byte | 0x20, 'a', 'z');
}

static int is_space(unsigned char byte)
{
    return byte == ' ' || is_between(byte, '\t', '\r');
}

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

/* What is read off at once: at most 15 digits and a power of ten that a double holds exactly, of which one division or
 * multiplication gives the nearest double (W. D. Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990).
 */
static int is_short_decimal(text at, text to, double *value)
{
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int most = sizeof powers / sizeof *powers - 1;
    long long whole = 0;
    int digits = 0, power = 0, point = 0, negative = at < to && *at == '-';
    for (at += negative; at < to && digits <= 15 && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = 1;
            continue;
        }
        whole = whole * 10 + (*at - '0');
        power -= point;
        digits++;
    }
    if (!digits || digits > 15)
        return 0;
    if (at < to && (*at == 'e' || *at == 'E')) { /* two digits: others are rare, and left to Python */
        int minus = to - at == 4 && at[1] == '-';
        if (to - at != 4 || !(minus || at[1] == '+') || !is_digit(at[2]) || !is_digit(at[3]))
            return 0;
        int told = (at[2] - '0') * 10 + (at[3] - '0');
        power += minus ? -told : told;
        at = to;
    }
    if (at != to || power < -most || power > most)
        return 0;
    *value = power < 0 ? (double)whole / powers[-power] : (double)whole * powers[power];
    if (negative)
        *value = -*value;
    return 1;
#else
    (void)at, (void)to, (void)value;
    return 0;
#endif
}

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

/* The values of a line that begins at `at`, one after another, as far as they are asked for; 0 where it is of another
 * layout, -1 with an error set. */
static int take_values(text at, text end, PyObject *words, const char *kinds, char *values, long long *step)
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

static PyObject *values_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    char *line, *kinds;
    Py_ssize_t size, many, start, wanted = 0;
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
    for (Py_ssize_t each = 1; each < many; each++)
        wanted += kinds[each] == 'v' || kinds[each] == 'r';
    PyObject *values = PyBytes_FromStringAndSize(NULL, wanted * (Py_ssize_t)sizeof(double)), *told = NULL;
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

/* Where the piece of text around a position begins and ends, between two line feeds or carriage returns. */
static PyObject *piece_around(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    char *bytes;
    Py_ssize_t size, at;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "two arguments are expected");
        return NULL;
    }
    at = PyLong_AsSsize_t(given[1]);
    if ((at == -1 && PyErr_Occurred()) || PyBytes_AsStringAndSize(given[0], &bytes, &size) < 0)
        return NULL;
    if (at < 0) {
        PyErr_SetString(PyExc_ValueError, "positions and counts are not negative");
        return NULL;
    }
    text start = (text)bytes, from = start + (at < size ? at : size), to = from, end = start + size, feed, carriage;
    while (from > start && from[-1] != '\n' && from[-1] != '\r')
        from--;
    feed = memchr(to, '\n', end - to);
    end = feed != NULL ? feed : end;
    carriage = memchr(to, '\r', end - to);
    end = carriage != NULL ? carriage : end;
    return Py_BuildValue("(nn)", from - start, end - start);
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

/* Seconds of an iteration, told as such or as its inverse; NULL without an error: neither, or none were made yet. */
static PyObject *pace_in(text from, text end)
{
    for (text at = from; end - at >= 4; at++) {
        int inverse = !memcmp(at, "it/s", 4);
        text first = at;
        double figure;
        if (!inverse && memcmp(at, "s/it", 4))
            continue;
        while (first > from && at - first < MOST_FIGURES && (is_digit(first[-1]) || first[-1] == '.'))
            first--;
        if (first == at)
            continue;
        if (!is_number(first, at, &figure) || figure == 0)
            return NULL;
        return PyFloat_FromDouble(inverse ? 1 / figure : figure);
    }
    return NULL;
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

static PyObject *bar_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    text start;
    Py_ssize_t size, numbers[2];
    long long done, all;
    if (arguments(given, count, &start, &size, numbers) < 0)
        return NULL;
    text from = start + numbers[0], end = start + (numbers[1] < size ? numbers[1] : size);
    while (from < end && is_space(*from))
        from++;
    while (end > from && is_space(end[-1]))
        end--;
    text wall = from < end ? memchr(from, '|', end - from) : NULL;
    text words = wall == NULL ? NULL : behind_words(from, wall);
    text rate = words == NULL ? NULL : behind_counts(wall, end, &done, &all), stop = rate;
    if (rate == NULL)
        Py_RETURN_NONE;
    while (stop < end && stop - rate < LONGEST_RATE && *stop != ']' && *stop != '\r' && *stop != '\n')
        stop++;
    if (stop == rate)
        Py_RETURN_NONE;
    PyObject *pace = pace_in(rate, stop);
    if (pace == NULL && PyErr_Occurred())
        return NULL;
    if (pace == NULL)
        return Py_BuildValue("(y#LLO)", (const char *)from, words - from, done, all, Py_None);
    return Py_BuildValue("(y#LLN)", (const char *)from, words - from, done, all, pace);
}

/* Add (number of a literal, its last known place) to what was found. */
static int add_found(PyObject *found, PyObject *number, Py_ssize_t place)
{
    PyObject *at = PyLong_FromSsize_t(place), *both;
    if (at == NULL)
        return -1;
    both = PyTuple_Pack(2, number, at);
    Py_DECREF(at);
    if (both == NULL)
        return -1;
    int failed = PyList_Append(found, both);
    Py_DECREF(both);
    return failed;
}

/* Note the literals of a beginning, (length, numbers, literals), that stands before `end`. */
static int note_literals(PyObject *beginning, PyObject *data, PyObject *found, Py_ssize_t end)
{
    char *bytes, *literal;
    Py_ssize_t size, length, start;
    PyObject *told = PyTuple_GetItem(beginning, 0), *numbers = PyTuple_GetItem(beginning, 1),
             *literals = PyTuple_GetItem(beginning, 2);
    if (told == NULL || numbers == NULL || literals == NULL || PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return -1;
    Py_ssize_t many = PyTuple_Size(literals);
    if (many == 0) {
        PyObject *only = PyTuple_GetItem(numbers, 0);
        return only == NULL ? -1 : add_found(found, only, end - 1);
    }
    start = end - PyLong_AsSsize_t(told);
    if (PyErr_Occurred())
        return -1;
    for (Py_ssize_t each = 0; each < many; each++) {
        PyObject *number = PyTuple_GetItem(numbers, each);
        if (number == NULL || PyBytes_AsStringAndSize(PyTuple_GetItem(literals, each), &literal, &length) < 0)
            return -1;
        if (start < 0 || start > size || size - start < length || memcmp(bytes + start, literal, length))
            continue;
        if (add_found(found, number, end - 1) < 0)
            return -1;
    }
    return 0;
}

/* What hyperscan calls: (beginning, start, end, flags, context). */
static PyObject *note(PyObject *held, PyObject *const *given, Py_ssize_t count)
{
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "five arguments are expected");
        return NULL;
    }
    Py_ssize_t number = PyLong_AsSsize_t(given[0]), end = PyLong_AsSsize_t(given[2]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *beginning = PyTuple_GetItem(PyTuple_GetItem(held, 2), number);
    if (beginning == NULL || note_literals(beginning, PyTuple_GetItem(held, 0), PyTuple_GetItem(held, 1), end) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef note_method = {"note", (PyCFunction)(void (*)(void))note, METH_FASTCALL, NULL};

static PyObject *literal_noter(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    if (count != 3 || !PyBytes_Check(given[0]) || !PyList_Check(given[1]) || !PyTuple_Check(given[2])) {
        PyErr_SetString(PyExc_TypeError, "bytes, a list and a tuple are expected");
        return NULL;
    }
    PyObject *held = PyTuple_Pack(3, given[0], given[1], given[2]);
    if (held == NULL)
        return NULL;
    PyObject *made = PyCFunction_New(&note_method, held);
    Py_DECREF(held);
    return made;
}

static PyMethodDef methods[] = {
    {"cut_codes", cut_codes, METH_O, NULL},
    {"count_line_feeds", (PyCFunction)(void (*)(void))count_line_feeds, METH_FASTCALL, NULL},
    {"behind_line_feeds", (PyCFunction)(void (*)(void))behind_line_feeds, METH_FASTCALL, NULL},
    {"values_of", (PyCFunction)(void (*)(void))values_of, METH_FASTCALL, NULL},
    {"piece_around", (PyCFunction)(void (*)(void))piece_around, METH_FASTCALL, NULL},
    {"literal_noter", (PyCFunction)(void (*)(void))literal_noter, METH_FASTCALL, NULL},
    {"bar_of", (PyCFunction)(void (*)(void))bar_of, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_quick", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__quick(void)
{
    return PyModule_Create(&module);
}
