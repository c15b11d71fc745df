/* SPDX-License-Identifier: MIT */
/* Events in order of time. The records of one thread slot are in order already, chunk after chunk
 * by ticket; a heap merges the slots. Memory: one chunk per slot that has events to deliver. */
#include <stdlib.h>
#include <string.h>

#include "log/read/log_reader_impl.h"

/* Records [from, to) of one chunk, still to be delivered. */
typedef struct piece {
    uint64_t ticket;
    uint64_t chunk; /* position in the ring */
    uint32_t thread;
    uint32_t from, to;
} piece;

/* What the merge sees of one thread slot. */
typedef struct stream {
    size_t next_piece, end_piece; /* into cursor.pieces */
    uint32_t at, end;             /* into records */
    sl_fmt_record *records;       /* owned, one chunk; NULL when nothing is loaded */
    sl_fmt_chunk head;
    uint64_t offset;  /* byte of records[0] in the file */
    uint64_t time_ns; /* of records[at] */
} stream;

/* How far each chunk of the ring has been read. */
typedef struct seen {
    uint64_t ticket;
    uint32_t cnt;
} seen;

struct sl_log_cursor {
    sl_log_reader *reader; /* borrowed */
    const sl_fmt_section *ring;
    seen *seen; /* owned; by position in the ring */
    uint64_t seen_cnt;
    uint64_t last_ticket; /* of this look */
    SL_VEC(piece) pieces;
    SL_VEC(stream) streams;
    SL_VEC(uint32_t) heap;  /* of streams, earliest first */
    sl_log_intents intents; /* unpublished events of a dead writer, ascending time */
    size_t next_intent;
    bool intents_are_loaded;
    uint64_t thread_cnt;
    SL_VEC(uint64_t) published; /* by thread slot, as of the last scan (L10) */
    uint64_t present;           /* records queued and not overwritten since */
    uint64_t lost;              /* published by all - present */
    uint64_t reported_lost;
    uint64_t torn;
};

static sl_status no_memory(sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for a cursor");
}

/* ---- looking for pieces ---- */

static uint64_t chunk_offset(const sl_log_cursor *c, uint64_t i) {
    return c->ring->offset + i * c->ring->record_bytes;
}

static sl_status check_head(const sl_log_cursor *c, uint64_t i, const sl_fmt_chunk *head,
                            sl_error *err) {
    uint64_t at = chunk_offset(c, i);
    uint32_t cap = sl_chunk_cap(c->ring->record_bytes);
    if (sl_chunk_count(head->word) > cap)
        return sl_fail_at(
            err, SL_E_FORMAT, at, "byte %llu: chunk %llu: expected at most %u records, found %u",
            (unsigned long long)at, (unsigned long long)i, cap, sl_chunk_count(head->word));
    if ((uint32_t)head->thread >= c->thread_cnt)
        return sl_fail_at(err, SL_E_FORMAT, at + offsetof(sl_fmt_chunk, thread),
                          "byte %llu: chunk %llu: expected a thread slot below %llu, found %u",
                          (unsigned long long)(at + offsetof(sl_fmt_chunk, thread)),
                          (unsigned long long)i, (unsigned long long)c->thread_cnt,
                          (uint32_t)head->thread);
    return SL_OK;
}

/* A chunk's own count of its thread's events; a killed thread may have left its counter one short
 * (L10). */
static void count_chunk(sl_log_cursor *c, const sl_fmt_chunk *head) {
    uint32_t thread = (uint32_t)head->thread;
    if (head->before == 0 || head->before > SL_SIZE_MASK || thread >= c->published.cnt)
        return;
    uint64_t published = head->before - 1 + sl_chunk_count(head->word);
    if (published > c->published.at[thread])
        c->published.at[thread] = published;
}

