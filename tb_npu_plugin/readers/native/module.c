/* tb_npu_plugin.readers._csv: reading rows as a Python type. Stable ABI, so one build serves Python 3.9 and later. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

typedef struct {
    PyObject_HEAD
    Texts texts;
} TextsObject;

typedef struct {
    PyObject_HEAD
    Rows rows;
    PyObject *columns; /* as given: they hold the texts */
} Object;

static PyTypeObject *texts_type;

static PyObject *texts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long seed;
    static char *names[] = {"seed", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "K", names, &seed)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    TextsObject *self = (TextsObject *)allocate(type, 0);
    if (self) interner_init(&self->texts.interner, seed);
    return (PyObject *)self;
}

static void texts_dealloc(TextsObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    interner_free(&self->texts.interner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static Py_ssize_t texts_length(TextsObject *self) { return (Py_ssize_t)self->texts.interner.count; }

static PyObject *texts_code_of(TextsObject *self, PyObject *text) {
    PyObject *bytes = PyUnicode_AsUTF8String(text);
    if (!bytes) return NULL;
    int32_t code = texts_code(&self->texts, (const uint8_t *)PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_DECREF(bytes);
    return code < 0 ? PyErr_NoMemory() : PyLong_FromLong(code);
}

static PyObject *texts_truncate(TextsObject *self, PyObject *args) {
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "n", &count)) return NULL;
    if (count < 0 || count > texts_length(self)) {
        PyErr_SetString(PyExc_ValueError, "no such number of texts");
        return NULL;
    }
    if (count < texts_length(self)) interner_truncate(&self->texts.interner, (size_t)count);
    Py_RETURN_NONE;
}

static PyObject *texts_take(TextsObject *self, PyObject *Py_UNUSED(args)) {
    Interner *texts = &self->texts.interner;
    Py_ssize_t count = (Py_ssize_t)texts->count, bytes = count ? (Py_ssize_t)texts->ends[count] : 0;
    PyObject *blob = PyBytes_FromStringAndSize((const char *)texts->arena, bytes);
    PyObject *ends = PyByteArray_FromStringAndSize(NULL, (count + 1) * 8);
    PyObject *hashes = PyByteArray_FromStringAndSize(NULL, count * 4);
    if (!blob || !ends || !hashes) {
        Py_XDECREF(blob);
        Py_XDECREF(ends);
        Py_XDECREF(hashes);
        return NULL;
    }
    uint64_t *to = (uint64_t *)PyByteArray_AsString(ends);
    uint32_t *hash = (uint32_t *)PyByteArray_AsString(hashes);
    to[0] = 0;
    if (count) memcpy(to, texts->ends, (size_t)(count + 1) * 8);
    for (size_t slot = 0; slot < texts->slot_count; slot++)
        if (texts->slots[slot]) hash[(uint32_t)texts->slots[slot] - 1] = (uint32_t)(texts->slots[slot] >> 32);
    self->texts.first += (int32_t)count;
    interner_truncate(texts, 0);
    return Py_BuildValue("(NNN)", blob, ends, hashes);
}

/* (kind, factor, required, header cell or None, texts or None, is_quoted) */
static int fill_column(RowsColumn *column, PyObject *given) {
    int kind;
    PyObject *header, *texts;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "columns are tuples");
        return 0;
    }
    if (!PyArg_ParseTuple(given, "idiOOi", &kind, &column->factor, &column->required, &header, &texts,
                          &column->is_quoted))
        return 0;
    if (kind < CELL_SKIP || kind > CELL_FLOAT || (kind == CELL_TEXT && Py_TYPE(texts) != texts_type)) {
        PyErr_SetString(PyExc_ValueError, "no such kind of column, or no texts for it");
        return 0;
    }
    if (kind == CELL_TEXT) column->texts = &((TextsObject *)texts)->texts;
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
    Py_ssize_t rows, max_bytes;
    PyObject *columns;
    static char *names[] = {"rows", "max_bytes", "columns", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nnO!", names, &rows, &max_bytes, &PyTuple_Type, &columns))
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
    Py_INCREF(columns);
    self->columns = columns;
    for (size_t i = 0; i < width; i++)
        if (!fill_column(&self->rows.columns[i], PyTuple_GetItem(columns, (Py_ssize_t)i))) {
            Py_DECREF(self);
            return NULL;
        }
    if (!rows_init(&self->rows, self->rows.columns, width, (size_t)rows, (size_t)max_bytes)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void object_dealloc(Object *self) {
    PyTypeObject *type = Py_TYPE(self);
    rows_free(&self->rows);
    Py_XDECREF(self->columns);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *object_read(Object *self, PyObject *args) {
    PyObject *buffer;
    Py_ssize_t position, size;
    char *data;
    if (!PyArg_ParseTuple(args, "Sn", &buffer, &position)) return NULL;
    if (PyBytes_AsStringAndSize(buffer, &data, &size) < 0) return NULL; /* bytes do not change, and `args` holds them */
    if (position < 0 || position > size) {
        PyErr_SetString(PyExc_ValueError, "not within the data");
        return NULL;
    }
    const uint8_t *at = (const uint8_t *)data + position;
    RowsStatus status = rows_read(&self->rows, &at, (const uint8_t *)data + size);
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
    if (!PyArg_ParseTuple(args, "n", &index)) return NULL;
    RowsColumn *column = column_at(self, index);
    if (!column) return NULL;
    return PyBytes_FromStringAndSize(column->values, (Py_ssize_t)(self->rows.count * rows_value_size(column)));
}

static PyMethodDef METHODS[] = {
    {"read", (PyCFunction)(void (*)(void))object_read, METH_VARARGS,
     "read(data, position) -> (status, position, rows, lines)"},
    {"values", (PyCFunction)(void (*)(void))object_values, METH_VARARGS, "values(column) -> of the rows read last"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef TEXTS_METHODS[] = {
    {"code", (PyCFunction)(void (*)(void))texts_code_of, METH_O, "code(text) -> its code"},
    {"truncate", (PyCFunction)(void (*)(void))texts_truncate, METH_VARARGS, "truncate(count): forgets those behind"},
    {"take", (PyCFunction)(void (*)(void))texts_take, METH_NOARGS, "take() -> (blob, ends, hashes), and forgets them"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot TEXTS_SLOTS[] = {
    {Py_tp_new, (void *)texts_new},
    {Py_tp_dealloc, (void *)texts_dealloc},
    {Py_tp_methods, TEXTS_METHODS},
    {Py_sq_length, (void *)texts_length},
    {Py_tp_doc, (void *)"Texts(seed): distinct texts in order of first use."},
    {0, NULL},
};

static PyType_Spec TEXTS_SPEC = {"tb_npu_plugin.readers._csv.Texts", sizeof(TextsObject), 0, Py_TPFLAGS_DEFAULT,
                                 TEXTS_SLOTS};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, (void *)object_new},
    {Py_tp_dealloc, (void *)object_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"Rows(rows, max_bytes, columns): reads rows of a CSV file as columns."},
    {0, NULL},
};

static PyType_Spec SPEC = {"tb_npu_plugin.readers._csv.Rows", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, SLOTS};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_csv", "The CSV reader's fast path.", -1, NULL, NULL,
                                    NULL, NULL, NULL};

/* Adds a type to the module; NULL with an exception. The reference is the module's. */
static PyTypeObject *add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (!type || PyModule_AddObject(module, name, type) == 0) return (PyTypeObject *)type;
    Py_DECREF(type);
    return NULL;
}

PyMODINIT_FUNC PyInit__csv(void) {
    PyObject *module = PyModule_Create(&MODULE);
    if (!module) return NULL;
    texts_type = add_type(module, "Texts", &TEXTS_SPEC);
    if (texts_type && add_type(module, "Rows", &SPEC)) {
        Py_INCREF(texts_type); /* ours */
        return module;
    }
    Py_DECREF(module);
    return NULL;
}
