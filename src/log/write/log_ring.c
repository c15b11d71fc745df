/* SPDX-License-Identifier: MIT */
/* Threads and their chunks of the ring. A thread owns the chunk it writes, so publishing a record
 * is four plain stores and one release store; threads meet only when they claim a chunk, once in
 * about 2,000 events. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "log/write/log_writer_impl.h"

_Thread_local sl_log_thread sl__this_thread;

static sl_fmt_thread *thread_slot(const sl_log *log, uint64_t i) {
    return (sl_fmt_thread *)(void *)log->at[SL_SECTION_THREADS] + i;
}

static sl_fmt_chunk *chunk_at(const sl_log *log, uint64_t i) {
    return (sl_fmt_chunk *)(void *)(log->at[SL_SECTION_RING] + i * log->chunk_bytes);
}

static void close_chunk_of(const sl_log *log, sl_fmt_thread *slot) {
    uint64_t chunk = sl_get(&slot->chunk);
    if (chunk == 0 || chunk > sl_get(&log->wm[SL_SECTION_RING]->reserved)) /* (L12) */
        return;
    uint64_t *word = &chunk_at(log, chunk - 1)->word;
    sl_set_release(word, sl_get(word) & ~UINT64_C(1));
    sl_set_release(&slot->chunk, 0);
}

/* Whoever has this thread id is the caller, or was a thread that ended: ids of living threads
 * differ. Either way its slot may be taken over. */
static bool take_over(sl_log *log, sl_fmt_thread *slot, uint64_t tid, bool same_tid) {
    uint64_t word = sl_get_acquire(&slot->word);
    uint8_t state = (uint8_t)(word >> 32);
    uint32_t generation = (uint32_t)(word >> 40);
    if (same_tid ? (uint32_t)word != tid || state == SL_THREAD_SWEEPING : state != SL_THREAD_ENDED)
        return false;
    if (!sl_swap(&slot->word, &word,
                 sl_thread_word((uint32_t)tid, SL_THREAD_IN_USE, generation + 1)))
        return false;
    close_chunk_of(log, slot);
    sl_set_release(&slot->intent.w0, 0);
    return true;
}

static sl_fmt_thread *find_slot(sl_log *log, uint32_t tid, bool same_tid) {
    uint64_t cnt = sl_get_acquire(&log->wm[SL_SECTION_THREADS]->used);
    for (uint64_t i = 0; i < cnt; i++)
        if (take_over(log, thread_slot(log, i), tid, same_tid))
            return thread_slot(log, i);
    return NULL;
}

static sl_fmt_thread *new_slot(sl_log *log, uint32_t tid) {
    sl_fmt_watermark *wm = log->wm[SL_SECTION_THREADS];
    uint64_t used = sl_get(&wm->used);
    do {
        if (used >= sl_get_acquire(&wm->reserved))
            return NULL;
    } while (!sl_swap(&wm->used, &used, used + 1));
    sl__mark_used(log, wm, used + 1);
    sl_fmt_thread *slot = thread_slot(log, used);
    sl_set(&slot->first_ns, sl__now(log));
    sl_set_release(&slot->word, sl_thread_word(tid, SL_THREAD_IN_USE, 1));
    return slot;
}

static void set_name(sl_fmt_thread *slot, const char *name) {
    char text[sizeof slot->name] = {0};
    uint64_t words[2];
    if (name)
        strncpy(text, name, sizeof text - 1);
    else
        prctl(PR_GET_NAME, text);
    memcpy(words, text, sizeof words);
    for (int i = 0; i < 2; i++)
        sl_set((uint64_t *)(void *)slot->name + i, words[i]);
}

/* Slots of ended threads are taken last: they still name the threads of older events. */
sl_log_thread *sl__log_attach_slow(sl_log *log) {
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    sl_fmt_thread *slot = find_slot(log, tid, true);
    if (!slot)
        slot = new_slot(log, tid);
    if (!slot)
        slot = find_slot(log, tid, false);
    if (!slot) {
        sl__health(log, SL_HEALTH_THREAD_OVERFLOW);
        return NULL;
    }
    set_name(slot, NULL);
    sl__this_thread = (sl_log_thread){.log = log,
                                      .epoch = log->epoch,
                                      .slot = slot,
                                      .published = sl_get(&slot->published),
                                      .tid = tid};
    return &sl__this_thread;
}