/* A head whose ticket changed while it was copied is read again by the next scan. */
static sl_status look_at_chunk(sl_log_cursor *c, uint64_t i, sl_error *err) {
    sl_fmt_chunk head;
    uint64_t word;
    SL_TRY(sl__log_read(c->reader, &head, sizeof head, chunk_offset(c, i), err));
    uint32_t cnt = sl_chunk_count(head.word);
    if (cnt == 0 || sl_chunk_ticket(head.word) == 0)
        return SL_OK;
    SL_TRY(sl__log_read(c->reader, &word, sizeof word, chunk_offset(c, i), err));
    seen *s = &c->seen[i];
    if (sl_chunk_ticket(word) != sl_chunk_ticket(head.word) ||
        sl_chunk_ticket(word) > c->last_ticket)
        return SL_OK;
    SL_TRY(check_head(c, i, &head, err));
    count_chunk(c, &head);
    uint32_t from = s->ticket == sl_chunk_ticket(word) ? s->cnt : 0;
    *s = (seen){sl_chunk_ticket(word), cnt};
    if (from >= cnt)
        return SL_OK;
    piece p = {sl_chunk_ticket(head.word), i, (uint32_t)head.thread, from, cnt};
    c->present += cnt - from;
    return sl_vec_push(&c->pieces, p) ? SL_OK : no_memory(err);
}

static sl_status grow_seen(sl_log_cursor *c, uint64_t cnt, sl_error *err) {
    if (cnt <= c->seen_cnt)
        return SL_OK;
    seen *grown = realloc(c->seen, cnt * sizeof *grown);
    if (!grown)
        return no_memory(err);
    memset(grown + c->seen_cnt, 0, (cnt - c->seen_cnt) * sizeof *grown);
    c->seen = grown;
    c->seen_cnt = cnt;
    return SL_OK;
}

/* Read before the newest ticket and the chunks: whatever these threads had published by now must
 * be among the pieces, or was overwritten. */
static sl_status count_published(sl_log_cursor *c, sl_error *err) {
    uint64_t cnt;
    const sl_fmt_section *s = sl__log_find(c->reader, SL_SECTION_THREADS, &cnt);
    sl_fmt_thread *threads;
    if (!s)
        return SL_OK;
    SL_TRY(sl__log_load(c->reader, s, cnt, &threads, err));
    c->published.cnt = 0;
    bool has_room = sl_vec_reserve(&c->published, cnt);
    for (uint64_t i = 0; has_room && i < cnt; i++)
        c->published.at[c->published.cnt++] = threads[i].published;
    free(threads);
    return has_room ? SL_OK : no_memory(err);
}

static int by_thread_and_ticket(const void *a, const void *b) {
    const piece *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->ticket < y->ticket ? -1 : x->ticket > y->ticket;
}

/* Tickets given out after the look began wait for the next one. A thread takes its next ticket
 * only when the chunk before is full, so a chunk that has a successor up to this mark is counted
 * whole; without the mark a chunk could be counted early and its successor late, and the events
 * between would come out of order. */
static uint64_t newest_ticket(const sl_log_reader *r) {
    return r->state.marks[sl__log_section(r, SL_SECTION_RING)].used;
}

static sl_status find_pieces(sl_log_cursor *c, sl_error *err) {
    uint64_t chunk_cnt;
    c->ring = sl__log_find(c->reader, SL_SECTION_RING, &chunk_cnt);
    c->pieces.cnt = 0;
    if (!c->ring)
        return sl_fail(err, SL_E_FORMAT, "expected a section ring, found none");
    c->last_ticket = newest_ticket(c->reader);
    (void)sl__log_find(c->reader, SL_SECTION_THREADS, &c->thread_cnt);
    SL_TRY(grow_seen(c, chunk_cnt, err));
    for (uint64_t i = 0; i < chunk_cnt; i++)
        SL_TRY(look_at_chunk(c, i, err));
    if (c->pieces.cnt > 0)
        qsort(c->pieces.at, c->pieces.cnt, sizeof c->pieces.at[0], by_thread_and_ticket);
    uint64_t published = 0;
    for (size_t i = 0; i < c->published.cnt; i++)
        published += c->published.at[i];
    if (published > c->present)
        c->lost = published - c->present;
    return SL_OK;
}

/* ---- loading ---- */

