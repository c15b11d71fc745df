/* SPDX-License-Identifier: MIT */
/* What Debian 12's static libraries need in order to be linked with glibc 2.27 and into a Python module. Only wheels contain it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *buffer, size_t bytes);

/* libexpat.a expects it of glibc 2.36. As glibc's, it fills the buffer or ends the program. */
void arc4random_buf(void *buffer, size_t bytes) {
    char *at = buffer;
    while (bytes > 0) {
        ssize_t got = getrandom(at, bytes, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        }
    }
}

/* The archives are compiled for programs, which may refer to libc's variables directly; a module may not. build.sh renames
 * them inside the archives. */
FILE *sl_wheel_stdout __attribute__((visibility("hidden")));
FILE *sl_wheel_stderr __attribute__((visibility("hidden")));

__attribute__((constructor(101))) static void set_streams(void) {
    sl_wheel_stdout = stdout;
    sl_wheel_stderr = stderr;
}
