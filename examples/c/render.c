/* SPDX-License-Identifier: MIT */
/* A renderer that forgets to give back one texture per frame until its pool is empty. Each frame is a step.
 *
 *     cc -g -Iinclude render.c pool.c -lstormlog_record -o render
 *     stormlog run --stacks native -- ./render        # or ./render, which starts a recording itself
 *     stormlog analyze
 */
#include <stdio.h>
#include <string.h>
#include <stormlog/record.h>

#include "pool.h"

#define MIB ((size_t)1 << 20)

static void *load_texture(pool *memory) {
    void *texture = pool_take(memory, MIB);
    if (texture)
        memset(texture, 1, MIB);
    return texture;
}

static int draw_frame(pool *memory, int number) {
    void *scratch = pool_take(memory, 4 * MIB);
    void *texture = load_texture(memory); /* kept for ever: the leak */
    pool_give(memory, scratch);
    sl_record_step((uint64_t)number);
    return texture && scratch;
}

int main(void) {
    /* -1: `stormlog run` records this process already. */
    sl_record_options options = {.struct_size = sizeof options, .stacks = SL_RECORD_STACKS_NATIVE};
    int is_own = sl_record_start(&options) == 0;
    pool *memory = pool_create(64 * MIB);
    int frame = 0;
    while (memory && draw_frame(memory, frame))
        frame++;
    printf("the pool was empty at frame %d; requests that failed: %d\n", frame, (int)sl_record_oom_count());
    if (is_own)
        printf("recorded in %s\n", sl_record_path());
    sl_record_stop();
    pool_destroy(memory);
    return 0;
}
