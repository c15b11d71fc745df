/* SPDX-License-Identifier: MIT */
#include "log/read/log_fsck.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "log/read/log_reader_impl.h"
#include "log/read/log_replay.h"

static sl_status no_memory(sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for the check of a log");
}

static sl_status add_problem(sl_fsck_report *out, const char *rule, const sl_error *found,
                             sl_error *err) {
    sl_fsck_problem p = {rule, found->position,
                         sl_arena_copy(&out->arena, found->text, strlen(found->text))};
    return p.text && sl_vec_push(&out->problems, p) ? SL_OK : no_memory(err);
}

/* Damage becomes a problem and the check goes on; anything else ends it. */
static sl_status note(sl_fsck_report *out, const char *rule, sl_status status,
                      const sl_error *found, sl_error *err) {
    if (status >= 0)
        return SL_OK;
    if (status == SL_E_FORMAT || status == SL_E_TRUNCATED || status == SL_E_LIMIT)
        return add_problem(out, rule, found, err);
    if (err)
        *err = *found;
    return status;
}

/* ---- sections ---- */

/* Records of 8 or 16 bytes whose (live) word stayed zero. */
static uint64_t count_incomplete(const sl_log_reader *r, uint32_t kind) {
    uint64_t cnt = 0;
    if (kind == SL_SECTION_FRAMES)
        for (uint64_t i = 1; i < r->frame_cnt; i++)
            cnt += r->frames[i].kind == 0;
    if (kind == SL_SECTION_STACKS)
        for (uint64_t i = 1; i < r->stack_cnt; i++)
            cnt += r->stacks[i] == 0;
    return cnt;
}

static sl_status list_sections(const sl_log_reader *r, sl_fsck_report *out, sl_error *err) {
    for (uint32_t i = 0; i < r->header.section_cnt; i++) {
        const sl_fmt_section *s = &r->header.sections[i];
        sl_fsck_section row = {s->kind,
                               s->level,
                               r->state.marks[i].used,
                               r->state.marks[i].reserved,
                               s->cap,
                               count_incomplete(r, s->kind)};
        if (!sl_vec_push(&out->sections, row))
            return no_memory(err);
    }
    return SL_OK;
}

/* ---- events ---- */

static int by_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* (L2): no ticket twice, none beyond those given out. */
static sl_status check_tickets(sl_log_reader *r, sl_fsck_report *out, sl_error *err) {
    uint64_t chunk_cnt;
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_RING, &chunk_cnt);
    if (!s || chunk_cnt == 0)
        return SL_OK;
    uint64_t given = r->state.marks[sl__log_section(r, SL_SECTION_RING)].used;
    uint64_t *tickets = calloc(chunk_cnt, sizeof *tickets);
    sl_status status = tickets ? SL_OK : no_memory(err);
    sl_error found = SL_ERROR_INIT;
    for (uint64_t i = 0; i < chunk_cnt && status >= 0; i++) {
        uint64_t at = s->offset + i * s->record_bytes, word;
        status = sl__log_read(r, &word, sizeof word, at, err);
        if (status < 0)
            break;
        tickets[i] = sl_chunk_ticket(word);
        if (tickets[i] > given && !sl__log_is_live(r)) {
            sl_fail_at(&found, SL_E_FORMAT, at,
                       "byte %llu: chunk %llu: expected a ticket up to %llu, found %llu",
                       (unsigned long long)at, (unsigned long long)i, (unsigned long long)given,
                       (unsigned long long)tickets[i]);
            status = add_problem(out, "L2", &found, err);
        }
    }
    if (status >= 0) {
        qsort(tickets, chunk_cnt, sizeof *tickets, by_u64);
        for (uint64_t i = 1; i < chunk_cnt && status >= 0; i++)
            if (tickets[i] != 0 && tickets[i] == tickets[i - 1]) {
                sl_fail(&found, SL_E_FORMAT, "expected every ticket once, found %llu twice",
                        (unsigned long long)tickets[i]);
                status = add_problem(out, "L2", &found, err);
            }
    }
    free(tickets);
    return status;
}

static sl_status walk_events(sl_log_cursor *cursor, sl_log_replay *replay, sl_fsck_report *out,
                             sl_error *err) {
    sl_error found = SL_ERROR_INIT;
    sl_log_record record;
    for (;;) {
        int got = sl_log_cursor_next(cursor, &record, &found);
        if (got == 0)
            return SL_OK;
        if (got == SL_E_LAPPED)
            continue;
        if (got < 0)
            return note(out, "L5", (sl_status)got, &found, err);
        out->events++;
        if (!sl_log_replay_add(replay, &record))
            return no_memory(err);
    }
}

