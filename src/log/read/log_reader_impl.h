/* SPDX-License-Identifier: MIT */
/* What the files of the reader share. */
#ifndef SL_LOG_READER_IMPL_H
#define SL_LOG_READER_IMPL_H

#include "log/read/log_image.h"
#include "log/read/log_reader.h"

struct sl_log_reader {
    int fd;               /* owned; -1 for bytes in memory */
    const uint8_t *bytes; /* borrowed, or those of `image`; NULL for a plain file */
    sl_log_image image;   /* of a compressed file or a pipe */
    uint64_t size;        /* of the file at the last refresh */
    bool is_head;         /* the ring is not read */
    bool is_cut;          /* and the file ends before it should */
    bool is_locked;       /* the writer holds the lock */
    bool lock_is_known;
    sl_fmt_header header;
    sl_fmt_state state;

    uint8_t *strings; /* owned copy of the section up to `used`, in units of 8 bytes */
    uint64_t string_units;
    sl_fmt_frame *frames; /* owned */
    uint64_t frame_cnt;
    uint64_t *stacks; /* owned; words */
    uint64_t stack_cnt;
    uint64_t labels[SL_LABEL_CAP];
    uint64_t label_cnt;
};

/* Exactly `len` bytes at `offset`; SL_E_TRUNCATED when the file ends before. */
sl_status sl__log_read(const sl_log_reader *reader, void *to, uint64_t len, uint64_t offset,
                       sl_error *err);

/* Index of the section of this kind, -1 when the file has none. */
int sl__log_section(const sl_log_reader *reader, uint32_t kind);

/* The number of a mark. Steps that the recorder counted itself have no name, and are counted from 1 in the file. */
static inline uint64_t sl__log_mark_number(uint8_t kind, uint64_t number, uint32_t name) {
    return kind == SL_EV_STEP && name == 0 && number > 0 ? number - 1 : number;
}

/* The section and its reserved records; NULL and *cnt = 0 when the file has none. */
const sl_fmt_section *sl__log_find(const sl_log_reader *reader, uint32_t kind, uint64_t *cnt);

/* Allocates and reads records [0, cnt) of a section. *out is owned by the caller; NULL when cnt
 * is 0. */
sl_status sl__log_load(const sl_log_reader *reader, const sl_fmt_section *section, uint64_t cnt,
                       void *out, sl_error *err);

static inline bool sl__log_is_live(const sl_log_reader *reader) {
    return sl_log_get_ending(reader) == SL_LOG_LIVE;
}

/* Checks a stack id met anywhere; loads newer names of a live log if it is not known yet. */
sl_status sl__log_check_stack(sl_log_reader *reader, uint32_t stack, uint64_t position,
                              sl_error *err);

/* Intents of dead threads and of a dead writer, as they are in the file. */
typedef SL_VEC(sl_log_intent) sl_log_intents;
sl_status sl__log_load_intents(sl_log_reader *reader, sl_log_intents *out, sl_error *err);

#endif