/* Chunks still open belong to other threads and are passed over (L2). */
static bool claim_slot(sl_log *log, sl_log_thread *thread, uint64_t ticket, uint64_t chunk_cnt,
                       uint64_t time_ns) {
    uint64_t i = (ticket - 1) % chunk_cnt;
    sl_fmt_chunk *chunk = chunk_at(log, i);
    uint64_t found = sl_get_acquire(&chunk->word);
    uint64_t word = ticket << 16 | 1;
    if (sl_chunk_is_open(found) || sl_chunk_ticket(found) > ticket ||
        !sl_swap(&chunk->word, &found, word))
        return false;
    uint64_t slot_idx = (uint64_t)(thread->slot - thread_slot(log, 0));
    sl_set_release(&chunk->base_ns, time_ns);
    sl_set_release(&chunk->thread, slot_idx | (uint64_t)thread->tid << 32);
    sl_set_release(&chunk->before, thread->published + 1);
    sl_set_release(&thread->slot->chunk, i + 1);
    thread->chunk = chunk;
    thread->word = word;
    thread->base_ns = time_ns;
    return true;
}

bool sl__ring_claim(sl_log *log, sl_log_thread *thread, uint64_t time_ns) {
    sl_fmt_watermark *wm = log->wm[SL_SECTION_RING];
    uint64_t chunk_cnt = sl_get_acquire(&wm->reserved);
    close_chunk_of(log, thread->slot);
    thread->chunk = NULL;
    for (uint64_t tries = 0; tries < 2 * chunk_cnt; tries++) {
        uint64_t ticket = sl__mark_add(log, wm, 1) + 1;
        if (claim_slot(log, thread, ticket, chunk_cnt, time_ns))
            return true;
        sl__health(log, SL_HEALTH_SKIPPED_CHUNKS);
    }
    sl__health(log, SL_HEALTH_DROPPED);
    return false;
}

void sl__ring_append(sl_log *log, const sl_log_event *event, uint64_t time_ns, uint8_t flags) {
    sl_log_thread *thread = sl__log_attach(log);
    if (!thread)
        return;
    sl_ring_place place;
    sl__ring_place(log, thread, time_ns, &place);
    sl_fmt_record record = {sl_record_w0(event->kind, event->device, flags, event->stack),
                            event->addr, sl_pack48(event->size, event->label),
                            sl_pack48(place.time_word, event->tag)};
    sl__ring_publish(thread, &place, &record);
}

void sl_log_thread_exit(sl_log *log) {
    if (sl__this_thread.log != log || sl__this_thread.epoch != log->epoch)
        return;
    sl_fmt_thread *slot = sl__this_thread.slot;
    close_chunk_of(log, slot);
    uint64_t word = sl_get(&slot->word);
    sl_set_release(&slot->word,
                   sl_thread_word(sl__this_thread.tid, SL_THREAD_ENDED, (uint32_t)(word >> 40)));
    sl__this_thread.log = NULL;
}

void sl_log_thread_name(sl_log *log, const char *name) {
    sl_log_thread *thread = sl__log_attach(log);
    if (thread)
        set_name(thread->slot, name);
}

/* The generation in the word makes the swap fail when a new thread with this id took the slot
 * over between the question and the answer. */
static void sweep_slot(sl_log *log, sl_fmt_thread *slot) {
    uint64_t word = sl_get_acquire(&slot->word);
    uint32_t tid = (uint32_t)word, generation = (uint32_t)(word >> 40);
    if ((uint8_t)(word >> 32) != SL_THREAD_IN_USE || sl_sys_thread_alive((int)tid) != 0)
        return;
    if (!sl_swap(&slot->word, &word, sl_thread_word(tid, SL_THREAD_SWEEPING, generation)))
        return;
    close_chunk_of(log, slot);
    sl_set_release(&slot->word, sl_thread_word(tid, SL_THREAD_ENDED, generation));
}

void sl__ring_sweep(sl_log *log) {
    uint64_t cnt = sl_get_acquire(&log->wm[SL_SECTION_THREADS]->used);
    for (uint64_t i = 0; i < cnt; i++)
        sweep_slot(log, thread_slot(log, i));
}