static sl_status check_events(sl_log_reader *r, sl_log_replay *replay, sl_fsck_report *out,
                              sl_error *err) {
    sl_log_cursor *cursor;
    sl_error found = SL_ERROR_INIT;
    sl_status status = sl_log_cursor_new(r, &cursor, &found);
    if (status < 0)
        return note(out, "L3", status, &found, err);
    status = walk_events(cursor, replay, out, err);
    out->lost = sl_log_cursor_lost(cursor);
    out->torn = sl_log_cursor_torn(cursor);
    sl_log_cursor_free(cursor);
    if (status >= 0 && out->torn > 0 && out->ending != SL_LOG_LIVE) {
        sl_fail(&found, SL_E_FORMAT, "%llu published record%s lack%s the chunk's stamp",
                (unsigned long long)out->torn, sl_plural(out->torn), out->torn == 1 ? "s" : "");
        status = add_problem(out, "L4", &found, err);
    }
    return status;
}

/* ---- tables ---- */

static void count_tables(const sl_log_tables *t, sl_fsck_report *out) {
    out->sites = t->sites.cnt;
    out->threads = t->threads.cnt;
    out->live_blocks = t->blocks.cnt;
    for (size_t i = 0; i < t->blocks.cnt; i++)
        out->live_bytes += t->blocks.at[i].size;
    out->in_flight = t->intents.cnt;
    out->repaired_sites = t->repaired_sites;
    out->uncertain_sites = t->uncertain_sites;
}

static sl_status check_totals(const sl_log_tables *t, sl_fsck_report *out, sl_error *err) {
    sl_error found = SL_ERROR_INIT;
    if (t->bad_blocks > 0) {
        sl_fail(&found, SL_E_FORMAT,
                "%llu slot%s of the live table: the site or domain does not exist",
                (unsigned long long)t->bad_blocks, sl_plural(t->bad_blocks));
        SL_TRY(add_problem(out, "L7", &found, err));
    }
    if (t->mismatched_sites > 0) {
        sl_fail_at(
            &found, SL_E_FORMAT, t->first_mismatch,
            "byte %llu: the totals of %llu site%s differ from the live blocks; this is the first",
            (unsigned long long)t->first_mismatch, (unsigned long long)t->mismatched_sites,
            sl_plural(t->mismatched_sites));
        SL_TRY(add_problem(out, "L8", &found, err));
    }
    return SL_OK;
}

static bool is_complete(const sl_log_reader *r, const sl_fsck_report *out) {
    return out->lost == 0 && out->torn == 0 && r->state.health[SL_HEALTH_DROPPED] == 0 &&
           r->state.health[SL_HEALTH_THREAD_OVERFLOW] == 0;
}

static sl_status check_replay(const sl_log_reader *r, const sl_log_replay *replay,
                              const sl_log_tables *t, sl_fsck_report *out, sl_error *err) {
    sl_error found = SL_ERROR_INIT;
    if (out->ending == SL_LOG_LIVE) {
        out->replay = SL_FSCK_REPLAY_LIVE;
        return SL_OK;
    }
    if (!is_complete(r, out)) {
        out->replay = SL_FSCK_REPLAY_LOST;
        return SL_OK;
    }
    out->replay = SL_FSCK_REPLAY_EQUAL;
    if (sl_log_replay_compare(replay, t, &found) >= 0)
        return SL_OK;
    out->replay = SL_FSCK_REPLAY_DIFFERS;
    return add_problem(out, "L10", &found, err);
}

static sl_status check_tables(sl_log_reader *r, const sl_log_replay *replay, sl_fsck_report *out,
                              sl_error *err) {
    sl_log_tables tables;
    sl_error found = SL_ERROR_INIT;
    sl_status status = sl_log_load_tables(r, &tables, &found);
    if (status < 0)
        return note(out, "L5", status, &found, err);
    count_tables(&tables, out);
    status = check_totals(&tables, out, err);
    if (status >= 0 && out->problems.cnt == 0)
        status = check_replay(r, replay, &tables, out, err);
    sl_log_tables_fini(&tables);
    return status;
}

/* ---- lists and curves ---- */

static uint64_t lost_of(const sl_log_reader *r, uint32_t kind, uint64_t kept) {
    int i = sl__log_section(r, kind);
    uint64_t used = i < 0 ? 0 : r->state.marks[i].used;
    return used > kept ? used - kept : 0;
}

