/* SPDX-License-Identifier: MIT */
/* Sites, live blocks and threads; and for a dead writer the completion of what it was doing. */
#include <stdlib.h>
#include <string.h>

#include "log/read/log_reader_impl.h"

#define BUCKETS_AT_ONCE 128

static sl_status no_memory(sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for the tables of a log");
}

/* ---- threads and intents ---- */

static sl_status load_threads(sl_log_reader *r, sl_fmt_thread **threads, uint64_t *cnt,
                              sl_error *err) {
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_THREADS, cnt);
    *threads = NULL;
    if (!s)
        return SL_OK;
    uint64_t used = r->state.marks[sl__log_section(r, SL_SECTION_THREADS)].used;
    if (*cnt > used)
        *cnt = used;
    return sl__log_load(r, s, *cnt, threads, err);
}

/* Whether the record that the intent announces is in the ring (L3). */
static sl_status find_published(const sl_log_reader *r, const sl_fmt_thread *t, bool *is_published,
                                sl_error *err) {
    uint64_t chunk_cnt, word;
    const sl_fmt_section *ring = sl__log_find(r, SL_SECTION_RING, &chunk_cnt);
    uint64_t position = t->intent.position;
    *is_published = false;
    if (!ring || position == 0 || t->chunk == 0 || t->chunk > chunk_cnt)
        return SL_OK;
    SL_TRY(sl__log_read(r, &word, sizeof word, ring->offset + (t->chunk - 1) * ring->record_bytes,
                        err));
    *is_published =
        sl_chunk_ticket(word) == position >> 16 && sl_chunk_count(word) > (position & 0xffff);
    return SL_OK;
}

static sl_status check_intent(sl_log_reader *r, const sl_fmt_intent *i, uint64_t at,
                              sl_error *err) {
    int sites = sl__log_section(r, SL_SECTION_SITES);
    uint64_t site_cnt = sites < 0 ? 0 : r->state.marks[sites].used;
    uint8_t kind = (uint8_t)i->w0;
    if (kind >= SL_EV_LIMIT || sl_kind_rows[kind].effect == SL_EFFECT_NONE)
        return sl_fail_at(err, SL_E_FORMAT, at,
                          "byte %llu: expected an event that changes totals in flight, found kind "
                          "%u",
                          (unsigned long long)at, kind);
    if (i->site >= site_cnt)
        return sl_fail_at(err, SL_E_FORMAT, at + offsetof(sl_fmt_intent, site),
                          "byte %llu: expected a site below %llu, found %llu",
                          (unsigned long long)(at + offsetof(sl_fmt_intent, site)),
                          (unsigned long long)site_cnt, (unsigned long long)i->site);
    return sl__log_check_stack(r, (uint32_t)(i->w0 >> 32), at + 4, err);
}

static sl_status add_intent(sl_log_reader *r, const sl_fmt_thread *t, uint32_t slot,
                            sl_log_intents *out, sl_error *err) {
    const sl_fmt_intent *i = &t->intent;
    const sl_fmt_section *s = &r->header.sections[sl__log_section(r, SL_SECTION_THREADS)];
    sl_log_intent intent = {.site = (uint32_t)i->site, .thread = slot, .phase = i->phase};
    SL_TRY(check_intent(r, i, s->offset + slot * sizeof *t + offsetof(sl_fmt_thread, intent), err));
    SL_TRY(find_published(r, t, &intent.is_published, err));
    intent.record = (sl_log_record){
        .time_ns = i->time_ns,
        .addr = i->addr,
        .size = i->w2 & SL_SIZE_MASK,
        .stack = (uint32_t)(i->w0 >> 32),
        .tid = (uint32_t)t->word,
        .label = (uint16_t)(i->w2 >> SL_SIZE_BITS),
        .tag = (uint16_t)(i->w3 >> SL_SIZE_BITS),
        .kind = (uint8_t)i->w0,
        .flags = (uint8_t)(i->w0 >> 24),
        .device = (int8_t)(i->w0 >> 16),
        .in_flight = true,
    };
    return sl_vec_push(out, intent) ? SL_OK : no_memory(err);
}

static sl_status collect_intents(sl_log_reader *r, const sl_fmt_thread *threads, uint64_t cnt,
                                 sl_log_intents *out, sl_error *err) {
    for (uint64_t i = 0; i < cnt; i++)
        if (threads[i].intent.w0 != 0)
            SL_TRY(add_intent(r, &threads[i], (uint32_t)i, out, err));
    return SL_OK;
}

sl_status sl__log_load_intents(sl_log_reader *r, sl_log_intents *out, sl_error *err) {
    sl_fmt_thread *threads;
    uint64_t cnt;
    SL_TRY(load_threads(r, &threads, &cnt, err));
    sl_status status = collect_intents(r, threads, cnt, out, err);
    free(threads);
    return status;
}

