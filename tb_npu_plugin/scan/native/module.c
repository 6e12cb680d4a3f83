/* tb_npu_plugin.scan._native: the walker as a Python type. Stable ABI, so one build serves Python 3.9 and later. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "walker.h"

#define FIRST_ROWS 4096

/* A column lives in a bytearray: it grows as realloc does (large blocks move pages and copy nothing), and in the end
 * NumPy takes it over as it is. Nobody else sees it before. */
enum { C_PHASE, C_NAME, C_CATEGORY, C_PID, C_TID, C_TS, C_DUR, C_REST, C_FLOW, C_ENCLOSING, C_OFFSET, C_LENGTH, COLUMNS };

static const Py_ssize_t WIDTHS[COLUMNS] = {1, 4, 4, 4, 4, 8, 8, 4, 4, 1, 8, 8};

typedef struct {
    PyObject_HEAD
    Walker walker;
    PyObject *arrays[COLUMNS];
    int busy; /* a walk runs without the interpreter's lock */
} Object;

static void point_columns(Object *self) {
    Columns *columns = &self->walker.columns;
    void *at[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) at[i] = PyByteArray_AsString(self->arrays[i]);
    columns->phase = at[C_PHASE];
    columns->text[NAME] = at[C_NAME];
    columns->text[CATEGORY] = at[C_CATEGORY];
    columns->text[PID] = at[C_PID];
    columns->text[TID] = at[C_TID];
    columns->text[FLOW] = at[C_FLOW];
    columns->ts = at[C_TS];
    columns->dur = at[C_DUR];
    columns->dur_rest = at[C_REST];
    columns->enclosing = at[C_ENCLOSING];
    columns->args_offset = at[C_OFFSET];
    columns->args_length = at[C_LENGTH];
}

static int resize(Object *self, size_t rows) {
    for (int i = 0; i < COLUMNS; i++)
        if (PyByteArray_Resize(self->arrays[i], (Py_ssize_t)rows * WIDTHS[i]) < 0) return -1;
    self->walker.columns.capacity = rows;
    point_columns(self);
    return 0;
}

static int reserve(Object *self, size_t more) {
    Columns *columns = &self->walker.columns;
    if (columns->capacity - columns->count >= more) return 0;
    return resize(self, columns->capacity + columns->capacity / 2 + more + FIRST_ROWS);
}

