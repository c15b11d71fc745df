/* SPDX-License-Identifier: MIT */
/* The ledger of a card: every byte that the driver reports as in use belongs to a row. Rows whose parts were
 * not measured are unknown, never 0, and a difference that comes out below zero, because its parts
 * were read at different moments, is unknown too.
 *
 * (G1) tensors + cache = what the allocator reserved; that + libraries + context = this process;
 *      that + other processes + driver + rest = what is in use on the card. Where the driver does
 *      not tell this process from others, rest is what is left after the rows that are known.
 * (G2) The memory of a library that PyTorch's allocator takes its segments through counts as that
 *      library's only beyond what the allocator reserved.
 * (G3) Where libraries were not watched yet, their rows are unknown and their bytes are among what
 *      was not seen of this process, in the row of the context. */
#ifndef SL_LEDGER_H
#define SL_LEDGER_H

#include "run/blocks/replay.h"

/* enumerator, outside name, label, what it holds. In the order in which rows lie on each other. */
#define SL_LEDGER_KIND_MAP(X)                                                                    \
    X(TENSORS, "tensors", "tensors", "blocks that PyTorch's allocator has handed out")           \
    X(CACHE, "cache", "allocator's cache", "held by PyTorch's allocator but in no tensor")       \
    X(LIBRARY, "library", "library", "taken from the driver by this library")                    \
    X(CONTEXT, "context", "CUDA context and modules",                                            \
      "the rest of this process, including what was not recorded")                               \
    X(OTHERS, "other-processes", "other processes", "all other processes that the driver lists") \
    X(DRIVER, "driver", "kept by the driver", "what the driver keeps for itself")                \
    X(REST, "rest", "rest", "in use, but not attributed to anything")

typedef enum sl_ledger_kind {
#define SL_LEDGER_ENUM(name, text, label, meaning) SL_LEDGER_##name,
    SL_LEDGER_KIND_MAP(SL_LEDGER_ENUM)
#undef SL_LEDGER_ENUM
        SL_LEDGER_KIND_CNT
} sl_ledger_kind;

typedef struct sl_ledger_row {
    sl_ledger_kind kind;
    bool has_tag;   /* one of several rows of tensors */
    sl_tag tag;     /* where has_tag */
    sl_str library; /* of a LIBRARY; borrowed */
    sl_maybe_u64 bytes;
} sl_ledger_row;

typedef SL_VEC(sl_ledger_row) sl_ledger_rows;

const char *sl_ledger_kind_name(sl_ledger_kind kind);
/* What a row holds, in words. */
const char *sl_ledger_meaning(const sl_ledger_row *row);

#define SL_LEDGER_LABEL_CAP 96
/* "tensors: parameter", "libnccl", "rest". Returns buf. */
const char *sl_ledger_label(char buf[SL_LEDGER_LABEL_CAP], const sl_ledger_row *row);

/* What was measured at one moment. */
typedef struct sl_ledger_figures {
    sl_maybe_u64 card_used, card_total;
    sl_maybe_u64 process, others, driver;
    sl_maybe_u64 allocated, reserved; /* by PyTorch's allocator */
    bool libraries_known;             /* the driver's callers were watched up to this moment */
} sl_ledger_figures;

/* The rows of one moment, kept. row_cnt 0 = there is no ledger. */
typedef struct sl_ledger_state {
    int64_t time_us;
    sl_maybe_u64 card_used, card_total;
    const sl_ledger_row *rows;
    size_t row_cnt;
} sl_ledger_state;

/* Appends one row of each kind but LIBRARY, in order; rows for tags where has_tags. */
bool sl_ledger_make_rows(sl_ledger_rows *rows, bool has_tags);

/* Adds to the row of a library, made on first use after the cache. The name is borrowed. */
bool sl_ledger_add_library(sl_ledger_rows *rows, sl_str name, uint64_t bytes);

/* The driver is asked for the card first, for its processes then. What these took in between is in use too:
 * the card's figure becomes at least that of its known parts, unless these are more than there is. */
void sl_ledger_reconcile(sl_ledger_figures *figures);

/* Computes every row (G1, G2). Rows of tags and libraries come in with their own bytes; the one of
 * SL_TAG_UNKNOWN takes what the tags leave of the allocated bytes. */
void sl_ledger_balance(sl_ledger_rows *rows, const sl_ledger_figures *figures);

/* ---- over time ---- */

typedef struct sl_ledger_moment {
    int64_t from_us, to_us; /* the card was read somewhere between */
    int64_t time_us;        /* where the rows are taken: all of them fit here */
    sl_maybe_u64 card_used, card_total;
    uint64_t used_min, used_max; /* of the readings that this moment summarises */
} sl_ledger_moment;

typedef struct sl_ledger {
    int device;
    sl_ledger_rows rows;       /* those that ever held anything or were never known; bytes unused */
    sl_ledger_moment *moments; /* owned; ascending */
    size_t moment_cnt;
    sl_maybe_u64 *bytes; /* owned; moment by moment, a value for each row */
} sl_ledger;

/* The ledger at every moment at which the card was read, up to the end of the work. Without such
 * readings moment_cnt is 0. replay is of the same device. The names are borrowed from the trace. */
sl_status sl_ledger_new(const sl_trace *trace, const sl_replay *replay, sl_ledger **out,
                        sl_error *err);
void sl_ledger_free(sl_ledger *ledger); /* NULL is fine */

/* The values of the rows at a moment. */
static inline const sl_maybe_u64 *sl_ledger_bytes(const sl_ledger *ledger, size_t moment) {
    return ledger->bytes + moment * ledger->rows.cnt;
}

/* Copies a moment into the arena; names stay borrowed from the trace. False when memory ran out. */
bool sl_ledger_keep(const sl_ledger *ledger, size_t moment, sl_arena *arena, sl_ledger_state *out);

/* The last moment that began at or before this time, else the first; there must be one. */
size_t sl_ledger_at(const sl_ledger *ledger, int64_t time_us);

/* The most that was ever in use. */
uint64_t sl_ledger_most_used(const sl_ledger *ledger);

/* The moment that shows what filled the card: of those when it was as good as fullest, the one with the most
 * in tensors. There must be a moment. */
size_t sl_ledger_fullest(const sl_ledger *ledger);

#endif
