/* SPDX-License-Identifier: MIT */
#include "record/vmm_table.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define ROW_CNT \
    (1u << 18) /* 139 GiB in pieces of 2 MiB are 71,000; 8 MiB each, touched as it fills */
#define ROW_FULL (ROW_CNT / 4 * 3)

/* A row of either table: pieces by handle, mappings by address. */
typedef struct vmm_row {
    uint64_t key; /* 0 = free */
    uint64_t size;
    uint64_t other; /* mapping: the handle; piece: references */
    int64_t device;
} vmm_row;

typedef struct vmm_rows {
    vmm_row *at; /* mapped on first use */
    size_t cnt;
} vmm_rows;

static vmm_rows pieces, mappings;
static atomic_flag is_locked = ATOMIC_FLAG_INIT;

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&is_locked, memory_order_acquire))
        sched_yield();
}

static void unlock(void) {
    atomic_flag_clear_explicit(&is_locked, memory_order_release);
}

static size_t home_of(uint64_t key) {
    return (size_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 44) & (ROW_CNT - 1);
}

static bool map_rows(vmm_rows *rows) {
    if (rows->at)
        return true;
    void *at = mmap(NULL, ROW_CNT * sizeof(vmm_row), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    rows->at = at == MAP_FAILED ? NULL : at;
    return rows->at != NULL;
}

static size_t place_of(const vmm_rows *rows, uint64_t key) {
    size_t i = home_of(key);
    while (rows->at[i].key && rows->at[i].key != key)
        i = (i + 1) & (ROW_CNT - 1);
    return i;
}

static vmm_row *find_row(const vmm_rows *rows, uint64_t key) {
    if (!rows->at || !key)
        return NULL;
    vmm_row *row = &rows->at[place_of(rows, key)];
    return row->key ? row : NULL;
}

static void put_row(vmm_rows *rows, const vmm_row *row) {
    if (!row->key || !map_rows(rows) || rows->cnt >= ROW_FULL)
        return;
    vmm_row *place = &rows->at[place_of(rows, row->key)];
    rows->cnt += place->key == 0;
    *place = *row;
}

static void drop_row(vmm_rows *rows, vmm_row *row) {
    size_t mask = ROW_CNT - 1, hole = (size_t)(row - rows->at);
    for (size_t i = (hole + 1) & mask; rows->at[i].key; i = (i + 1) & mask) {
        size_t home = home_of(rows->at[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            rows->at[hole] = rows->at[i];
            hole = i;
        }
    }
    rows->at[hole] = (vmm_row){0};
    rows->cnt--;
}

/* One reference less; true when the piece is gone. */
static bool drop_reference(uint64_t handle, sl_vmm_piece *gone) {
    vmm_row *row = find_row(&pieces, handle);
    if (!row || --row->other > 0)
        return false;
    *gone = (sl_vmm_piece){row->key, row->size, (int)row->device};
    drop_row(&pieces, row);
    return true;
}

void sl_vmm_create(const sl_vmm_piece *piece) {
    lock();
    put_row(&pieces, &(vmm_row){piece->handle, piece->size, 1, piece->device});
    unlock();
}

void sl_vmm_retain(uint64_t handle) {
    lock();
    vmm_row *row = find_row(&pieces, handle);
    if (row)
        row->other++;
    unlock();
}

bool sl_vmm_release(uint64_t handle, sl_vmm_piece *gone) {
    lock();
    bool is_gone = drop_reference(handle, gone);
    unlock();
    return is_gone;
}

void sl_vmm_map(uint64_t addr, uint64_t size, uint64_t handle) {
    lock();
    vmm_row *row = find_row(&pieces, handle);
    if (row) {
        row->other++;
        put_row(&mappings, &(vmm_row){addr, size, handle, row->device});
    }
    unlock();
}

uint64_t sl_vmm_unmap(uint64_t addr, sl_vmm_piece *gone, bool *is_gone) {
    uint64_t size = 0;
    *is_gone = false;
    lock();
    vmm_row *row = find_row(&mappings, addr);
    if (row) {
        size = row->size;
        *is_gone = drop_reference(row->other, gone);
        drop_row(&mappings, row);
    }
    unlock();
    return size;
}

void sl_vmm_after_fork_child(void) {
    unlock();
}
