/* What is done with every byte and every metric of a log, compiled: see quick.py, which says what each function gives and does the same
 * where this was not built. Arguments are bytes objects, which nobody can change meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
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

/* The number from `at` to `to`, both within a bytes object, which ends with a NUL; NULL without an error: none. */
static PyObject *number_of(text at, text to)
{
    char *stop;
    double value;
    if (at == to)
        return NULL;
    value = PyOS_string_to_double((const char *)at, &stop, NULL);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return (text)stop == to ? PyFloat_FromDouble(value) : NULL;
}

/* A step of at most 18 digits; NULL without an error: none. */
static PyObject *step_of(text at, text to)
{
    long long step = 0;
    if (at == to || to - at > 18)
        return NULL;
    for (; at < to; at++)
        step = step * 10 + (*at - '0');
    return PyLong_FromLongLong(step);
}

/* A value of kind `kind` at `*at`, which is moved behind it; NULL where it is none, None where nobody asks for it. */
static PyObject *value_at(text *at, text end, char kind, int dict)
{
    PyObject *found;
    int numpy = 0;
    text from, to;
    if (dict && *at < end && **at == '\'')
        (*at)++;
    if (kind == 'r' && is_rounded_off(*at, end))
        return NULL;
    if (!dict && kind == 'v') {
        from = behind_numpy(*at, end);
        numpy = from != *at;
        *at = from;
    }
    from = *at;
    if (kind == '-') {
        to = behind_other(from, end, dict);
        if (to == from && !dict)
            return NULL;
        found = Py_None;
        Py_INCREF(found);
    } else if (kind == 's' || kind == 'o') {
        for (to = from; to < end && is_digit(*to); to++)
            ;
        found = step_of(from, to);
        if (kind == 'o') { /* 12/100: of all */
            from = to + 1;
            if (to < end && *to == '/')
                for (to = from; to < end && is_digit(*to); to++)
                    ;
            if (to == from || to < from)
                Py_CLEAR(found);
        }
    } else {
        to = behind_number(from, end);
        found = number_of(from, to);
        if (numpy) {
            if (to < end && *to == ')')
                to++;
            else
                Py_CLEAR(found);
        }
    }
    if (dict && to < end && *to == '\'')
        to++;
    *at = to;
    return found;
}

static PyObject *values_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    char *line, *kinds, *word;
    Py_ssize_t size, many, length, start, filled = 0, wanted = 0;
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
    int dict = kinds[0] == 'd';
    for (Py_ssize_t each = 1; each < many; each++)
        wanted += kinds[each] == 'v' || kinds[each] == 'r';
    PyObject *values = PyTuple_New(wanted), *step = Py_None, *one;
    if (values == NULL)
        return NULL;
    Py_INCREF(step);
    text at = (text)line + start, end = (text)line + size;
    for (Py_ssize_t each = 0; each < many; each++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(given[2], each), &word, &length) < 0)
            goto failed;
        if (end - at < length || memcmp(at, word, length))
            goto nothing;
        at += length;
        if (each == many - 1)
            break;
        one = value_at(&at, end, kinds[each + 1], dict);
        if (one == NULL)
            goto nothing;
        switch (kinds[each + 1]) {
        case '-':
            Py_DECREF(one);
            break;
        case 's':
        case 'o':
            Py_DECREF(step);
            step = one;
            break;
        default:
            if (PyTuple_SetItem(values, filled++, one) < 0)
                goto failed;
        }
    }
    if (!is_over(at, end))
        goto nothing;
    one = PyTuple_Pack(2, step, values);
    Py_DECREF(step);
    Py_DECREF(values);
    return one;
nothing:
    if (!PyErr_Occurred()) {
        Py_DECREF(step);
        Py_DECREF(values);
        Py_RETURN_NONE;
    }
failed:
    Py_DECREF(step);
    Py_DECREF(values);
    return NULL;
}

static PyMethodDef methods[] = {
    {"cut_codes", cut_codes, METH_O, NULL},
    {"count_line_feeds", (PyCFunction)(void (*)(void))count_line_feeds, METH_FASTCALL, NULL},
    {"behind_line_feeds", (PyCFunction)(void (*)(void))behind_line_feeds, METH_FASTCALL, NULL},
    {"values_of", (PyCFunction)(void (*)(void))values_of, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_quick", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__quick(void)
{
    return PyModule_Create(&module);
}
