/* Whole metric lines with the bars around them, and columns made of many; see _quick.c. */
#include "_quick.h"

#include <math.h>

enum { LONGEST_HEAD = 300, NEAR = 6, FAR = 1000 };

/* Where some bytes stand first between two positions; NULL: nowhere. */
static text first_of(text from, text end, const char *wanted, Py_ssize_t length)
{
    for (text at = from; end - at >= length && (at = memchr(at, wanted[0], end - at - length + 1)) != NULL; at++)
        if (!memcmp(at, wanted, length))
            return at;
    return NULL;
}

/* Whether metrics that stand behind these words are what they are without them; see `may_follow` of figures.py. */
static int may_follow(text head, text end, int dict)
{
    if (dict)
        return !(end - head >= 2 && end[-2] == ':' && end[-1] == ' ') && memchr(head, '\'', end - head) == NULL;
    return (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n' || end[-1] == ')' || end[-1] == ']') &&
           first_of(head, end, "{", 1) == NULL && first_of(head, end, "tps: ", 5) == NULL &&
           first_of(head, end, "| Step: ", 8) == NULL;
}

/* A bar without words as (done, all, seconds), False where whoever asks must look himself. */
static PyObject *plain_bar(text from, text end)
{
    struct bar bar;
    if (!read_bar(from, end, &bar) || bar.length)
        return PyBool_FromLong(0);
    if (!bar.paced)
        return Py_BuildValue("(LLO)", bar.done, bar.all, Py_None);
    return Py_BuildValue("(LLd)", bar.done, bar.all, bar.pace);
}

static PyObject *nothing(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* The last training bar before a line that starts at `line`. */
static PyObject *bar_before(text start, text end, text line, Py_ssize_t most)
{
    text from = line - start > most ? line - most : start, at = line - 2;
    while (at >= from && !(at[0] == '%' && at[1] == '|'))
        at--;
    if (at < from)
        return nothing();
    text first = piece_begin(start, at);
    return first > from ? plain_bar(first, piece_end(at, end)) : PyBool_FromLong(0);
}

/* The training bar behind a line that ends at `line`; `followed`: another row comes before one. */
static PyObject *bar_behind(text start, text end, text line, Py_ssize_t most, int *followed)
{
    text stop = end - line > most ? line + most : end, at = line;
    *followed = end - line >= 3 && !memcmp(line, "\n{'", 3);
    if (*followed)
        return nothing();
    text percent = first_of(line, stop, "%|", 2);
    if (percent == NULL) {
        while (at < stop && (*at == '\r' || *at == '\n'))
            at++;
        *followed = stop - at >= 2 && at[0] == '{' && at[1] == '\'';
        return nothing();
    }
    text first = piece_begin(start, percent), last = piece_end(percent, end);
    if (last - line < FAR && first - line < NEAR && (first <= line || first_of(line, first, "{'", 2) == NULL))
        return plain_bar(first, last);
    return PyBool_FromLong(0);
}

/* The text of a block, a line in it, and how much around the line is looked at. */
struct place {
    text start, end, line, stop;
    Py_ssize_t before, behind;
};

/* The row of a line: (number, step, names, values, head, bar before, bar behind, followed). */
static PyObject *made_row(PyObject *number, PyObject *names, PyObject *values, long long step, text begin, int placed,
                          const struct place *at)
{
    int followed = 0;
    text head = begin - at->line > LONGEST_HEAD ? begin - LONGEST_HEAD : at->line;
    PyObject *before = bar_before(at->start, at->end, at->line, at->before);
    PyObject *behind = placed ? nothing() : bar_behind(at->start, at->end, at->stop, at->behind, &followed);
    if (before == NULL || behind == NULL) {
        Py_XDECREF(before);
        Py_XDECREF(behind);
        return NULL;
    }
    PyObject *more = PyBool_FromLong(followed), *told = step < 0 ? nothing() : PyLong_FromLongLong(step);
    PyObject *words = PyBytes_FromStringAndSize((const char *)head, begin - head), *row = NULL;
    if (told != NULL && words != NULL)
        row = PyTuple_Pack(8, number, told, names, values, words, before, behind, more);
    Py_DECREF(before);
    Py_DECREF(behind);
    Py_DECREF(more);
    Py_XDECREF(told);
    Py_XDECREF(words);
    return row;
}

/* The row of a line by one layout, (words, kinds, names, first, placed); None where it is of another one. */
static PyObject *row_by(PyObject *layout, PyObject *number, const struct place *at)
{
    char *kinds, *first;
    Py_ssize_t many, length;
    long long step = -1;
    PyObject *words = PyTuple_GetItem(layout, 0), *names = PyTuple_GetItem(layout, 2), *placed = PyTuple_GetItem(layout, 4);
    if (words == NULL || names == NULL || placed == NULL ||
        PyBytes_AsStringAndSize(PyTuple_GetItem(layout, 1), &kinds, &many) < 0 ||
        PyBytes_AsStringAndSize(PyTuple_GetItem(layout, 3), &first, &length) < 0)
        return NULL;
    if (many < 2 || PyTuple_Size(words) != many) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a kind for each word but the last, behind that of the line");
        return NULL;
    }
    text begin = first_of(at->line, at->stop, first, length);
    if (begin == NULL || (begin > at->line && !may_follow(at->line, begin, kinds[0] == 'd')))
        return nothing();
    PyObject *values = PyBytes_FromStringAndSize(NULL, asked_for(kinds, many) * (Py_ssize_t)sizeof(double)), *row;
    if (values == NULL)
        return NULL;
    int taken = take_values(begin, at->stop, words, kinds, PyBytes_AsString(values), &step);
    if (taken > 0)
        row = made_row(number, names, values, step, begin, step >= 0 || PyObject_IsTrue(placed), at);
    else
        row = taken ? NULL : nothing();
    Py_DECREF(values);
    return row;
}