static int usable(Object *self) {
    if (self->busy || !self->arrays[0]) {
        PyErr_SetString(PyExc_RuntimeError, self->busy ? "another thread uses this walker" : "its columns were taken");
        return 0;
    }
    return 1;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long seed;
    static char *names[] = {"seed", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K", names, &seed)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Object *self = (Object *)allocate(type, 0);
    if (!self) return NULL;
    walker_init(&self->walker, seed);
    for (int i = 0; i < COLUMNS; i++) {
        self->arrays[i] = PyByteArray_FromStringAndSize(NULL, 0);
        if (!self->arrays[i]) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static void object_dealloc(Object *self) {
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < COLUMNS; i++) Py_XDECREF(self->arrays[i]);
    walker_free(&self->walker);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *object_walk(Object *self, PyObject *args) {
    PyObject *buffer;
    Py_ssize_t position;
    long long base;
    int mode;
    if (!PyArg_ParseTuple(args, "SnLi", &buffer, &position, &base, &mode) || !usable(self)) return NULL;
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(buffer, &data, &size) < 0) return NULL;
    if (position < 0 || position > size || mode < ARGS_IN_FILE || mode > ARGS_LEFT_OUT) {
        PyErr_SetString(PyExc_ValueError, "position or mode out of range");
        return NULL;
    }
    Walker *walker = &self->walker;
    size_t at = (size_t)position, event_end = 0;
    walker->base = base;
    walker->mode = (ArgsMode)mode;
    walker->gathered_count = 0;
    Stop stop;
    do {
        self->busy = 1;
        Py_BEGIN_ALLOW_THREADS /* bytes do not change, and `args` holds them */
        stop = walker_walk(walker, (const uint8_t *)data, (size_t)size, &at, &event_end);
        Py_END_ALLOW_THREADS
        self->busy = 0;
        if (stop == STOP_FULL && reserve(self, 1) < 0) return NULL;
    } while (stop == STOP_FULL);
    if (stop == STOP_MEMORY) return PyErr_NoMemory();
    return Py_BuildValue("(inny#)", (int)stop, (Py_ssize_t)at, (Py_ssize_t)event_end, (char *)walker->gathered,
                         (Py_ssize_t)walker->gathered_count);
}

/* Appends rows that Python read: one bytes object per column. */
static PyObject *object_append(Object *self, PyObject *args) {
    PyObject *parts;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "nO!", &rows, &PyTuple_Type, &parts) || !usable(self)) return NULL;
    if (rows < 0 || PyTuple_Size(parts) != COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "one bytes object per column");
        return NULL;
    }
    for (int i = 0; i < COLUMNS; i++) {
        PyObject *part = PyTuple_GetItem(parts, i);
        if (!PyBytes_Check(part) || PyBytes_Size(part) != rows * WIDTHS[i]) {
            PyErr_SetString(PyExc_ValueError, "columns of equal length");
            return NULL;
        }
    }
    if (reserve(self, (size_t)rows) < 0) return NULL;
    size_t first = self->walker.columns.count;
    for (int i = 0; i < COLUMNS; i++)
        memcpy(PyByteArray_AsString(self->arrays[i]) + first * (size_t)WIDTHS[i],
               PyBytes_AsString(PyTuple_GetItem(parts, i)), (size_t)(rows * WIDTHS[i]));
    self->walker.columns.count += (size_t)rows;
    Py_RETURN_NONE;
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

static PyObject *object_take_texts(Object *self, PyObject *args) {
    int kind;
    if (!PyArg_ParseTuple(args, "i", &kind) || !check_kind(kind) || !usable(self)) return NULL;
    Interner *interner = &self->walker.texts[kind];
    static const uint64_t NONE[] = {0};
    const uint64_t *ends = interner->count ? interner->ends : NONE;
    PyObject *pair = Py_BuildValue("(y#y#)", interner->arena ? (char *)interner->arena : "",
                                   (Py_ssize_t)ends[interner->count], (const char *)ends,
                                   (Py_ssize_t)((interner->count + 1) * sizeof *ends));
    if (pair) interner_free(interner);
    return pair;
}

static PyObject *object_take_columns(Object *self, PyObject *Py_UNUSED(ignored)) {
    if (!usable(self) || resize(self, self->walker.columns.count) < 0) return NULL;
    PyObject *tuple = PyTuple_New(COLUMNS);
    if (!tuple) return NULL;
    for (int i = 0; i < COLUMNS; i++) {
        PyTuple_SetItem(tuple, i, self->arrays[i]); /* takes over the reference */
        self->arrays[i] = NULL;
    }
    memset(&self->walker.columns, 0, sizeof self->walker.columns);
    return tuple;
}

static PyMethodDef METHODS[] = {
    {"walk", (PyCFunction)(void (*)(void))object_walk, METH_VARARGS,
     "walk(data, position, base, mode) -> (stop, position, event_end, gathered args)"},
    {"append", (PyCFunction)(void (*)(void))object_append, METH_VARARGS, "append(rows, columns as bytes)"},
    {"index", (PyCFunction)(void (*)(void))object_index, METH_VARARGS, "index(text column, text in UTF-8) -> index"},
    {"take_texts", (PyCFunction)(void (*)(void))object_take_texts, METH_VARARGS,
     "take_texts(text column) -> their UTF-8 one after the other, and its int64 ends"},
    {"take_columns", (PyCFunction)(void (*)(void))object_take_columns, METH_NOARGS,
     "take_columns() -> a bytearray per column; the walker is of no use afterwards"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, (void *)object_new},
    {Py_tp_dealloc, (void *)object_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"Walker(seed): collects the events of a trace as columns."},
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
