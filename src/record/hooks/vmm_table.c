/* SPDX-License-Identifier: MIT */
#include "record/hooks/vmm_table.h"

#include "record/stacks/row_table.h"

/* 139 GiB in pieces of 2 MiB are 71,000; 8 MiB each, touched as it fills. */
#define ROW_CNT (1u << 18)

static sl_row_table pieces = {.row_cnt = ROW_CNT};   /* by handle; `other` counts references */
static sl_row_table mappings = {.row_cnt = ROW_CNT}; /* by address; `other` is the handle */
static sl_row_lock lock = SL_ROW_LOCK_INIT;

/* One reference less; true when the piece is gone. */
static bool drop_reference(uint64_t handle, sl_vmm_piece *gone) {
    sl_row *row = sl_row_find(&pieces, handle);
    if (!row || --row->other > 0)
        return false;
    *gone = (sl_vmm_piece){row->key, row->size, (int)row->device};
    sl_row_drop(&pieces, row);
    return true;
}

void sl_vmm_create(const sl_vmm_piece *piece) {
    if (!sl_row_lock_take(&lock))
        return;
    sl_row_put(&pieces, &(sl_row){piece->handle, piece->size, 1, piece->device});
    sl_row_lock_give(&lock);
}

void sl_vmm_retain(uint64_t handle) {
    if (!sl_row_lock_take(&lock))
        return;
    sl_row *row = sl_row_find(&pieces, handle);
    if (row)
        row->other++;
    sl_row_lock_give(&lock);
}

bool sl_vmm_release(uint64_t handle, sl_vmm_piece *gone) {
    if (!sl_row_lock_take(&lock))
        return false;
    bool is_gone = drop_reference(handle, gone);
    sl_row_lock_give(&lock);
    return is_gone;
}

void sl_vmm_map(uint64_t addr, uint64_t size, uint64_t handle) {
    if (!sl_row_lock_take(&lock))
        return;
    sl_row *row = sl_row_find(&pieces, handle);
    if (row) {
        row->other++;
        sl_row_put(&mappings, &(sl_row){addr, size, handle, row->device});
    }
    sl_row_lock_give(&lock);
}

uint64_t sl_vmm_unmap(uint64_t addr, sl_vmm_piece *gone, bool *is_gone) {
    uint64_t size = 0;
    *is_gone = false;
    if (!sl_row_lock_take(&lock))
        return 0;
    const sl_row *row = sl_row_find(&mappings, addr);
    if (row) {
        size = row->size;
        *is_gone = drop_reference(row->other, gone);
        sl_row_drop(&mappings, row);
    }
    sl_row_lock_give(&lock);
    return size;
}

void sl_vmm_after_fork_child(void) {
    sl_row_lock_after_fork_child(&lock);
}