static sl_status add_threads(const sl_fmt_thread *threads, uint64_t cnt, sl_log_tables *out,
                             sl_error *err) {
    for (uint64_t i = 0; i < cnt; i++) {
        const sl_fmt_thread *t = &threads[i];
        sl_log_thread_info info = {.tid = (uint32_t)t->word,
                                   .state = (uint8_t)(t->word >> 32),
                                   .first_ns = t->first_ns,
                                   .published = t->published};
        memcpy(info.name, t->name, sizeof t->name);
        if (!sl_vec_push(&out->threads, info))
            return no_memory(err);
    }
    return SL_OK;
}

static sl_status load_thread_table(sl_log_reader *r, sl_log_tables *out, sl_error *err) {
    sl_fmt_thread *threads;
    uint64_t cnt;
    SL_TRY(load_threads(r, &threads, &cnt, err));
    sl_log_intents intents = {0};
    sl_status status = add_threads(threads, cnt, out, err);
    if (status >= 0 && !sl__log_is_live(r))
        status = collect_intents(r, threads, cnt, &intents, err);
    free(threads);
    out->intents.at = intents.at;
    out->intents.cnt = intents.cnt;
    out->intents.cap = intents.cap;
    return status;
}

/* ---- sites ---- */

/* While the file is written the frees may have been read after allocs that are not seen yet. */
static uint64_t less(uint64_t all, uint64_t gone) {
    return all > gone ? all - gone : 0;
}

static sl_status add_site(sl_log_reader *r, const sl_fmt_site *from, uint32_t id, uint64_t at,
                          sl_log_tables *out, sl_error *err) {
    sl_log_site site = {
        .id = id,
        .stack = from->stack,
        .label = from->label,
        .domain = from->domain,
        .device = from->device,
        .alloc_cnt = from->alloc_cnt,
        .alloc_bytes = from->alloc_bytes,
        .free_cnt = from->free_cnt,
        .free_bytes = from->free_bytes,
        .live_cnt = less(from->alloc_cnt, from->free_cnt),
        .live_bytes = less(from->alloc_bytes, from->free_bytes),
        .peak_bytes = from->peak_bytes,
        .first_ns = from->first_ns,
    };
    SL_TRY(sl__log_check_stack(r, from->stack, at, err));
    return sl_vec_push(&out->sites, site) ? SL_OK : no_memory(err);
}

static sl_status load_sites(sl_log_reader *r, sl_log_tables *out, sl_error *err) {
    uint64_t cnt;
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_SITES, &cnt);
    sl_fmt_site *sites;
    if (!s)
        return sl_fail(err, SL_E_FORMAT, "expected a section sites, found none");
    uint64_t used = r->state.marks[sl__log_section(r, SL_SECTION_SITES)].used;
    if (used < cnt)
        cnt = used;
    SL_TRY(sl__log_load(r, s, cnt, &sites, err));
    sl_status status = SL_OK;
    for (uint64_t i = 0; i < cnt && status >= 0; i++)
        if (sites[i].domain != 0)
            status = add_site(r, &sites[i], (uint32_t)i, s->offset + i * sizeof *sites, out, err);
    free(sites);
    return status;
}

static int compare_site_id(const void *key, const void *site) {
    uint32_t wanted = *(const uint32_t *)key, found = ((const sl_log_site *)site)->id;
    return wanted < found ? -1 : wanted > found;
}

static sl_log_site *find_site(const sl_log_tables *t, uint32_t id) {
    if (t->sites.cnt == 0)
        return NULL;
    return bsearch(&id, t->sites.at, t->sites.cnt, sizeof t->sites.at[0], compare_site_id);
}

/* ---- live blocks ---- */

static sl_status add_block(sl_log_tables *out, uint64_t key, const sl_fmt_live *live,
                           sl_error *err) {
    sl_log_block block = {
        .addr = key,
        .size = live->size_word & SL_SIZE_MASK,
        .time_ns = live->time_ns,
        .site = (uint32_t)live->site_word,
        .label = (uint16_t)(live->site_word >> 32),
        .tag = (uint16_t)(live->site_word >> 48),
        .domain = (uint8_t)(live->size_word >> 56),
        .device = (int8_t)(live->size_word >> 48),
    };
    if (block.domain == 0 || block.domain >= SL_DOMAIN_LIMIT || !find_site(out, block.site)) {
        out->bad_blocks++;
        return SL_OK;
    }
    return sl_vec_push(&out->blocks, block) ? SL_OK : no_memory(err);
}

