/* SPDX-License-Identifier: MIT */
#include "record/torch_profiler.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define SLOT_CNT (1u << 20) /* 16 MiB, touched as it fills */
#define FULL_CNT (SLOT_CNT / 4 * 3)

typedef struct known_block {
    uintptr_t addr; /* 0 = free */
    uint64_t size;
} known_block;

static known_block *blocks; /* mapped on first use; NULL also when that failed */
static size_t block_cnt;
static uint64_t total_bytes;
static atomic_flag is_locked = ATOMIC_FLAG_INIT;

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&is_locked, memory_order_acquire))
        sched_yield();
}

static void unlock(void) {
    atomic_flag_clear_explicit(&is_locked, memory_order_release);
}

static size_t home_of(uintptr_t addr) {
    return (size_t)((addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 44) & (SLOT_CNT - 1);
}

static bool map_locked(void) {
    if (blocks)
        return true;
    void *at = mmap(NULL, SLOT_CNT * sizeof(known_block), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    blocks = at == MAP_FAILED ? NULL : at;
    return blocks != NULL;
}

static size_t find_locked(uintptr_t addr) {
    size_t i = home_of(addr);
    while (blocks[i].addr && blocks[i].addr != addr)
        i = (i + 1) & (SLOT_CNT - 1);
    return i;
}

uint64_t sl_torch_profiler_add(const void *ptr, uint64_t size) {
    lock();
    if (map_locked() && block_cnt < FULL_CNT) {
        size_t i = find_locked((uintptr_t)ptr);
        block_cnt += blocks[i].addr == 0;
        blocks[i] = (known_block){(uintptr_t)ptr, size};
    }
    total_bytes += size;
    uint64_t total = total_bytes;
    unlock();
    return total;
}

/* Closes the gap at `hole` so that no later block of the run becomes unreachable. */
static void close_gap_locked(size_t hole) {
    size_t mask = SLOT_CNT - 1;
    for (size_t i = (hole + 1) & mask; blocks[i].addr; i = (i + 1) & mask) {
        size_t home = home_of(blocks[i].addr);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            blocks[hole] = blocks[i];
            hole = i;
        }
    }
    blocks[hole] = (known_block){0, 0};
    block_cnt--;
}

bool sl_torch_profiler_remove(const void *ptr, uint64_t *total) {
    bool is_known = false;
    lock();
    if (blocks) {
        size_t i = find_locked((uintptr_t)ptr);
        is_known = blocks[i].addr != 0;
        if (is_known) {
            total_bytes -= blocks[i].size;
            close_gap_locked(i);
        }
    }
    *total = total_bytes;
    unlock();
    return is_known;
}

void sl_torch_profiler_after_fork_child(void) {
    unlock();
}
