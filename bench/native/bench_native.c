/* SPDX-License-Identifier: MIT
 *
 * The cost of a native stack: the recorder's stack walk compared with the C++ runtime's, over the
 * same frames. Arguments: frames, walks per round, rounds.
 */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "record/stacks/native_stack.h"

#define DEPTH_CAP 256

typedef struct way {
    const char *name;
    unsigned (*walk)(void);
} way;

static volatile int sink; /* keeps calls from becoming jumps */

static unsigned walk_recorder(void) {
    sl_native_stack stack;
    sl_native_walk(&stack);
    return stack.depth;
}

static unsigned walk_runtime(void) {
    void *frames[DEPTH_CAP];
    return (unsigned)backtrace(frames, DEPTH_CAP);
}

static const way ways[] = {{"the recorder's walk", walk_recorder}, {"backtrace()", walk_runtime}};

/* CPU time of the calling thread only: other load on the machine is not counted. */
static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) double measure(const way *of, int depth, long cnt,
                                                unsigned *frames) {
    double result;
    if (depth > 0) {
        result = measure(of, depth - 1, cnt, frames);
    } else {
        *frames = of->walk(); /* rules are cached from here on */
        double start = now_ns();
        for (long i = 0; i < cnt; i++)
            *frames = of->walk();
        result = (now_ns() - start) / (double)cnt;
    }
    sink++;
    return result;
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 3 ? atoi(argv[3]) : 5;
    long cnt = argc > 2 ? atol(argv[2]) : 20000;
    double best[SL_COUNT_OF(ways)] = {0};
    unsigned frames = 0;
    if (sl_native_attach() != SL_NATIVE_ON) {
        printf("no native stacks here: %s\n", sl_native_get_reason());
        return 0;
    }
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < SL_COUNT_OF(ways); i++) {
            double ns = measure(&ways[i], depth, cnt, &frames);
            if (round == 0 || ns < best[i])
                best[i] = ns;
        }
    for (size_t i = 0; i < SL_COUNT_OF(ways); i++)
        printf("%-20s %3u frames %8.1f ns\n", ways[i].name, frames, best[i]);
    printf("ratio %.1f\n", best[1] / best[0]);
    return 0;
}
