/* tb_npu_plugin.scan._native: the walker as a Python type. Stable ABI, so one build serves Python 3.9 and later. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "walker.h"

typedef struct {
    PyObject_HEAD
    Walker walker;
    uint8_t *block; /* the last block read of the file */
    size_t block_size, block_room;
    int busy; /* a thread runs without the GIL */
} Object;

static int usable(Object *self) {
    if (self->busy) PyErr_SetString(PyExc_RuntimeError, "another thread uses this walker");
    return !self->busy;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long seed;
    Py_ssize_t rows;
    static char *names[] = {"seed", "rows", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Kn", names, &seed, &rows)) return NULL;
    if (rows < 1) {
        PyErr_SetString(PyExc_ValueError, "rows must be positive");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Object *self = (Object *)allocate(type, 0);
    if (self && !walker_init(&self->walker, seed, (size_t)rows)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void object_dealloc(Object *self) {
    PyTypeObject *type = Py_TYPE(self);
    walker_free(&self->walker);
    free(self->block);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Reads up to `size` bytes from `offset` on. Returns the bytes read; -1 with errno on error. */
static Py_ssize_t read_block(int file, uint8_t *out, long long offset, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t more = pread(file, out + done, size - done, (off_t)(offset + (long long)done));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return -1;
        if (!more) break;
        done += (size_t)more;
    }
    return (Py_ssize_t)done;
}

static PyObject *object_read(Object *self, PyObject *args) {
    int file;
    long long offset;
    Py_ssize_t size, done;
    if (!PyArg_ParseTuple(args, "iLn", &file, &offset, &size) || !usable(self)) return NULL;
    if (offset < 0 || size < 0) {
        PyErr_SetString(PyExc_ValueError, "offset and size cannot be negative");
        return NULL;
    }
    self->block_size = 0;
    if (self->block_room < (size_t)size) {
        free(self->block);
        self->block = malloc((size_t)size);
        self->block_room = self->block ? (size_t)size : 0;
        if (!self->block) return PyErr_NoMemory();
    }
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    done = read_block(file, self->block, offset, (size_t)size);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (done < 0) return PyErr_SetFromErrno(PyExc_OSError);
    self->block_size = (size_t)done;
    return PyLong_FromSsize_t(done);
}

static PyObject *object_cut(Object *self, PyObject *args) {
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "nn", &start, &stop) || !usable(self)) return NULL;
    if (start < 0 || start > stop || stop > (Py_ssize_t)self->block_size) {
        PyErr_SetString(PyExc_ValueError, "not within the block");
        return NULL;
    }
    const uint8_t *cut = start < stop ? likely_cut(self->block + start, self->block + stop) : NULL;
    return PyLong_FromSsize_t(cut ? (Py_ssize_t)(cut - self->block) : -1);
}

static PyObject *walk(Object *self, const uint8_t *data, Py_ssize_t size, Py_ssize_t position, long long base, int mode) {
    if (position < 0 || position > size || mode < ARGS_IN_FILE || mode > ARGS_LEFT_OUT) {
        PyErr_SetString(PyExc_ValueError, "position or mode out of range");
        return NULL;
    }
    Walker *walker = &self->walker;
    size_t at = (size_t)position, event_end = 0, before = walker->columns.count;
    Stop stop;
    walker->base = base;
    walker->mode = (ArgsMode)mode;
    walker->gathered_count = 0;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    stop = walker_walk(walker, data, (size_t)size, &at, &event_end);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (stop == STOP_MEMORY) return PyErr_NoMemory();
    return Py_BuildValue("(inny#nn)", (int)stop, (Py_ssize_t)at, (Py_ssize_t)event_end, (char *)walker->gathered,
                         (Py_ssize_t)walker->gathered_count, (Py_ssize_t)(walker->columns.count - before),
                         (Py_ssize_t)walker->commas);
}

static PyObject *object_walk(Object *self, PyObject *args) {
    PyObject *buffer;
    Py_ssize_t position, size;
    long long base;
    int mode;
    char *data;
    if (!PyArg_ParseTuple(args, "SnLi", &buffer, &position, &base, &mode) || !usable(self)) return NULL;
    if (PyBytes_AsStringAndSize(buffer, &data, &size) < 0) return NULL; /* bytes are immutable, and `args` holds them */
    return walk(self, (const uint8_t *)data, size, position, base, mode);
}

static PyObject *object_walk_block(Object *self, PyObject *args) {
    Py_ssize_t start, stop;
    long long base;
    if (!PyArg_ParseTuple(args, "nnL", &start, &stop, &base) || !usable(self)) return NULL;
    if (stop < 0 || stop > (Py_ssize_t)self->block_size) {
        PyErr_SetString(PyExc_ValueError, "not within the block");
        return NULL;
    }
    static const uint8_t NOTHING[1] = {0};
    return walk(self, self->block ? self->block : NOTHING, stop, start, base, ARGS_IN_FILE);
}

static PyObject *object_adopt(Object *self, PyObject *args) {
    PyObject *given;
    int good;
    if (!PyArg_ParseTuple(args, "O!", Py_TYPE(self), &given)) return NULL;
    Object *other = (Object *)given;
    if (self == other || self->walker.texts[0].seed != other->walker.texts[0].seed) {
        PyErr_SetString(PyExc_ValueError, "another walker of the same seed is wanted");
        return NULL;
    }
    if (!usable(self) || !usable(other)) return NULL;
    self->busy = other->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    good = walker_adopt(&self->walker, &other->walker);
    Py_END_ALLOW_THREADS
    self->busy = other->busy = 0;
    if (!good) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *object_clear(Object *self, PyObject *Py_UNUSED(ignored)) {
    if (!usable(self)) return NULL;
    walker_clear(&self->walker);
    Py_RETURN_NONE;
}

static PyObject *object_take_rows(Object *self, PyObject *Py_UNUSED(ignored)) {
    if (!usable(self)) return NULL;
    Columns *columns = &self->walker.columns;
    Column list[COLUMNS];
    columns_list(columns, list);
    PyObject *tuple = PyTuple_New(COLUMNS);
    for (int i = 0; tuple && i < COLUMNS; i++) {
        PyObject *column = PyBytes_FromStringAndSize(*list[i].at, (Py_ssize_t)(columns->count * list[i].width));
        if (!column) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, i, column); /* steals the reference */
    }
    columns->count = 0;
    return tuple;
}

/* Writes all bytes; 0 with errno on error. */
static int write_all(int file, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t done = write(file, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return 0;
        data += done;
        size -= (size_t)done;
    }
    return 1;
}

static PyObject *object_write_rows(Object *self, PyObject *args) {
    PyObject *numbers;
    int files[COLUMNS], good = 1;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &numbers) || !usable(self)) return NULL;
    if (PyTuple_Size(numbers) != COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "a file for each column");
        return NULL;
    }
    for (int i = 0; i < COLUMNS; i++) {
        long number = PyLong_AsLong(PyTuple_GetItem(numbers, i));
        if (number == -1 && PyErr_Occurred()) return NULL;
        files[i] = (int)number;
    }
    Columns *columns = &self->walker.columns;
    Column list[COLUMNS];
    columns_list(columns, list);
    size_t rows = columns->count;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; good && i < COLUMNS; i++) good = write_all(files[i], *list[i].at, rows * list[i].width);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (!good) return PyErr_SetFromErrno(PyExc_OSError);
    columns->count = 0;
    return PyLong_FromSize_t(rows);
}

