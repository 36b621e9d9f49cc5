/* What is done with every byte and every metric of a log, compiled: see quick.py and figures.py, which say what each
 * function gives and do the same where this was not built. Arguments are bytes objects, which nobody can change
 * meanwhile. _figures.c reads numbers and bars, _rows.c what is made of them.
 */
#include "_quick.h"

#define ESCAPE 0x1b
#define BELL 0x07

enum { MOST_PARAMETERS = 64, MOST_INTERMEDIATE = 8, LONGEST_TITLE = 2048 };

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
int take_arguments(PyObject *const *given, Py_ssize_t count, text *start, Py_ssize_t *size, Py_ssize_t numbers[2])
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
    if (take_arguments(given, count, &start, &size, numbers) < 0)
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
    if (take_arguments(given, count, &start, &size, numbers) < 0)
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
    text start = (text)bytes, from = start + (at < size ? at : size);
    return Py_BuildValue("(nn)", piece_begin(start, from) - start, piece_end(from, start + size) - start);
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
    {"row_at", (PyCFunction)(void (*)(void))row_at, METH_FASTCALL, NULL},
    {"column_of", (PyCFunction)(void (*)(void))column_of, METH_FASTCALL, NULL},
    {"buckets_of", (PyCFunction)(void (*)(void))buckets_of, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_quick", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__quick(void)
{
    return PyModule_Create(&module);
}
