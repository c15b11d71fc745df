/* SPDX-License-Identifier: MIT */
/* Whether recordings are of the same program, and the message when they are not (B1). */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "model/addr_map.h"
#include "whatif/batch/batch.h"

/* If more than this share of the requests at the end has no match, the other recording made
 * fewer steps. */
#define TAIL_SHARE  0.05
/* Blocks from before the trace may differ by this share of the peak. */
#define START_SHARE 0.01

static void refuse(sl_batch *batch, const char *fmt, ...) SL_PRINTF(2, 3);

static void refuse(sl_batch *batch, const char *fmt, ...) {
    va_list args;
    if (batch->refusal[0])
        return;
    va_start(args, fmt);
    vsnprintf(batch->refusal, sizeof batch->refusal, fmt, args);
    va_end(args);
}

/* ---- each by itself ---- */

static void check_recording(sl_batch *batch, const sl_batch_recording *recording) {
    const sl_calls *calls = recording->whatif->calls;
    if (recording->whatif->refusal[0])
        refuse(batch, "the recording of %" PRIu64 ": %s", recording->size,
               recording->whatif->refusal);
    else if (calls->failed_cnt)
        refuse(batch,
               "a request failed in the recording of %" PRIu64
               ": what the program would have done next is not known; record sizes that fit",
               recording->size);
}

static void check_start(sl_batch *batch) {
    const sl_batch_recording *first = &batch->recordings[0];
    for (size_t i = 1; i < batch->recording_cnt; i++) {
        const sl_batch_recording *other = &batch->recordings[i];
        double a = (double)first->whatif->calls->start_bytes;
        double b = (double)other->whatif->calls->start_bytes;
        if (fabs(a - b) > START_SHARE * (double)other->recorded_peak)
            refuse(batch,
                   "%.0f MiB were in use before the recording of %" PRIu64
                   " began and %.0f MiB before that of %" PRIu64
                   "; record from the beginning of the program",
                   a / 1048576, first->size, b / 1048576, other->size);
    }
}

/* ---- as a pair ---- */

/* The difference between the numbers of requests of a stack in two recordings. */
typedef struct stack_count {
    uint32_t stack_id; /* of `a`, or of `b` where a_cnt is 0 */
    uint64_t a_cnt, b_cnt;
} stack_count;

typedef SL_VEC(stack_count) stack_counts;

static bool count_side(stack_counts *counts, sl_addr_map *of_key, const sl_batch_side *side,
                       bool is_a) {
    for (size_t i = 0; i < side->requests.cnt; i++) {
        const sl_batch_request *request = &side->requests.at[i];
        uint32_t idx = sl_addr_map_find(of_key, request->key);
        if (idx == SL_ADDR_NONE) {
            idx = (uint32_t)counts->cnt;
            if (!sl_vec_push(counts, ((stack_count){.stack_id = request->stack_id})) ||
                !sl_addr_map_put(of_key, request->key, idx))
                return false;
        }
        *(is_a ? &counts->at[idx].a_cnt : &counts->at[idx].b_cnt) += 1;
    }
    return true;
}

static uint64_t distance(const stack_count *count) {
    return sl_max_u64(count->a_cnt, count->b_cnt) - sl_min_u64(count->a_cnt, count->b_cnt);
}

/* A stack with a line says more than "no stack". */
static bool is_further(const stack_count *count, const stack_count *than) {
    bool has = count->stack_id != SL_STACK_EMPTY && distance(count) > 0;
    bool had = than->stack_id != SL_STACK_EMPTY && distance(than) > 0;
    return has != had ? has : distance(count) > distance(than);
}