static sl_status add_bucket(sl_log_tables *out, const sl_fmt_bucket *b, const sl_fmt_bucket *again,
                            sl_error *err) {
    for (int i = 0; i < SL_FORMAT_BUCKET_SLOTS; i++) {
        if (b->key[i] <= SL_FORMAT_KEY_BUSY)
            continue;
        /* Two equal copies, the time of the alloc among them: one block, not two halves. */
        if (again && (b->key[i] != again->key[i] ||
                      memcmp(&b->slot[i], &again->slot[i], sizeof b->slot[i]) != 0))
            continue;
        SL_TRY(add_block(out, b->key[i], &b->slot[i], err));
    }
    return SL_OK;
}

typedef struct bucket_buffer {
    sl_fmt_bucket first[BUCKETS_AT_ONCE];
    sl_fmt_bucket again[BUCKETS_AT_ONCE];
} bucket_buffer;

static sl_status load_level(sl_log_reader *r, uint32_t section, bucket_buffer *buffer,
                            sl_log_tables *out, sl_error *err) {
    const sl_fmt_section *s = &r->header.sections[section];
    uint64_t cnt = r->state.marks[section].reserved;
    bool is_live = sl__log_is_live(r);
    for (uint64_t i = 0; i < cnt; i += BUCKETS_AT_ONCE) {
        uint64_t n = cnt - i < BUCKETS_AT_ONCE ? cnt - i : BUCKETS_AT_ONCE;
        uint64_t offset = s->offset + i * sizeof(sl_fmt_bucket), bytes = n * sizeof(sl_fmt_bucket);
        SL_TRY(sl__log_read(r, buffer->first, bytes, offset, err));
        if (is_live)
            SL_TRY(sl__log_read(r, buffer->again, bytes, offset, err));
        for (uint64_t k = 0; k < n; k++)
            SL_TRY(add_bucket(out, &buffer->first[k], is_live ? &buffer->again[k] : NULL, err));
    }
    return SL_OK;
}

static sl_status load_blocks(sl_log_reader *r, sl_log_tables *out, sl_error *err) {
    bucket_buffer *buffer = malloc(sizeof *buffer);
    sl_status status = buffer ? SL_OK : no_memory(err);
    for (uint32_t i = 0; i < r->header.section_cnt && status >= 0; i++)
        if (r->header.sections[i].kind == SL_SECTION_LIVE)
            status = load_level(r, i, buffer, out, err);
    free(buffer);
    return status;
}

/* ---- carrying intents through (L9) ---- */

/* What the intents leave open about one site, and what the live table says. */
typedef struct site_check {
    uint64_t live_cnt, live_bytes; /* by the table */
    uint32_t intents;
    uint32_t alloc_cnt_open, free_cnt_open; /* intents whose step is in doubt */
    uint32_t alloc_bytes_open, free_bytes_open;
} site_check;

static size_t find_block(const sl_log_tables *t, const sl_log_intent *intent) {
    uint8_t domain = sl_kind_rows[intent->record.kind].domain;
    for (size_t i = 0; i < t->blocks.cnt; i++) {
        const sl_log_block *b = &t->blocks.at[i];
        if (b->addr == intent->record.addr && b->domain == domain &&
            b->device == intent->record.device)
            return i;
    }
    return SIZE_MAX;
}

static sl_status finish_alloc(sl_log_tables *t, const sl_log_intent *intent, sl_log_site *site,
                              site_check *check, sl_error *err) {
    const sl_log_record *e = &intent->record;
    if (find_block(t, intent) == SIZE_MAX) {
        sl_log_block block = {e->addr,
                              e->size,
                              e->time_ns,
                              intent->site,
                              e->label,
                              e->tag,
                              sl_kind_rows[e->kind].domain,
                              e->device};
        if (!sl_vec_push(&t->blocks, block))
            return no_memory(err);
    }
    site->alloc_cnt += intent->phase < SL_ALLOC_CNT;
    site->alloc_bytes += intent->phase < SL_ALLOC_BYTES ? e->size : 0;
    check->alloc_cnt_open += intent->phase == SL_ALLOC_CNT;
    check->alloc_bytes_open += intent->phase == SL_ALLOC_BYTES;
    return SL_OK;
}

static void finish_free(sl_log_tables *t, const sl_log_intent *intent, sl_log_site *site,
                        site_check *check) {
    size_t i = intent->phase <= SL_FREE_TABLE ? find_block(t, intent) : SIZE_MAX;
    if (i != SIZE_MAX)
        t->blocks.at[i] = t->blocks.at[--t->blocks.cnt];
    site->free_bytes += intent->phase < SL_FREE_BYTES ? intent->record.size : 0;
    check->free_cnt_open += intent->phase == SL_FREE_CNT;
    check->free_bytes_open += intent->phase == SL_FREE_BYTES;
}

