/* tb_npu_plugin.store._natural: natural.h as a Python function over arrays. Stable ABI, so one build serves Python 3.9
 * and later; that ABI has no buffers but those that y# gives: NumPy arrays and bytes, held by the arguments. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "natural.h"

/* Whether `ends` are ascending offsets into a blob. */
static int are_texts(TextBlob texts, Py_ssize_t count, Py_ssize_t blob_bytes) {
    if (texts.ends[0] < 0 || texts.ends[count] > blob_bytes) return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (texts.ends[i] > texts.ends[i + 1]) return 0;
    return 1;
}

static PyObject *natural_order_of(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *blob, *ends, *folded_blob, *folded_ends;
    Py_ssize_t bytes, ends_bytes, folded_bytes, folded_ends_bytes;
    int good;
    if (!PyArg_ParseTuple(args, "y#y#y#y#", &blob, &bytes, &ends, &ends_bytes, &folded_blob, &folded_bytes, &folded_ends,
                          &folded_ends_bytes))
        return NULL;
    TextBlob texts = {(const uint8_t *)blob, (const int64_t *)ends};
    TextBlob folded = {(const uint8_t *)folded_blob, (const int64_t *)folded_ends};
    Py_ssize_t count = ends_bytes / (Py_ssize_t)sizeof(int64_t) - 1;
    if (count < 0 || count >= INT32_MAX || folded_ends_bytes != ends_bytes || !are_texts(texts, count, bytes) ||
        !are_texts(folded, count, folded_bytes)) {
        PyErr_SetString(PyExc_ValueError, "blobs with ends, of equal numbers of texts below 2^31");
        return NULL;
    }
    PyObject *order = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t));
    if (!order) return NULL;
    int32_t *places = (int32_t *)PyByteArray_AsString(order);
    Py_BEGIN_ALLOW_THREADS
    good = natural_order(texts, folded, (size_t)count, places);
    Py_END_ALLOW_THREADS
    if (good) return order;
    Py_DECREF(order);
    return PyErr_NoMemory();
}

static PyMethodDef METHODS[] = {
    {"natural_order", natural_order_of, METH_VARARGS,
     "natural_order(blob, ends, folded_blob, folded_ends) -> int32 in a bytearray"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_natural", "Natural order of texts in C.", -1, METHODS, NULL,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__natural(void) {
    return PyModule_Create(&MODULE);
}
