/* SPDX-License-Identifier: MIT */
/* Marks, alerts and out-of-memory records of the reader. */
#include <stdlib.h>
#include <string.h>

#include "log/read/log_reader_impl.h"

/* Every record of these lists begins with its seq. */
static int by_seq(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a >> 8, y = *(const uint64_t *)b >> 8;
    return x < y ? -1 : x > y;
}

/* Complete records of a list, oldest first, owned by the caller. A live list is read twice; a
 * record that changed in between is left out. */
static sl_status load_list(sl_log_reader *r, uint32_t kind, void *out, size_t *out_cnt,
                           sl_error *err) {
    uint64_t cnt;
    const sl_fmt_section *s = sl__log_find(r, kind, &cnt);
    uint8_t **to = out, *again = NULL;
    *to = NULL;
    *out_cnt = 0;
    if (!s)
        return SL_OK;
    uint64_t used = r->state.marks[sl__log_section(r, kind)].used;
    if (used < cnt)
        cnt = used;
    SL_TRY(sl__log_load(r, s, cnt, out, err));
    sl_status status = sl__log_is_live(r) ? sl__log_load(r, s, cnt, &again, err) : SL_OK;
    size_t bytes = s->record_bytes, kept = 0;
    for (uint64_t i = 0; i < cnt && status >= 0; i++) {
        const uint8_t *record = *to + i * bytes;
        uint64_t seq;
        memcpy(&seq, record, sizeof seq);
        if (seq != 0 && (!again || memcmp(record, again + i * bytes, bytes) == 0))
            memmove(*to + kept++ * bytes, record, bytes);
    }
    free(again);
    if (status < 0) {
        free(*to);
        *to = NULL;
        return status;
    }
    if (kept > 1)
        qsort(*to, kept, bytes, by_seq);
    *out_cnt = kept;
    return SL_OK;
}

uint64_t sl_log_list_used(const sl_log_reader *r, uint32_t section) {
    uint64_t cnt;
    return sl__log_find(r, section, &cnt) ? r->state.marks[sl__log_section(r, section)].used : 0;
}

static bool is_step(const sl_log_mark_info *m, bool is_given) {
    return m->kind == SL_EV_STEP && (m->name != 0) == is_given;
}

/* Steps are the program's or the recorder's: an optimizer ends one or a few before the program first says that one
 * of its own has ended, and a program may count only a few of many. */
static void keep_steps(sl_log_marks *marks) {
    size_t given = 0, counted = 0, kept = 0;
    for (size_t i = 0; i < marks->cnt; i++) {
        given += is_step(&marks->at[i], true);
        counted += is_step(&marks->at[i], false);
    }
    if (given == 0 || counted == 0)
        return;
    for (size_t i = 0; i < marks->cnt; i++)
        if (!is_step(&marks->at[i], given < counted))
            marks->at[kept++] = marks->at[i];
    marks->cnt = kept;
}

sl_status sl_log_load_all_marks(sl_log_reader *r, sl_log_marks *out, sl_error *err) {
    sl_fmt_mark *marks;
    size_t cnt;
    memset(out, 0, sizeof *out);
    SL_TRY(load_list(r, SL_SECTION_MARKS, &marks, &cnt, err));
    bool has_room = sl_vec_reserve(out, cnt);
    for (size_t i = 0; i < cnt && has_room; i++) {
        const sl_fmt_mark *m = &marks[i];
        out->at[out->cnt++] = (sl_log_mark_info){
            .number = (m->seq >> 8) - 1,
            .kind = (uint8_t)m->seq,
            .time_ns = m->time_ns,
            .step = sl__log_mark_number((uint8_t)m->seq, m->number, (uint32_t)m->name_word),
            .name = (uint32_t)m->name_word,
            .tid = (uint32_t)(m->name_word >> 32),
            .value = {m->value, m->value != UINT64_MAX},
        };
    }
    free(marks);
    return has_room ? SL_OK : sl_fail(err, SL_E_NOMEM, "cannot allocate memory for marks");
}

sl_status sl_log_load_marks(sl_log_reader *r, sl_log_marks *out, sl_error *err) {
    SL_TRY(sl_log_load_all_marks(r, out, err));
    keep_steps(out);
    return SL_OK;
}

sl_status sl_log_load_alerts(sl_log_reader *r, sl_log_alerts *out, sl_error *err) {
    memset(out, 0, sizeof *out);
    SL_TRY(load_list(r, SL_SECTION_ALERTS, &out->at, &out->cnt, err));
    out->cap = out->cnt;
    return SL_OK;
}

sl_status sl_log_load_ooms(sl_log_reader *r, sl_log_ooms *out, sl_error *err) {
    memset(out, 0, sizeof *out);
    SL_TRY(load_list(r, SL_SECTION_OOMS, &out->at, &out->cnt, err));
    out->cap = out->cnt;
    for (size_t i = 0; i < out->cnt; i++)
        if (out->at[i].holder_cnt > SL_FORMAT_HOLDER_MAX) {
            uint64_t found = out->at[i].holder_cnt;
            sl_vec_free(out);
            return sl_fail(err, SL_E_FORMAT,
                           "section ooms, record %zu: expected at most %d holders, found %llu", i,
                           SL_FORMAT_HOLDER_MAX, (unsigned long long)found);
        }
    return SL_OK;
}