static sl_status finish_intents(sl_log_tables *t, site_check *checks, sl_error *err) {
    for (size_t i = 0; i < t->intents.cnt; i++) {
        const sl_log_intent *intent = &t->intents.at[i];
        sl_log_site *site = find_site(t, intent->site);
        if (!site)
            continue;
        site_check *check = &checks[site - t->sites.at];
        check->intents++;
        if (sl_kind_rows[intent->record.kind].effect == SL_EFFECT_ALLOC)
            SL_TRY(finish_alloc(t, intent, site, check, err));
        else
            finish_free(t, intent, site, check);
    }
    return SL_OK;
}

/* Makes allocs - frees equal to what lives by completing the steps in doubt; false when no step in
 * doubt can explain the difference. */
static bool settle(uint64_t *allocs, uint64_t *frees, uint64_t live, uint32_t allocs_open,
                   uint32_t frees_open) {
    int64_t missing = (int64_t)(live - (*allocs - *frees));
    if (missing > 0 && allocs_open > 0)
        *allocs += (uint64_t)missing;
    else if (missing < 0 && frees_open > 0)
        *frees += (uint64_t)-missing;
    else
        return missing == 0;
    return true;
}

static void settle_site(sl_log_tables *t, sl_log_site *site, const site_check *check,
                        uint64_t position) {
    sl_log_site before = *site;
    bool is_fine = settle(&site->alloc_cnt, &site->free_cnt, check->live_cnt, check->alloc_cnt_open,
                          check->free_cnt_open);
    is_fine &= settle(&site->alloc_bytes, &site->free_bytes, check->live_bytes,
                      check->alloc_bytes_open, check->free_bytes_open);
    site->live_cnt = check->live_cnt;
    site->live_bytes = check->live_bytes;
    if (site->peak_bytes < site->live_bytes)
        site->peak_bytes = site->live_bytes;
    site->is_uncertain = (check->alloc_cnt_open > 0 && check->free_cnt_open > 0) ||
                         (check->alloc_bytes_open > 0 && check->free_bytes_open > 0);
    t->uncertain_sites += site->is_uncertain;
    t->repaired_sites += memcmp(&before, site, sizeof before) != 0 && check->intents > 0;
    if (!is_fine && t->mismatched_sites++ == 0)
        t->first_mismatch = position;
}

static sl_status repair(sl_log_reader *r, sl_log_tables *t, sl_error *err) {
    site_check *checks = calloc(t->sites.cnt + 1, sizeof *checks);
    if (!checks)
        return no_memory(err);
    const sl_fmt_section *s = &r->header.sections[sl__log_section(r, SL_SECTION_SITES)];
    sl_status status = finish_intents(t, checks, err);
    for (size_t i = 0; i < t->blocks.cnt && status >= 0; i++) {
        site_check *check = &checks[find_site(t, t->blocks.at[i].site) - t->sites.at];
        check->live_cnt++;
        check->live_bytes += t->blocks.at[i].size;
    }
    for (size_t i = 0; i < t->sites.cnt && status >= 0; i++)
        settle_site(t, &t->sites.at[i], &checks[i],
                    s->offset + (uint64_t)t->sites.at[i].id * s->record_bytes);
    free(checks);
    return status;
}

/* A site that never counted anything: the common one, and those whose maker lost the race for
 * its index slot or was killed before it. */
static void drop_unused_sites(sl_log_tables *t) {
    size_t kept = 0;
    for (size_t i = 0; i < t->sites.cnt; i++)
        if (t->sites.at[i].alloc_cnt != 0 || t->sites.at[i].free_cnt != 0)
            t->sites.at[kept++] = t->sites.at[i];
    t->sites.cnt = kept;
}

static sl_status load_all(sl_log_reader *r, sl_log_tables *out, sl_error *err) {
    SL_TRY(sl_log_refresh(r, err));
    SL_TRY(sl_log_load_names(r, err));
    SL_TRY(load_thread_table(r, out, err));
    SL_TRY(load_sites(r, out, err));
    SL_TRY(load_blocks(r, out, err));
    if (!sl__log_is_live(r))
        SL_TRY(repair(r, out, err));
    drop_unused_sites(out);
    return SL_OK;
}

sl_status sl_log_load_tables(sl_log_reader *r, sl_log_tables *out, sl_error *err) {
    *out = (sl_log_tables){0};
    sl_status status = load_all(r, out, err);
    if (status < 0)
        sl_log_tables_fini(out);
    return status;
}

void sl_log_tables_fini(sl_log_tables *t) {
    sl_vec_free(&t->sites);
    sl_vec_free(&t->blocks);
    sl_vec_free(&t->intents);
    sl_vec_free(&t->threads);
}
