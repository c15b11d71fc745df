/* SPDX-License-Identifier: MIT */
#include "base/files/read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOT_CNT   4
#define SLOT_BYTES ((size_t)512 * 1024)

/* Slots are used in turn. filled, taken and released only grow: released <= taken <= filled <=
 * released + SLOT_CNT. All under the lock. */
struct sl_read_ahead {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_data, has_room;
    uint64_t filled, taken, released;
    bool is_stopping;
    sl_ahead_chunk chunks[SLOT_CNT];
    unsigned char *memory; /* owned; SLOT_CNT times headroom and slot */
};

static sl_ahead_chunk read_chunk(sl_read_ahead *ahead, uint64_t turn) {
    size_t stride = SL_AHEAD_HEADROOM + SLOT_BYTES;
    sl_ahead_chunk chunk = {ahead->memory + turn % SLOT_CNT * stride + SL_AHEAD_HEADROOM, 0, 0};
    ssize_t n;
    do
        n = read(ahead->fd, chunk.at, SLOT_BYTES);
    while (n < 0 && errno == EINTR);
    chunk.sys_errno = n < 0 ? errno : 0;
    chunk.len = n > 0 ? (size_t)n : 0;
    return chunk;
}

/* True when a slot is free; false when it is time to stop. */
static bool wait_for_room(sl_read_ahead *ahead) {
    pthread_mutex_lock(&ahead->lock);
    while (ahead->filled - ahead->released == SLOT_CNT && !ahead->is_stopping)
        pthread_cond_wait(&ahead->has_room, &ahead->lock);
    bool is_stopping = ahead->is_stopping;
    pthread_mutex_unlock(&ahead->lock);
    return !is_stopping;
}

static void *run(void *arg) {
    sl_read_ahead *ahead = arg;
    for (uint64_t turn = 0; wait_for_room(ahead); turn++) {
        sl_ahead_chunk chunk = read_chunk(ahead, turn);
        pthread_mutex_lock(&ahead->lock);
        ahead->chunks[turn % SLOT_CNT] = chunk;
        ahead->filled++;
        pthread_cond_signal(&ahead->has_data);
        pthread_mutex_unlock(&ahead->lock);
        if (chunk.len == 0)
            break;
    }
    return NULL;
}

static bool start_thread(sl_read_ahead *ahead) {
    if (pthread_mutex_init(&ahead->lock, NULL) != 0)
        return false;
    pthread_cond_init(&ahead->has_data, NULL); /* these two cannot fail on Linux */
    pthread_cond_init(&ahead->has_room, NULL);
    if (pthread_create(&ahead->thread, NULL, run, ahead) == 0)
        return true;
    pthread_cond_destroy(&ahead->has_room);
    pthread_cond_destroy(&ahead->has_data);
    pthread_mutex_destroy(&ahead->lock);
    return false;
}

sl_read_ahead *sl_read_ahead_start(int fd) {
    sl_read_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->fd = fd;
    ahead->memory = malloc(SLOT_CNT * (SL_AHEAD_HEADROOM + SLOT_BYTES));
    if (ahead->memory && start_thread(ahead))
        return ahead;
    free(ahead->memory);
    free(ahead);
    return NULL;
}

sl_ahead_chunk sl_read_ahead_take(sl_read_ahead *ahead) {
    pthread_mutex_lock(&ahead->lock);
    while (ahead->filled == ahead->taken)
        pthread_cond_wait(&ahead->has_data, &ahead->lock);
    sl_ahead_chunk chunk = ahead->chunks[ahead->taken % SLOT_CNT];
    ahead->taken++;
    pthread_mutex_unlock(&ahead->lock);
    return chunk;
}

void sl_read_ahead_release(sl_read_ahead *ahead) {
    pthread_mutex_lock(&ahead->lock);
    ahead->released += ahead->released < ahead->taken;
    pthread_cond_signal(&ahead->has_room);
    pthread_mutex_unlock(&ahead->lock);
}

void sl_read_ahead_stop(sl_read_ahead *ahead) {
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_stopping = true;
    pthread_cond_signal(&ahead->has_room);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->has_room);
    pthread_cond_destroy(&ahead->has_data);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead->memory);
    free(ahead);
}
