/* SPDX-License-Identifier: MIT */
/* The index of a shipped run: which recordings are there, how long they are, and their sums. One file
 * for each host that ships ("index-<host>.json"), so that a thousand hosts do not wait for each other;
 * the run is all of them together. What is read is hostile until it was checked here: a name can only
 * be that of a recording in the run's own folder. One thread. docs/engines.md has the format. */
#ifndef SL_SHIP_INDEX_H
#define SL_SHIP_INDEX_H

#include <stdio.h>

#include "base/core/status.h"
#include "base/core/vec.h"
#include "base/files/sha256.h"

#define SL_SHIP_SCHEMA    "stormlog.index/1"
#define SL_SHIP_NAME_CAP  201
#define SL_SHIP_TEXT_CAP  128
#define SL_SHIP_FILES_MAX 1000000u
#define SL_SHIP_INDEX_MAX ((size_t)256 << 20) /* bytes of an index */

typedef struct sl_ship_entry {
    char name[SL_SHIP_NAME_CAP];
    char sha256[SL_SHA256_HEX_CAP];
    uint64_t bytes;
    char host[SL_SHIP_TEXT_CAP], job[SL_SHIP_TEXT_CAP]; /* "" = not known */
    int64_t rank, world_size, pid;                      /* -1 = not known */
    int64_t start_us;                                   /* of the recording, since 1970 */
} sl_ship_entry;

typedef struct sl_ship_index {
    SL_VEC(sl_ship_entry) files; /* in the order of their names; each name once */
} sl_ship_index;

void sl_ship_index_fini(sl_ship_index *index);

/* A recording's name without any path: letters, digits and "._-+@=,", not beginning with '.', ending in
 * .slog, or .slog with .zst, .xz or .gz. */
bool sl_ship_name_is_good(sl_str name);

/* Whether a text can be the name of a run's folder: the same characters. */
bool sl_ship_run_is_good(sl_str name);

/* Adds the files of an index. `what` names it in messages. SL_E_FORMAT, SL_E_TRUNCATED, SL_E_VERSION for
 * another schema, SL_E_REFUSED for a name that is not good or is there with another sum, SL_E_LIMIT. */
sl_status sl_ship_index_read(sl_ship_index *index, const char *what, const void *bytes, size_t len,
                             sl_error *err);

/* Adds one file, or replaces the one of the same name. SL_E_NOMEM. */
sl_status sl_ship_index_put(sl_ship_index *index, const sl_ship_entry *entry, sl_error *err);

const sl_ship_entry *sl_ship_index_find(const sl_ship_index *index, const char *name);

/* `host` is the one that ships. */
sl_status sl_ship_index_write(const sl_ship_index *index, const char *host, FILE *to,
                              sl_error *err);

/* "index-node-1.json" for the host "node-1"; characters that a name cannot have become '_'. */
void sl_ship_index_name(char name[SL_SHIP_NAME_CAP], const char *host);
bool sl_ship_index_is_name(sl_str name);

#endif
