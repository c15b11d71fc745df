/* SPDX-License-Identifier: MIT
 *
 * Libraries that are loaded and unloaded while events come. Not linked with the stand-ins in
 * "whole": there they come and go themselves.
 */
#include <unistd.h>

#include "hostile.h"

typedef void (*event_fn)(uint64_t, int64_t, size_t, size_t, int);

static int fail(void) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
}

static int cycle_plugins(void) {
    pthread_t threads[2];
    start_threads(threads, 2);
    for (int i = 0; i < 200; i++) {
        void *plugin = dlopen(getenv("HOSTILE_PLUGIN"), i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        if (!plugin)
            return fail();
        void (*event)(void) = (void (*)(void))dlsym(plugin, "plugin_event");
        event();
        if (i % 10 == 0)
            usleep(15000); /* long enough for a recorder that looks for new libraries */
        dlclose(plugin);
    }
    end_threads(threads, 2);
    puts("plugins came and went");
    return 0;
}

/* A second copy of the stand-ins in a namespace of its own, so that unloading it is real. */
static int cycle_whole(void) {
    for (int i = 0; i < 12; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/libc10_cuda.so", getenv("HOSTILE_FAKES"));
        void *library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
        if (!library)
            return fail();
        event_fn event = (event_fn)dlsym(library, "fake_event");
        for (int j = 0; j < 1000; j++) {
            event(0x500000, 512, 512, 512, 0);
            event(0x500000, -512, 0, 512, 0);
            churn(1, 0x600000);
        }
        usleep(15000);
        dlclose(library);
    }
    puts("stand-ins came and went");
    return 0;
}

int main(int argc, char **argv) {
    begin();
    return argc > 1 && strcmp(argv[1], "whole") == 0 ? cycle_whole() : cycle_plugins();
}
