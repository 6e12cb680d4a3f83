/* tb_npu_plugin.readers._csv: reading rows as a Python type. Stable ABI, so one build serves Python 3.9 and later. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

typedef struct {
    PyObject_HEAD
    Rows rows;
    int busy; /* another thread is in it without the interpreter's lock */
} Object;

static int usable(Object *self) {
    if (self->busy) PyErr_SetString(PyExc_RuntimeError, "another thread uses these rows");
    return !self->busy;
}

/* (kind, factor, required, header cell or None) */
static int fill_column(RowsColumn *column, PyObject *given) {
    int kind;
    PyObject *header;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "columns are tuples");
        return 0;
    }
    if (!PyArg_ParseTuple(given, "idiO", &kind, &column->factor, &column->required, &header)) return 0;
    if (kind < CELL_SKIP || kind > CELL_FLOAT) {
        PyErr_SetString(PyExc_ValueError, "no such kind of column");
        return 0;
    }
    column->kind = (CellKind)kind;
    if (kind == CELL_INT && !(column->factor >= 1 && column->factor <= 1 << 30)) {
        PyErr_SetString(PyExc_ValueError, "the factor is out of range");
        return 0;
    }
    if (header == Py_None) return 1;
    char *text;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(header, &text, &length) < 0) return 0;
    column->header = malloc((size_t)length + 1);
    if (!column->header) {
        PyErr_NoMemory();
        return 0;
    }
    memcpy(column->header, text, (size_t)length);
    column->header_length = (size_t)length;
    return 1;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long seed;
    Py_ssize_t rows, max_bytes;
    PyObject *columns;
    static char *names[] = {"seed", "rows", "max_bytes", "columns", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KnnO!", names, &seed, &rows, &max_bytes, &PyTuple_Type, &columns))
        return NULL;
    if (rows < 1 || max_bytes < 1 || PyTuple_Size(columns) < 1) {
        PyErr_SetString(PyExc_ValueError, "rows, max_bytes and the number of columns must be positive");
        return NULL;
    }
    size_t width = (size_t)PyTuple_Size(columns);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Object *self = (Object *)allocate(type, 0);
    if (!self) return NULL;
    self->rows.columns = calloc(width, sizeof *self->rows.columns);
    if (!self->rows.columns) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->rows.width = width;
    for (size_t i = 0; i < width; i++)
        if (!fill_column(&self->rows.columns[i], PyTuple_GetItem(columns, (Py_ssize_t)i))) {
            Py_DECREF(self);
            return NULL;
        }
    if (!rows_init(&self->rows, self->rows.columns, width, (size_t)rows, (size_t)max_bytes, seed)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void object_dealloc(Object *self) {
    PyTypeObject *type = Py_TYPE(self);
    rows_free(&self->rows);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *object_read(Object *self, PyObject *args) {
    PyObject *buffer;
    Py_ssize_t position, size;
    char *data;
    if (!PyArg_ParseTuple(args, "Sn", &buffer, &position) || !usable(self)) return NULL;
    if (PyBytes_AsStringAndSize(buffer, &data, &size) < 0) return NULL; /* bytes do not change, and `args` holds them */
    if (position < 0 || position > size) {
        PyErr_SetString(PyExc_ValueError, "not within the data");
        return NULL;
    }
    const uint8_t *at = (const uint8_t *)data + position;
    RowsStatus status;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    status = rows_read(&self->rows, &at, (const uint8_t *)data + size);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (status == ROWS_MEMORY) return PyErr_NoMemory();
    return Py_BuildValue("(innn)", (int)status, (Py_ssize_t)(at - (const uint8_t *)data), (Py_ssize_t)self->rows.count,
                         (Py_ssize_t)self->rows.lines);
}

/* The column of a number that is read; NULL with an error set. */
static RowsColumn *column_at(Object *self, Py_ssize_t index) {
    if (index >= 0 && index < (Py_ssize_t)self->rows.width && self->rows.columns[index].kind != CELL_SKIP)
        return &self->rows.columns[index];
    PyErr_SetString(PyExc_ValueError, "no such column");
    return NULL;
}

static PyObject *object_values(Object *self, PyObject *args) {
    Py_ssize_t index;
    if (!PyArg_ParseTuple(args, "n", &index) || !usable(self)) return NULL;
    RowsColumn *column = column_at(self, index);
    if (!column) return NULL;
    return PyBytes_FromStringAndSize(column->values, (Py_ssize_t)(self->rows.count * rows_value_size(column)));
}

static PyObject *object_texts(Object *self, PyObject *args) {
    Py_ssize_t index, first;
    if (!PyArg_ParseTuple(args, "nn", &index, &first) || !usable(self)) return NULL;
    RowsColumn *column = column_at(self, index);
    if (!column) return NULL;
    const Interner *texts = &column->texts;
    if (first < 0 || first > (Py_ssize_t)texts->count) {
        PyErr_SetString(PyExc_ValueError, "no such text");
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)texts->count - first);
    for (size_t i = (size_t)first; list && i < texts->count; i++) {
        PyObject *text = PyUnicode_DecodeUTF8((const char *)texts->arena + texts->ends[i],
                                              (Py_ssize_t)(texts->ends[i + 1] - texts->ends[i]), "strict");
        if (!text) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i - first, text); /* takes over the reference */
    }
    return list;
}

static PyObject *object_clear(Object *self, PyObject *args) {
    Py_ssize_t index;
    if (!PyArg_ParseTuple(args, "n", &index) || !usable(self)) return NULL;
    RowsColumn *column = column_at(self, index);
    if (!column) return NULL;
    interner_clear(&column->texts);
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"read", (PyCFunction)(void (*)(void))object_read, METH_VARARGS,
     "read(data, position) -> (status, position, rows, lines)"},
    {"values", (PyCFunction)(void (*)(void))object_values, METH_VARARGS, "values(column) -> of the rows read last"},
    {"texts", (PyCFunction)(void (*)(void))object_texts, METH_VARARGS, "texts(column, first) -> texts from there on"},
    {"clear", (PyCFunction)(void (*)(void))object_clear, METH_VARARGS, "clear(column): forgets its texts"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, (void *)object_new},
    {Py_tp_dealloc, (void *)object_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"Rows(seed, rows, max_bytes, columns): reads rows of a CSV file as columns."},
    {0, NULL},
};

static PyType_Spec SPEC = {"tb_npu_plugin.readers._csv.Rows", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, SLOTS};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_csv", "The CSV reader's fast path.", -1, NULL, NULL,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__csv(void) {
    PyObject *module = PyModule_Create(&MODULE);
    if (!module) return NULL;
    PyObject *type = PyType_FromSpec(&SPEC);
    if (!type || PyModule_AddObject(module, "Rows", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
