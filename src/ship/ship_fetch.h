/* SPDX-License-Identifier: MIT */
/* A shipped run brought back into a local folder: the index is read and checked, what is missing there
 * is fetched, every file is compared with its sum, and recordings that the index does not have any
 * more are removed. A second call fetches only what is new. One thread. */
#ifndef SL_SHIP_FETCH_H
#define SL_SHIP_FETCH_H

#include "ship/ship_index.h"
#include "ship/ship_target.h"

typedef struct sl_ship_fetch {
    const char *folder;                             /* local; ours alone, exists */
    void (*tell)(void *self, const char *text);     /* about a recording that is skipped */
    void (*step)(void *self, size_t at, size_t of); /* progress; may be NULL */
    void *self;
    size_t fetched_cnt, present_cnt, skipped_cnt; /* out */
} sl_ship_fetch;

/* Every index of a run, merged. SL_E_OPEN when there is none. */
sl_status sl_ship_read_run(sl_ship_target *target, const char *run, sl_ship_index *index,
                           sl_error *err);

/* A recording that is not there or is not what the index says is skipped and told; when nothing is
 * left, that is the error. */
sl_status sl_ship_fetch_run(sl_ship_target *target, const char *run, sl_ship_fetch *fetch,
                            sl_error *err);

/* "s3://bucket/a/run" as the place "s3://bucket/a" and the name "run". SL_E_USAGE when it has no name, or
 * one that cannot be a folder's. */
#define SL_SHIP_PLACE_CAP 700
sl_status sl_ship_split(const char *where, char place[SL_SHIP_PLACE_CAP],
                        char run[SL_SHIP_NAME_CAP], sl_error *err);

#endif