static int check_kind(int kind) {
    if (kind >= 0 && kind < TEXTS) return 1;
    PyErr_SetString(PyExc_ValueError, "no such text column");
    return 0;
}

static PyObject *object_index(Object *self, PyObject *args) {
    int kind;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "iy#", &kind, &text, &length) || !check_kind(kind) || !usable(self)) return NULL;
    Interner *interner = &self->walker.texts[kind];
    uint32_t hash = interner_hash(interner, (const uint8_t *)text, (size_t)length);
    int32_t index = interner_index(interner, (const uint8_t *)text, (size_t)length, hash);
    return index < 0 ? PyErr_NoMemory() : PyLong_FromLong(index);
}

/* Where each text ends in the arena, after a 0. */
static const uint64_t *ends_of(const Interner *interner) {
    static const uint64_t NONE[] = {0};
    return interner->count ? interner->ends : NONE;
}

static PyObject *object_texts(Object *self, PyObject *args) {
    int kind;
    if (!PyArg_ParseTuple(args, "i", &kind) || !check_kind(kind) || !usable(self)) return NULL;
    const Interner *interner = &self->walker.texts[kind];
    const uint64_t *ends = ends_of(interner);
    return Py_BuildValue("(y#y#)", interner->arena ? (char *)interner->arena : "", (Py_ssize_t)ends[interner->count],
                         (const char *)ends, (Py_ssize_t)((interner->count + 1) * sizeof *ends));
}

