/* SPDX-License-Identifier: MIT */
/* From a recording to the bundles of its failed requests: what `stormlog run`, `stormlog export` and
 * the Python package share. A recording may be written while it is read. */
#ifndef SL_OOM_BUNDLES_H
#define SL_OOM_BUNDLES_H

#include "export/bundle/bundle_folder.h"

/* Bundles a recording gets: its first failures, or the oldest that it still has events of. A
 * program that catches the error and tries again a thousand times must not fill the disk. */
#define SL_OOM_BUNDLES_MAX 8

/* Failed requests of a recording, or of a snapshot or bundle that has such events; more than
 * SL_OOM_BUNDLES_MAX where there were more. */
sl_status sl_oom_bundles_count(const char *recording, uint64_t *cnt, sl_error *err);

/* Writes the bundle of failure `number` (from 1) as <parent>/<name of the recording>.oom-<number>;
 * parent NULL = beside the recording. SL_E_OPEN: it exists already. SL_E_LAPPED: its events are not
 * in the recording, not yet or no longer. path may be NULL. */
sl_status sl_oom_bundles_write(const char *recording, const char *parent, uint64_t number,
                               char path[SL_BUNDLE_PATH_CAP], sl_error *err);

/* What happened to the bundles of one recording. */
typedef struct sl_oom_bundles_result {
    uint64_t failure_cnt;
    size_t written_cnt;
    size_t present_cnt; /* were there already */
    size_t beyond_cnt;  /* failures that got none: the limit, or their events are gone */
} sl_oom_bundles_result;

typedef void (*sl_oom_bundle_fn)(void *self, const char *path);

/* Writes those that are missing and calls `told` (may be NULL) with the path of each. Stops at the
 * first that cannot be written. */
sl_status sl_oom_bundles_write_all(const char *recording, const char *parent, sl_oom_bundle_fn told,
                                   void *self, sl_oom_bundles_result *result, sl_error *err);

#endif
