/* SPDX-License-Identifier: MIT
 *
 * A program that meets two recorders. With HOSTILE_SECOND it loads a second copy of the recorder
 * itself and starts it. Argument: how to load it.
 */
#include "hostile.h"

static void start_second(const char *path, int flags) {
    void *library = dlopen(path, RTLD_NOW | flags);
    int (*start)(const sl_record_options *) =
        library ? (int (*)(const sl_record_options *))dlsym(library, "sl_record_start") : NULL;
    if (!start) {
        fprintf(stderr, "%s\n", dlerror());
        exit(97);
    }
    sl_record_options options = {
        .struct_size = sizeof options, .cpu = SL_RECORD_CPU_ON, .dir = getenv("HOSTILE_RUN")};
    (void)start(&options); /* it may refuse or take part, but not do harm */
}

int main(int argc, char **argv) {
    const char *second = getenv("HOSTILE_SECOND");
    int flags =
        argc > 1 && strcmp(argv[1], "deepbind") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND : RTLD_LOCAL;
    begin();
    if (second)
        start_second(second, flags);
    churn(10000, 0x100000);
    pthread_t threads[2];
    start_threads(threads, 2);
    hold(100000, 0x100000000);
    end_threads(threads, 2);
    puts("both recorders are survived");
    return 7;
}