/* Names the stack whose number of requests differs most. */
static void refuse_counts(sl_batch *batch, const sl_batch_recording *a, const sl_batch_recording *b,
                          const stack_count *most) {
    const sl_batch_recording *has = most->a_cnt ? a : b;
    const char *line = sl_site_text(sl_user_site(has->whatif->calls->replay->trace, most->stack_id),
                                    &batch->arena);
    double grown = (double)most->b_cnt / (double)sl_max_u64(most->a_cnt, 1);
    bool is_loop = fabs(grown / ((double)b->size / (double)a->size) - 1) < 0.02;
    refuse(batch,
           "%s allocates %" PRIu64 " times with %" PRIu64 " and %" PRIu64 " times with %" PRIu64
           "%s",
           line ? line : "a line", most->a_cnt, a->size, most->b_cnt, b->size,
           is_loop ? ": the program loops over the size, so its allocations cannot be paired"
                   : ": the recordings are not of the same program, or it takes another path");
}

static sl_status explain_difference(sl_batch *batch, const sl_batch_recording *a,
                                    const sl_batch_recording *b, sl_error *err) {
    stack_counts counts = {0};
    sl_addr_map of_key = {0};
    bool ok = count_side(&counts, &of_key, &a->side, true) &&
              count_side(&counts, &of_key, &b->side, false);
    size_t most = 0;
    for (size_t i = 1; ok && i < counts.cnt; i++)
        most = is_further(&counts.at[i], &counts.at[most]) ? i : most;
    if (ok && counts.cnt && distance(&counts.at[most]))
        refuse_counts(batch, a, b, &counts.at[most]);
    else if (ok)
        refuse(batch,
               "the recordings of %" PRIu64 " and %" PRIu64
               " make the same allocations in another order",
               a->size, b->size);
    sl_vec_free(&counts);
    sl_addr_map_fini(&of_key);
    return ok ? SL_OK : sl_fail_no_memory(err, "the comparison of two recordings");
}

/* The number of requests of `a` before the unmatched end; all when that end is short. */
static size_t without_tail(const sl_batch_recording *a, const uint32_t *match) {
    size_t cnt = a->side.requests.cnt, used = cnt;
    while (used > 0 && match[used - 1] == SL_BATCH_NONE)
        used--;
    return (double)(cnt - used) > TAIL_SHARE * (double)cnt && used > 0 ? used : cnt;
}

static bool is_aligned(const sl_batch_side *side, const uint32_t *match, size_t used) {
    uint64_t cnt = 0;
    double bytes = 0, all = 0;
    for (size_t i = 0; i < used; i++) {
        bool has = match[i] != SL_BATCH_NONE;
        cnt += has;
        bytes += has ? (double)side->requests.at[i].bytes : 0;
        all += (double)side->requests.at[i].bytes;
    }
    return (double)cnt >= SL_BATCH_ALIGNED_CNT * (double)used && bytes >= SL_BATCH_ALIGNED * all;
}

static sl_status align_to(sl_batch *batch, size_t base, size_t other, size_t *used_cnt,
                          sl_error *err) {
    sl_batch_recording *a = &batch->recordings[base], *b = &batch->recordings[other];
    uint32_t *match = malloc((a->side.requests.cnt + 1) * sizeof *match);
    a->match[other] = match;
    if (!match || !sl_batch_align(&a->side, &b->side, match))
        return sl_fail_no_memory(err, "the alignment of two recordings");
    size_t used = without_tail(a, match);
    *used_cnt = sl_min_size(*used_cnt, used);
    /* The message names the smaller size first. */
    if (!is_aligned(&a->side, match, used))
        return explain_difference(batch, base < other ? a : b, base < other ? b : a, err);
    return SL_OK;
}

static sl_status align_all(sl_batch *batch, sl_error *err) {
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        sl_batch_recording *base = &batch->recordings[i];
        size_t used_cnt = base->side.requests.cnt;
        for (size_t j = 0; j < batch->recording_cnt; j++)
            if (j != i)
                SL_TRY(align_to(batch, i, j, &used_cnt, err));
        if (!sl__batch_copy_calls(base, used_cnt))
            return sl_fail_no_memory(err, "the calls of another size");
    }
    return SL_OK;
}

sl_status sl__batch_compare(sl_batch *batch, sl_error *err) {
    for (size_t i = 0; i < batch->recording_cnt; i++)
        check_recording(batch, &batch->recordings[i]);
    check_start(batch);
    return batch->refusal[0] ? SL_OK : align_all(batch, err);
}
