/* What the parts of the compiled module share; see _quick.c. */
#ifndef DOCTOR_QUICK_H
#define DOCTOR_QUICK_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <string.h>

typedef const unsigned char *text;

static inline int is_between(unsigned char byte, unsigned char first, unsigned char last)
{
    return first <= byte && byte <= last;
}

static inline int is_digit(unsigned char byte)
{
    return is_between(byte, '0', '9');
}

static inline int is_letter(unsigned char byte)
{
    return is_between(byte | 0x20, 'a', 'z');
}

static inline int is_space(unsigned char byte)
{
    return byte == ' ' || is_between(byte, '\t', '\r');
}

/* Where a piece of text begins that goes on at `at`: behind a line feed or a carriage return, or where all begins. */
static inline text piece_begin(text start, text at)
{
    while (at > start && at[-1] != '\n' && at[-1] != '\r')
        at--;
    return at;
}

/* Where it ends. */
static inline text piece_end(text at, text end)
{
    text feed = memchr(at, '\n', end - at);
    end = feed != NULL ? feed : end;
    text carriage = memchr(at, '\r', end - at);
    return carriage != NULL ? carriage : end;
}

/* Take (bytes, position, position or count); the positions are cut to what there is, as a slice's are. */
int take_arguments(PyObject *const *given, Py_ssize_t count, text *start, Py_ssize_t *size, Py_ssize_t numbers[2]);

/* A progress bar: its words, how many steps are done and in all, seconds an iteration where `paced`. */
struct bar {
    text words;
    Py_ssize_t length;
    long long done, all;
    int paced;
    double pace;
};

/* Whether a bar stands between two positions. */
int read_bar(text from, text end, struct bar *bar);

/* The values of a line that begins at `at`, one after another, as far as they are asked for; 0 where it is of another
 * layout, -1 with an error set. */
int take_values(text at, text end, PyObject *words, const char *kinds, char *values, long long *step);

/* How many values a layout of so many kinds asks for. */
Py_ssize_t asked_for(const char *kinds, Py_ssize_t many);

PyObject *values_of(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *bar_of(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *row_at(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *column_of(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *buckets_of(PyObject *module, PyObject *const *given, Py_ssize_t count);

#endif
