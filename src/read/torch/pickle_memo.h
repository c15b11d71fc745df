/* SPDX-License-Identifier: MIT */
/* The memo of a pickle in four bytes an entry: what a later reference needs to know about an
 * object, not the object. Entries are bounded by the bytes read, so a hostile id allocates
 * nothing. */
#ifndef SL_PICKLE_MEMO_H
#define SL_PICKLE_MEMO_H

#include "base/core/sl_base.h"

typedef enum sl_memo_tag {
    SL_MEMO_EMPTY = 0, /* never set */
    SL_MEMO_STR,       /* payload: string id */
    SL_MEMO_FRAME,     /* frame id */
    SL_MEMO_STACK,     /* stack id */
    SL_MEMO_POOL,      /* pool index */
    SL_MEMO_NO_ITEMS,  /* an empty list */
    SL_MEMO_PAST,      /* an object that was not kept; payload: sl_torch_kind */
    SL_MEMO_OPEN,      /* an object that has not ended; payload: sl_torch_role */
} sl_memo_tag;

#define SL_MEMO_PAYLOAD_BITS 29
#define SL_MEMO_PAYLOAD_MAX  (((uint32_t)1 << SL_MEMO_PAYLOAD_BITS) - 1)

typedef struct sl_memo {
    uint32_t *at; /* owned; tag in the top 3 bits */
    size_t cnt;   /* one past the highest entry set */
    size_t cap;
    size_t set_cnt; /* entries set: MEMOIZE takes this as its id */
} sl_memo;

static inline uint32_t sl_memo_entry(sl_memo_tag tag, uint32_t payload) {
    return ((uint32_t)tag << SL_MEMO_PAYLOAD_BITS) | payload;
}

static inline sl_memo_tag sl_memo_tag_of(uint32_t entry) {
    return (sl_memo_tag)(entry >> SL_MEMO_PAYLOAD_BITS);
}

static inline uint32_t sl_memo_payload(uint32_t entry) {
    return entry & SL_MEMO_PAYLOAD_MAX;
}

/* The entry, SL_MEMO_EMPTY when there is none. */
static inline uint32_t sl_memo_get(const sl_memo *memo, uint64_t id) {
    return SL_LIKELY(id < memo->cnt) ? memo->at[id] : 0;
}

/* Room for entries up to cnt + more; new ones are empty. False when memory ran out. */
bool sl_memo_reserve(sl_memo *memo, size_t more);

/* Sets an entry; the caller has bounded the id. False when memory ran out. */
bool sl_memo_put(sl_memo *memo, size_t id, uint32_t entry);

void sl_memo_fini(sl_memo *memo);

#endif
