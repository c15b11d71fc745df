/* SPDX-License-Identifier: MIT */
#include "record/hooks/torch_profiler.h"

#include "record/stacks/row_table.h"

static sl_row_table blocks = {.row_cnt = 1u << 20}; /* 32 MiB, touched as it fills */
static _Atomic(uint64_t) total_bytes;
static sl_row_lock lock = SL_ROW_LOCK_INIT;

uint64_t sl_torch_profiler_add(const void *ptr, uint64_t size) {
    if (!sl_row_lock_take(&lock))
        return total_bytes;
    sl_row_put(&blocks, &(sl_row){.key = (uintptr_t)ptr, .size = size});
    total_bytes += size;
    uint64_t total = total_bytes;
    sl_row_lock_give(&lock);
    return total;
}

bool sl_torch_profiler_remove(const void *ptr, uint64_t *total) {
    *total = total_bytes;
    if (!sl_row_lock_take(&lock))
        return false;
    const sl_row *row = sl_row_find(&blocks, (uintptr_t)ptr);
    if (row) {
        total_bytes -= row->size;
        sl_row_drop(&blocks, row);
    }
    *total = total_bytes;
    sl_row_lock_give(&lock);
    return row != NULL;
}

void sl_torch_profiler_after_fork_child(void) {
    sl_row_lock_after_fork_child(&lock);
}