/* 1 when the records are there and whole (L4), 0 when the writer has taken the chunk back. */
static int read_piece(sl_log_cursor *c, stream *s, const piece *p, sl_error *err) {
    uint64_t head_at = chunk_offset(c, p->chunk), word;
    s->offset = head_at + sizeof s->head;
    SL_TRY(sl__log_read(c->reader, &s->head, sizeof s->head, head_at, err));
    SL_TRY(sl__log_read(c->reader, s->records + p->from,
                        (uint64_t)(p->to - p->from) * sizeof s->records[0],
                        s->offset + p->from * sizeof s->records[0], err));
    SL_TRY(sl__log_read(c->reader, &word, sizeof word, head_at, err));
    return sl_chunk_ticket(s->head.word) == p->ticket && sl_chunk_ticket(word) == p->ticket;
}

static bool is_whole(const stream *s, const sl_fmt_record *r) {
    return (uint8_t)r->w0 != 0 && (uint8_t)(r->w0 >> 8) == (uint8_t)sl_chunk_ticket(s->head.word);
}

/* Moves to the next whole record of the loaded piece; false at its end. */
static bool skip_torn(sl_log_cursor *c, stream *s) {
    for (; s->at < s->end; s->at++) {
        if (is_whole(s, &s->records[s->at])) {
            s->time_ns = s->head.base_ns + (s->records[s->at].w3 & SL_SIZE_MASK);
            return true;
        }
        c->torn++;
    }
    return false;
}

/* 1: the stream has a record; 0: it is used up. */
static int advance(sl_log_cursor *c, stream *s, sl_error *err) {
    while (!skip_torn(c, s)) {
        if (s->next_piece == s->end_piece)
            return 0;
        const piece *p = &c->pieces.at[s->next_piece++];
        int is_there = read_piece(c, s, p, err);
        if (is_there < 0)
            return is_there;
        s->at = p->from;
        s->end = p->to;
        if (!is_there) {
            s->at = s->end;
            c->present -= p->to - p->from;
            c->lost += p->to - p->from;
        }
    }
    return 1;
}

/* ---- merging ---- */

static bool is_before(const sl_log_cursor *c, uint32_t a, uint32_t b) {
    const stream *x = &c->streams.at[a], *y = &c->streams.at[b];
    return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : a < b;
}

