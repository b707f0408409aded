// An extension module that reverses text, with a leak on the way out.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

static char* reversed(const char* text, size_t length) {
    char* copy = malloc(length + 1);
    for (size_t index = 0; index < length; index++) {
        copy[index] = text[length - 1 - index];
    }
    copy[length] = '\0';
    return copy;
}

static PyObject* reverse_text(PyObject* module, PyObject* argument) {
    (void)module;
    Py_ssize_t length;
    const char* text = PyUnicode_AsUTF8AndSize(argument, &length);
    if (text == NULL) {
        return NULL;
    }
    char* copy = reversed(text, (size_t)length);
    if (strcmp(copy, text) == 0) {
        Py_INCREF(argument);
        return argument; // leaks the copy of a palindrome
    }
    PyObject* result = PyUnicode_FromString(copy);
    free(copy);
    return result;
}

static PyMethodDef functions[] = {
    {"reverse", reverse_text, METH_O, "The text from its end to its start."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "reverse",
                                        .m_size = 0, .m_methods = functions};

PyMODINIT_FUNC PyInit_reverse(void) {
    return PyModule_Create(&definition);
}
