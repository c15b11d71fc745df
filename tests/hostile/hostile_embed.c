/* SPDX-License-Identifier: MIT
 *
 * A program that has a Python inside, ends it, and begins another one.
 */
#include <Python.h>

#include "hostile.h"

static const char source[] = "import ctypes, sys\n"
                             "event = ctypes.CDLL(None).embed_event\n"
                             "def deep(n):\n"
                             "    return deep(n - 1) if n else event()\n"
                             "for i in range(200): deep(20)\n";

__attribute__((visibility("default"))) void embed_event(void) {
    churn(5, 0x40000000);
}

int main(int argc, char **argv) {
    int has_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    pthread_t threads[2];
    begin();
    if (argc > 1 &&
        strcmp(argv[1], "early") == 0) /* asks for a module's start before there is a Python */
        printf("%s\n", dlsym(dlopen(NULL, RTLD_NOW), "PyInit_nothing") ? "found" : "not found");
    if (has_threads)
        start_threads(threads, 2);
    for (int i = 0; i < (has_threads ? 5 : 2); i++) {
        Py_InitializeEx(0);
        if (PyRun_SimpleString(source) != 0)
            return 1;
        printf("round %d ends with %d\n", i, Py_FinalizeEx());
        churn(1000, 0x41000000); /* no Python is there now */
    }
    if (has_threads)
        end_threads(threads, 2);
    return 0;
}