static PyObject *object_write_texts(Object *self, PyObject *args) {
    int kind, blob_file, ends_file, good;
    if (!PyArg_ParseTuple(args, "iii", &kind, &blob_file, &ends_file) || !check_kind(kind) || !usable(self)) return NULL;
    const Interner *interner = &self->walker.texts[kind];
    const uint64_t *ends = ends_of(interner);
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    good = write_all(blob_file, interner->arena, ends[interner->count])
        && write_all(ends_file, (const uint8_t *)ends, (interner->count + 1) * sizeof *ends);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (!good) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"read", (PyCFunction)(void (*)(void))object_read, METH_VARARGS,
     "read(file number, offset, size) -> bytes read into its block"},
    {"cut", (PyCFunction)(void (*)(void))object_cut, METH_VARARGS,
     "cut(start, stop) -> where in the block an event seems to begin, -1 if nowhere"},
    {"walk", (PyCFunction)(void (*)(void))object_walk, METH_VARARGS,
     "walk(data, position, base, mode) -> (stop, position, event_end, gathered args, events read)"},
    {"walk_block", (PyCFunction)(void (*)(void))object_walk_block, METH_VARARGS,
     "walk_block(start, stop, base) -> as walk"},
    {"adopt", (PyCFunction)(void (*)(void))object_adopt, METH_VARARGS,
     "adopt(other): gives the texts of the other walker's rows their indices here"},
    {"clear", (PyCFunction)(void (*)(void))object_clear, METH_NOARGS, "clear(): forgets rows and texts"},
    {"take_rows", (PyCFunction)(void (*)(void))object_take_rows, METH_NOARGS, "take_rows() -> bytes per column"},
    {"write_rows", (PyCFunction)(void (*)(void))object_write_rows, METH_VARARGS,
     "write_rows(file numbers): appends each column to its file -> rows"},
    {"index", (PyCFunction)(void (*)(void))object_index, METH_VARARGS, "index(text column, text in UTF-8) -> index"},
    {"texts", (PyCFunction)(void (*)(void))object_texts, METH_VARARGS,
     "texts(text column) -> their UTF-8 one after the other, and its int64 ends"},
    {"write_texts", (PyCFunction)(void (*)(void))object_write_texts, METH_VARARGS,
     "write_texts(text column, file number, file number): writes what texts() returns"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, (void *)object_new},
    {Py_tp_dealloc, (void *)object_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"Walker(seed, rows): collects the events of a trace as columns."},
    {0, NULL},
};

static PyType_Spec SPEC = {"tb_npu_plugin.scan._native.Walker", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, SLOTS};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", "The trace scanner's fast path.", -1, NULL, NULL,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&MODULE);
    if (!module) return NULL;
    PyObject *type = PyType_FromSpec(&SPEC);
    if (!type || PyModule_AddObject(module, "Walker", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