static sl_status check_lists(sl_log_reader *r, sl_fsck_report *out, sl_error *err) {
    sl_log_marks marks;
    sl_log_alerts alerts;
    sl_log_ooms ooms;
    sl_error found = SL_ERROR_INIT;
    SL_TRY(note(out, "L1", sl_log_load_all_marks(r, &marks, &found), &found, err));
    out->marks = marks.cnt;
    sl_vec_free(&marks);
    SL_TRY(note(out, "L1", sl_log_load_alerts(r, &alerts, &found), &found, err));
    out->alerts = alerts.cnt;
    sl_vec_free(&alerts);
    SL_TRY(note(out, "L1", sl_log_load_ooms(r, &ooms, &found), &found, err));
    out->ooms = ooms.cnt;
    sl_vec_free(&ooms);
    out->marks_lost = lost_of(r, SL_SECTION_MARKS, out->marks);
    out->alerts_lost = lost_of(r, SL_SECTION_ALERTS, out->alerts);
    out->ooms_lost = lost_of(r, SL_SECTION_OOMS, out->ooms);
    return SL_OK;
}

static sl_status check_curve(sl_log_reader *r, uint32_t counter, sl_fsck_report *out,
                             sl_error *err) {
    sl_log_bins bins;
    sl_error found = SL_ERROR_INIT;
    sl_status status = sl_log_load_curve(r, counter, &bins, &found);
    if (status < 0)
        return note(out, "L1", status, &found, err);
    for (size_t i = 0; i < bins.cnt && status >= 0; i++) {
        const sl_log_bin *b = &bins.at[i];
        if (b->min <= b->max && b->min <= b->last && b->last <= b->max)
            continue;
        if (out->ending == SL_LOG_LIVE)
            continue;
        sl_fail(&found, SL_E_FORMAT,
                "counter %u: the bin at %llu ns: expected min <= last <= max, found %llu, %llu, "
                "%llu",
                counter, (unsigned long long)b->start_ns, (unsigned long long)b->min,
                (unsigned long long)b->last, (unsigned long long)b->max);
        status = add_problem(out, "L1", &found, err);
        break;
    }
    sl_vec_free(&bins);
    return status;
}

static sl_status check_curves(sl_log_reader *r, sl_fsck_report *out, sl_error *err) {
    sl_log_counters counters;
    sl_error found = SL_ERROR_INIT;
    sl_status status = sl_log_load_counters(r, &counters, &found);
    if (status < 0)
        return note(out, "L1", status, &found, err);
    for (size_t i = 0; i < counters.cnt && status >= 0; i++)
        status = check_curve(r, counters.at[i].idx, out, err);
    sl_vec_free(&counters);
    return status;
}

/* ---- all ---- */

static sl_status check_all(sl_log_reader *r, sl_log_replay *replay, sl_fsck_report *out,
                           sl_error *err) {
    sl_error found = SL_ERROR_INIT;
    SL_TRY(sl_log_refresh(r, err));
    out->ending = sl_log_get_ending(r);
    out->duration_ns = r->state.closed_ns ? r->state.closed_ns : r->state.heartbeat_ns;
    out->replay = out->ending == SL_LOG_LIVE ? SL_FSCK_REPLAY_LIVE : SL_FSCK_REPLAY_LOST;
    for (int i = 0; i < SL_HEALTH_LIMIT; i++)
        out->health[i] = r->state.health[i];
    sl_status names = sl_log_load_names(r, &found);
    SL_TRY(note(out, "L5", names, &found, err));
    SL_TRY(list_sections(r, out, err));
    SL_TRY(check_tickets(r, out, err));
    SL_TRY(check_lists(r, out, err));
    SL_TRY(check_curves(r, out, err));
    if (names < 0)
        return SL_OK; /* events and tables cannot be read without names */
    SL_TRY(check_events(r, replay, out, err));
    return check_tables(r, replay, out, err);
}

sl_status sl_log_fsck(sl_log_reader *reader, sl_fsck_report *out, sl_error *err) {
    sl_log_replay replay = {0};
    *out = (sl_fsck_report){0};
    sl_status status = check_all(reader, &replay, out, err);
    sl_log_replay_fini(&replay);
    if (status < 0)
        sl_log_fsck_fini(out);
    return status;
}

void sl_log_fsck_fini(sl_fsck_report *report) {
    sl_vec_free(&report->sections);
    sl_vec_free(&report->problems);
    sl_arena_fini(&report->arena);
}