PyObject *row_at(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    char *bytes;
    Py_ssize_t size, numbers[4];
    if (count != 7 || !PyList_Check(given[4])) {
        PyErr_SetString(PyExc_TypeError, "seven arguments are expected, the fifth a list");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(given[1], &bytes, &size) < 0)
        return NULL;
    for (int each = 0; each < 4; each++) {
        numbers[each] = PyLong_AsSsize_t(given[each < 2 ? each + 2 : each + 3]);
        if (numbers[each] == -1 && PyErr_Occurred())
            return NULL;
    }
    if (numbers[0] < 0 || numbers[1] < numbers[0] || numbers[1] > size || numbers[2] < 0 || numbers[3] < 0) {
        PyErr_SetString(PyExc_ValueError, "a line stands inside the text, and counts are not negative");
        return NULL;
    }
    text start = (text)bytes;
    struct place at = {start, start + size, start + numbers[0], start + numbers[1], numbers[2], numbers[3]};
    for (Py_ssize_t each = 0; each < PyList_Size(given[4]); each++) {
        PyObject *row = row_by(PyList_GetItem(given[4], each), given[0], &at);
        if (row != Py_None)
            return row;
        Py_DECREF(row);
    }
    return nothing();
}

/* How many doubles there are, and the first of every so many; -1 with an error set. */
static Py_ssize_t doubles(PyObject *const *given, Py_ssize_t count, text *at, Py_ssize_t *place, Py_ssize_t *width)
{
    char *bytes;
    Py_ssize_t size;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "three arguments are expected");
        return -1;
    }
    *place = PyLong_AsSsize_t(given[1]);
    *width = PyLong_AsSsize_t(given[2]);
    if (PyErr_Occurred() || PyBytes_AsStringAndSize(given[0], &bytes, &size) < 0)
        return -1;
    if (*place < 0 || *width <= *place) {
        PyErr_SetString(PyExc_ValueError, "a place in a row is less than its width");
        return -1;
    }
    *at = (text)bytes;
    return size / (Py_ssize_t)sizeof(double) / *width;
}

PyObject *column_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    text at;
    Py_ssize_t place, width, rows = doubles(given, count, &at, &place, &width);
    double value, low = INFINITY, high = -INFINITY, sum = 0;
    if (rows < 0)
        return NULL;
    PyObject *column = PyTuple_New(rows);
    for (Py_ssize_t each = 0; column != NULL && each < rows; each++) {
        memcpy(&value, at + (each * width + place) * (Py_ssize_t)sizeof value, sizeof value);
        sum += value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        PyObject *one = PyFloat_FromDouble(value);
        if (one == NULL || PyTuple_SetItem(column, each, one) < 0)
            Py_CLEAR(column);
    }
    if (column == NULL)
        return NULL;
    int finite = isfinite(sum);
    return Py_BuildValue("(NNdd)", column, PyBool_FromLong(finite), finite ? low : INFINITY, finite ? high : -INFINITY);
}

/* Add the bucket of values `from` up to `to` to a list; see `plain_buckets_of` of figures.py. */
static int add_bucket(PyObject *found, PyObject *places, PyObject *values, Py_ssize_t from, Py_ssize_t to)
{
    Py_ssize_t least = from, greatest = from;
    double low = 0, high = 0;
    for (Py_ssize_t each = from; each < to; each++) {
        double value = PyFloat_AsDouble(PyList_GetItem(values, each));
        if (value == -1.0 && PyErr_Occurred())
            return -1;
        if (each == from || value < low)
            low = value, least = each;
        if (each == from || value > high)
            high = value, greatest = each;
    }
    const Py_ssize_t told[4] = {from, least, greatest, to - 1};
    PyObject *bucket = PyTuple_New(8);
    for (int each = 0; bucket != NULL && each < 8; each++) {
        PyObject *one = PyList_GetItem(each % 2 ? values : places, told[each / 2]);
        Py_XINCREF(one);
        if (one == NULL || PyTuple_SetItem(bucket, each, one) < 0)
            Py_CLEAR(bucket);
    }
    if (bucket == NULL)
        return -1;
    int failed = PyList_Append(found, bucket);
    Py_DECREF(bucket);
    return failed;
}

PyObject *buckets_of(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    if (count != 4 || !PyList_Check(given[0]) || !PyList_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "two lists and two numbers are expected");
        return NULL;
    }
    Py_ssize_t start = PyLong_AsSsize_t(given[2]), width = PyLong_AsSsize_t(given[3]), many = PyList_Size(given[1]);
    if (PyErr_Occurred())
        return NULL;
    if (start < 0 || width < 1) {
        PyErr_SetString(PyExc_ValueError, "a bucket holds a value at least");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t from = start; found != NULL && from < many; from += width)
        if (add_bucket(found, given[0], given[1], from, many - from > width ? from + width : many) < 0)
            Py_CLEAR(found);
    return found;
}
