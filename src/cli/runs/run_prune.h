/* SPDX-License-Identifier: MIT */
/* Which runs of a list to remove, and removing them.
 *
 * (R1) Never a run that is being written or may be, never one with something in it that stormlog did not
 *      make, never one that is neither readable nor has a name that `stormlog run` gave.
 * (R2) A run must match all rules: more rules remove less, never more.
 * (R3) The folder is locked and checked again right before it is removed. */
#ifndef SL_RUN_PRUNE_H
#define SL_RUN_PRUNE_H

#include "cli/runs/run_list.h"

typedef struct sl_prune_rules {
    bool has_keep, has_age, has_size;
    size_t keep_cnt;     /* the newest are kept */
    int64_t older_s;     /* only runs that began longer ago */
    uint64_t size_bytes; /* only the oldest, until the rest is no larger than this */
    int64_t now_s;
} sl_prune_rules;

typedef enum sl_prune_fate {
    SL_PRUNE_KEEP,      /* by the rules */
    SL_PRUNE_PROTECTED, /* (R1), although the rules would remove it */
    SL_PRUNE_REMOVE,
} sl_prune_fate;

/* fates: one for each row of the list. */
void sl_run_prune_plan(const sl_run_list *list, const sl_prune_rules *rules, sl_prune_fate *fates);

/* Why (R1) protects a row: a phrase; NULL = it does not. */
const char *sl_run_protection(const sl_run_row *row, int64_t now_s, char buf[160]);

/* Removes one run. SL_E_BUSY when it has been taken into use meanwhile. */
sl_status sl_run_remove(const sl_run_row *row, sl_error *err);

/* Points <folder>/latest to the newest run that is left, if it was a link to one that is gone. */
void sl_run_fix_latest(const char *folder, const sl_run_list *list, const sl_prune_fate *fates);

#endif
