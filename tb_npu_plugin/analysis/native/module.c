/* tb_npu_plugin.analysis._packing: packing.h as Python functions over arrays. Stable ABI, so one build serves Python
 * 3.9 and later; that ABI has no buffers but those that y# gives: NumPy arrays and bytes, held by the arguments. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "packing.h"

/* Rows of two int64 columns of equal length; -1 with an exception where they are none. */
static Py_ssize_t rows_of(Py_ssize_t start_bytes, Py_ssize_t dur_bytes) {
    Py_ssize_t rows = start_bytes / (Py_ssize_t)sizeof(int64_t);
    if (start_bytes == dur_bytes && rows * (Py_ssize_t)sizeof(int64_t) == start_bytes && rows < INT32_MAX) return rows;
    PyErr_SetString(PyExc_ValueError, "two int64 columns of equal length, below 2^31 rows");
    return -1;
}

static PyObject *packing_pack(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *start, *dur;
    Py_ssize_t start_bytes, dur_bytes;
    int max_depth, good;
    if (!PyArg_ParseTuple(args, "y#y#i", &start, &start_bytes, &dur, &dur_bytes, &max_depth)) return NULL;
    Py_ssize_t rows = rows_of(start_bytes, dur_bytes);
    if (rows < 0) return NULL;
    if (max_depth < 1) {
        PyErr_SetString(PyExc_ValueError, "at least one row");
        return NULL;
    }
    PyObject *depth = PyByteArray_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int32_t));
    PyObject *parent = PyByteArray_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int32_t));
    if (depth && parent) {
        int32_t *depths = (int32_t *)PyByteArray_AsString(depth), *parents = (int32_t *)PyByteArray_AsString(parent);
        Py_BEGIN_ALLOW_THREADS
        good = pack_slices((const int64_t *)start, (const int64_t *)dur, (size_t)rows, max_depth, depths, parents);
        Py_END_ALLOW_THREADS
        if (good) return Py_BuildValue("(NN)", depth, parent);
        PyErr_NoMemory();
    }
    Py_XDECREF(depth);
    Py_XDECREF(parent);
    return NULL;
}

static PyObject *packing_self_time(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *start, *dur, *parent;
    Py_ssize_t start_bytes, dur_bytes, parent_bytes;
    int good;
    if (!PyArg_ParseTuple(args, "y#y#y#", &start, &start_bytes, &dur, &dur_bytes, &parent, &parent_bytes)) return NULL;
    Py_ssize_t rows = rows_of(start_bytes, dur_bytes);
    if (rows < 0) return NULL;
    if (parent_bytes != rows * (Py_ssize_t)sizeof(int32_t)) {
        PyErr_SetString(PyExc_ValueError, "one int32 parent per slice");
        return NULL;
    }
    PyObject *own = PyByteArray_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int64_t));
    if (!own) return NULL;
    int64_t *times = (int64_t *)PyByteArray_AsString(own);
    Py_BEGIN_ALLOW_THREADS
    good = self_times((const int64_t *)start, (const int64_t *)dur, (const int32_t *)parent, (size_t)rows, times);
    Py_END_ALLOW_THREADS
    if (good) return own;
    Py_DECREF(own);
    PyErr_SetString(PyExc_ValueError, "a parent that is no slice, or too little memory");
    return NULL;
}

static PyMethodDef METHODS[] = {
    {"pack", packing_pack, METH_VARARGS, "pack(start, dur, max_depth) -> (depth, parent) as int32 in bytearrays"},
    {"self_time", packing_self_time, METH_VARARGS, "self_time(start, dur, parent) -> int64 in a bytearray"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_packing", "Depth packing in C.", -1, METHODS, NULL, NULL,
                                    NULL, NULL};

PyMODINIT_FUNC PyInit__packing(void) {
    return PyModule_Create(&MODULE);
}
