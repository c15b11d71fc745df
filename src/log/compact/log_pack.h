/* SPDX-License-Identifier: MIT */
/* The packed form of a recording that nobody writes any more: the same records under the same
 * numbers, without the space that was kept for more. It is a .slog like any other
 * (docs/format.md, "Packed").
 *
 * Kept of a section: every record up to the last that is not all zeros, and at least as many as
 * are in use. Of the live table only the buckets that hold a block, because readers scan it. */
#ifndef SL_LOG_PACK_H
#define SL_LOG_PACK_H

#include "log/read/log_reader.h"

typedef struct sl_pack_plan {
    sl_fmt_header header; /* of the packed file */
    sl_fmt_state state;
    uint64_t bytes; /* of the packed file */
} sl_pack_plan;

/* Takes the next bytes of the packed file. */
typedef sl_status (*sl_pack_sink)(void *self, const void *bytes, size_t len, sl_error *err);

/* folds: the ring in columns, for a file that will be compressed. SL_E_VERSION for a file of a
 * newer version, whose records may have a meaning unknown here. */
sl_status sl__pack_plan(const sl_log_reader *reader, bool folds, sl_pack_plan *plan, sl_error *err);

/* Hands the packed file to the sink, first byte to last; a failure of the sink ends it. */
sl_status sl__pack_emit(const sl_log_reader *reader, const sl_pack_plan *plan, sl_pack_sink sink,
                        void *self, sl_error *err);

#endif
