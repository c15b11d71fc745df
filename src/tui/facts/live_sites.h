/* SPDX-License-Identifier: MIT */
/* The lines of a recording that is still written, from its totals by stack, as a tree: file, line, the frames of
 * its largest stack. Growth counts from the first read of the recording. */
#ifndef SL_LIVE_SITES_H
#define SL_LIVE_SITES_H

#include "base/core/arena.h"
#include "log/read/log_reader.h"
#include "tui/widget/tree_rows.h"

/* Live bytes of each site of the log at the first read; by site id. */
typedef struct sl_live_base {
    SL_VEC(uint64_t) bytes;
    bool is_taken;
} sl_live_base;

void sl_live_base_free(sl_live_base *base);

/* Texts go into the arena; `modules` stays empty where no stack has a module. False when memory ran out. */
bool sl_live_sites_fill(sl_tree *tree, sl_tree *modules, sl_arena *arena,
                        const sl_log_reader *reader, const sl_log_tables *tables, int device,
                        sl_live_base *base);

#endif
