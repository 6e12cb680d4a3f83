/* tb_npu_plugin.scan._args: args.h as a Python type. Stable ABI, so one build serves Python 3.9 and later; that ABI has
 * no buffers but those that y# gives: NumPy arrays and bytes, held by the arguments. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "args.h"

typedef struct {
    PyObject_HEAD
    Args args;
    int busy; /* a thread runs without the GIL */
} Object;

static int usable(Object *self, int key) {
    if (!self->busy && key >= 0 && key < self->args.count) return 1;
    PyErr_SetString(self->busy ? PyExc_RuntimeError : PyExc_ValueError,
                    self->busy ? "another thread uses this reader" : "no such key");
    return 0;
}

static int add_key(Args *self, PyObject *item, uint64_t seed) {
    const char *name;
    Py_ssize_t length;
    int is_text;
    if (!PyArg_ParseTuple(item, "y#p", &name, &length, &is_text)) return 0;
    Key *key = &self->keys[self->count];
    key->name = malloc((size_t)length + 1);
    if (!key->name) return PyErr_NoMemory() != NULL;
    memcpy(key->name, name, (size_t)length);
    key->length = (size_t)length;
    key->is_text = is_text;
    key->texts.seed = seed;
    self->count++;
    return 1;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long seed;
    PyObject *keys;
    static char *names[] = {"seed", "keys", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KO!", names, &seed, &PyTuple_Type, &keys)) return NULL;
    if (PyTuple_Size(keys) > MAX_KEYS) {
        PyErr_SetString(PyExc_ValueError, "too many keys");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Object *self = (Object *)allocate(type, 0); /* all zero */
    for (Py_ssize_t i = 0; self && i < PyTuple_Size(keys); i++) {
        if (add_key(&self->args, PyTuple_GetItem(keys, i), seed)) continue;
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void object_dealloc(Object *self) {
    PyTypeObject *type = Py_TYPE(self);
    args_free(&self->args);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Rows of one window of the file. */
typedef struct {
    const uint8_t *data;
    Py_ssize_t size;
    long long base;
    const int64_t *offsets, *lengths;
    const uint8_t *wanted;
    Py_ssize_t count, done; /* done: rows read */
} Window;

static ArgsStatus read_rows(Args *self, Window *window, int64_t *values) {
    for (; window->done < window->count; window->done++) {
        int64_t start = window->offsets[window->done] - window->base, length = window->lengths[window->done];
        if (start < 0 || length < 0 || start > window->size || length > window->size - start) return ARGS_ODD;
        ArgsStatus status = args_read(self, window->data + start, (size_t)length, window->wanted[window->done],
                                      values + window->done * self->count);
        if (status != ARGS_OK) return status;
    }
    return ARGS_OK;
}

static PyObject *object_read(Object *self, PyObject *args) {
    Window window = {0};
    PyObject *data;
    const char *offsets, *lengths, *wanted;
    Py_ssize_t offsets_bytes, lengths_bytes;
    if (!PyArg_ParseTuple(args, "SLy#y#y#", &data, &window.base, &offsets, &offsets_bytes, &lengths, &lengths_bytes,
                          &wanted, &window.count) || (self->args.count && !usable(self, 0)))
        return NULL;
    if (offsets_bytes != window.count * 8 || lengths_bytes != window.count * 8) {
        PyErr_SetString(PyExc_ValueError, "columns of equal length");
        return NULL;
    }
    window.data = (const uint8_t *)PyBytes_AsString(data);
    window.size = PyBytes_Size(data);
    window.offsets = (const int64_t *)offsets;
    window.lengths = (const int64_t *)lengths;
    window.wanted = (const uint8_t *)wanted;
    PyObject *values = PyByteArray_FromStringAndSize(NULL, window.count * self->args.count * 8);
    if (!values) return NULL;
    int64_t *at = (int64_t *)PyByteArray_AsString(values);
    ArgsStatus status;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    status = read_rows(&self->args, &window, at);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (status != ARGS_MEMORY) return Py_BuildValue("(nN)", window.done, values);
    Py_DECREF(values);
    return PyErr_NoMemory();
}

static PyObject *object_index(Object *self, PyObject *args) {
    int key;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "iy#", &key, &text, &length) || !usable(self, key)) return NULL;
    int32_t index = texts_index(&self->args.keys[key].texts, (const uint8_t *)text, (size_t)length);
    return index < 0 ? PyErr_NoMemory() : PyLong_FromLong(index);
}

static PyObject *object_take(Object *self, PyObject *args) {
    int key;
    if (!PyArg_ParseTuple(args, "i", &key) || !usable(self, key)) return NULL;
    Texts *texts = &self->args.keys[key].texts;
    PyObject *out = PyBytes_FromStringAndSize((const char *)texts->gathered, (Py_ssize_t)texts->gathered_count);
    if (out) texts->gathered_count = 0;
    return out;
}

static PyObject *object_ends(Object *self, PyObject *args) {
    int key;
    if (!PyArg_ParseTuple(args, "i", &key) || !usable(self, key)) return NULL;
    Texts *texts = &self->args.keys[key].texts;
    return PyByteArray_FromStringAndSize((const char *)texts->ends, (Py_ssize_t)(texts->count * sizeof *texts->ends));
}

static PyMethodDef METHODS[] = {
    {"read", (PyCFunction)(void (*)(void))object_read, METH_VARARGS,
     "read(data, base, offsets, lengths, wanted) -> (rows done, int64 per row and key in a bytearray)"},
    {"index", (PyCFunction)(void (*)(void))object_index, METH_VARARGS, "index(key, text as UTF-8) -> index"},
    {"take", (PyCFunction)(void (*)(void))object_take, METH_VARARGS, "take(key) -> texts added since it was called"},
    {"ends", (PyCFunction)(void (*)(void))object_ends, METH_VARARGS, "ends(key) -> int64 end of each text, a bytearray"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, (void *)object_new},
    {Py_tp_dealloc, (void *)object_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"Reader(seed, ((key, is a text), ...)): reads values of some keys from the args of events."},
    {0, NULL},
};

static PyType_Spec SPEC = {"tb_npu_plugin.scan._args.Reader", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, SLOTS};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_args", "Args of events in C.", -1, NULL, NULL, NULL, NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__args(void) {
    PyObject *module = PyModule_Create(&MODULE);
    if (!module) return NULL;
    PyObject *type = PyType_FromSpec(&SPEC);
    if (!type || PyModule_AddObject(module, "Reader", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