static void sift_down(sl_log_cursor *c, size_t i) {
    uint32_t *heap = c->heap.at;
    for (size_t child; (child = 2 * i + 1) < c->heap.cnt; i = child) {
        if (child + 1 < c->heap.cnt && is_before(c, heap[child + 1], heap[child]))
            child++;
        if (!is_before(c, heap[child], heap[i]))
            return;
        uint32_t t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

static sl_status add_stream(sl_log_cursor *c, size_t first, size_t end, sl_error *err) {
    stream s = {.next_piece = first, .end_piece = end};
    if (!sl_vec_push(&c->streams, s) || !sl_vec_reserve(&c->heap, 1))
        return no_memory(err);
    stream *added = &c->streams.at[c->streams.cnt - 1];
    added->records = malloc(c->ring->record_bytes);
    if (!added->records)
        return no_memory(err);
    int more = advance(c, added, err);
    if (more < 0)
        return (sl_status)more;
    if (more)
        c->heap.at[c->heap.cnt++] = (uint32_t)c->streams.cnt - 1;
    return SL_OK;
}

static void drop_streams(sl_log_cursor *c) {
    for (size_t i = 0; i < c->streams.cnt; i++)
        free(c->streams.at[i].records);
    c->streams.cnt = c->heap.cnt = 0;
}

static sl_status build_streams(sl_log_cursor *c, sl_error *err) {
    drop_streams(c);
    for (size_t i = 0, first = 0; i < c->pieces.cnt; i++)
        if (i + 1 == c->pieces.cnt || c->pieces.at[i + 1].thread != c->pieces.at[first].thread) {
            SL_TRY(add_stream(c, first, i + 1, err));
            first = i + 1;
        }
    for (size_t i = c->heap.cnt; i-- > 0;)
        sift_down(c, i);
    return SL_OK;
}

/* ---- events in flight ---- */

static int by_time(const void *a, const void *b) {
    const sl_log_intent *x = a, *y = b;
    return x->record.time_ns < y->record.time_ns ? -1 : x->record.time_ns > y->record.time_ns;
}

/* A dead writer's unfinished events count as having happened (L9); a living one finishes them. */
static sl_status add_intents(sl_log_cursor *c, sl_error *err) {
    if (c->intents_are_loaded || sl_log_get_ending(c->reader) == SL_LOG_LIVE)
        return SL_OK;
    SL_TRY(sl__log_load_intents(c->reader, &c->intents, err));
    c->intents_are_loaded = true;
    size_t kept = 0;
    for (size_t i = 0; i < c->intents.cnt; i++)
        if (!c->intents.at[i].is_published)
            c->intents.at[kept++] = c->intents.at[i];
    c->intents.cnt = kept;
    if (kept > 1)
        qsort(c->intents.at, kept, sizeof c->intents.at[0], by_time);
    return SL_OK;
}

/* ---- interface ---- */

sl_status sl_log_cursor_follow(sl_log_cursor *c, sl_error *err) {
    SL_TRY(count_published(c, err));
    SL_TRY(sl_log_refresh(c->reader, err));
    SL_TRY(find_pieces(c, err));
    SL_TRY(build_streams(c, err));
    return add_intents(c, err);
}

sl_status sl_log_cursor_new(sl_log_reader *reader, sl_log_cursor **out, sl_error *err) {
    sl_log_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return no_memory(err);
    c->reader = reader;
    sl_status status = sl_log_load_names(reader, err);
    if (status >= 0)
        status = sl_log_cursor_follow(c, err);
    if (status < 0) {
        sl_log_cursor_free(c);
        return status;
    }
    c->reported_lost = c->lost; /* lost before this cursor began: reported by _lost, not as an
                                 * overrun */
    *out = c;
    return SL_OK;
}

static void decode(const stream *s, const sl_fmt_record *r, sl_log_record *out) {
    *out = (sl_log_record){
        .time_ns = s->time_ns,
        .addr = r->w1,
        .size = r->w2 & SL_SIZE_MASK,
        .stack = (uint32_t)(r->w0 >> 32),
        .tid = (uint32_t)(s->head.thread >> 32),
        .label = (uint16_t)(r->w2 >> SL_SIZE_BITS),
        .tag = (uint16_t)(r->w3 >> SL_SIZE_BITS),
        .kind = (uint8_t)r->w0,
        .flags = (uint8_t)(r->w0 >> 24),
        .device = (int8_t)(r->w0 >> 16),
    };
}

static sl_status deliver(sl_log_cursor *c, sl_log_record *out, sl_error *err) {
    uint32_t top = c->heap.at[0];
    stream *s = &c->streams.at[top];
    decode(s, &s->records[s->at], out);
    SL_TRY(sl__log_check_stack(c->reader, out->stack, s->offset + s->at * sizeof s->records[0] + 4,
                               err));
    s->at++;
    int more = advance(c, s, err);
    if (more < 0)
        return (sl_status)more;
    if (!more)
        c->heap.at[0] = c->heap.at[--c->heap.cnt];
    sift_down(c, 0);
    return SL_OK;
}

int sl_log_cursor_next(sl_log_cursor *c, sl_log_record *record, sl_error *err) {
    if (c->lost > c->reported_lost) {
        uint64_t more = c->lost - c->reported_lost;
        c->reported_lost = c->lost;
        return sl_fail(err, SL_E_LAPPED, "the writer overtook this reader: %llu event%s missing",
                       (unsigned long long)more, more == 1 ? " is" : "s are");
    }
    bool has_intent = c->next_intent < c->intents.cnt;
    if (has_intent && (c->heap.cnt == 0 || c->intents.at[c->next_intent].record.time_ns <
                                               c->streams.at[c->heap.at[0]].time_ns)) {
        *record = c->intents.at[c->next_intent++].record;
        return 1;
    }
    if (c->heap.cnt == 0)
        return 0;
    sl_status status = deliver(c, record, err);
    return status < 0 ? status : 1;
}

uint64_t sl_log_cursor_lost(const sl_log_cursor *c) {
    return c->lost;
}

uint64_t sl_log_cursor_torn(const sl_log_cursor *c) {
    return c->torn;
}

void sl_log_cursor_free(sl_log_cursor *c) {
    if (!c)
        return;
    drop_streams(c);
    sl_vec_free(&c->streams);
    sl_vec_free(&c->heap);
    sl_vec_free(&c->pieces);
    sl_vec_free(&c->intents);
    sl_vec_free(&c->published);
    free(c->seen);
    free(c);
}
