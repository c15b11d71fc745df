/* SPDX-License-Identifier: MIT */
/* Physical memory of the driver's virtual memory management (cuMemCreate and friends). A piece lives
 * as long as somebody holds its handle or has it mapped; this table counts both, so that the moment
 * at which it really goes is known whatever the order of release and unmap. Calls are rare (one for
 * 2 MiB or more), so a lock guards it; it is not held while the driver is called (R4). */
#ifndef SL_VMM_TABLE_H
#define SL_VMM_TABLE_H

#include "base/core/sl_base.h"

typedef struct sl_vmm_piece {
    uint64_t handle;
    uint64_t size;
    int device;
} sl_vmm_piece;

/* A piece was made; it has one reference. */
void sl_vmm_create(const sl_vmm_piece *piece);

/* One more holder of a handle. */
void sl_vmm_retain(uint64_t handle);

/* One holder less. True and *gone set when that was the last reference. */
bool sl_vmm_release(uint64_t handle, sl_vmm_piece *gone);

void sl_vmm_map(uint64_t addr, uint64_t size, uint64_t handle);

/* Takes back the mapping that begins at addr. Returns its size, 0 when none begins there; when it
 * was the last reference of its piece, *gone is set and *is_gone is true. */
uint64_t sl_vmm_unmap(uint64_t addr, sl_vmm_piece *gone, bool *is_gone);

/* In the child of a fork. */
void sl_vmm_after_fork_child(void);

#endif
