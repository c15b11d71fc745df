/* SPDX-License-Identifier: MIT */
#include "whatif/batch/batch_align.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "whatif/batch/batch_fit.h"

/* The most differences that one window searches before it takes the best path so far. */
#define WINDOW 400

/* ---- keys ---- */

static bool is_python(sl_str file) {
    return sl_str_ends_with(file, sl_str_of(".py")) || (file.len && file.ptr[0] == '<');
}

static uint64_t mix(uint64_t hash, uint64_t with) {
    return (hash ^ with) * 0x9e3779b97f4a7c15u;
}

/* Of a native frame only the function counts: its line changes with the build. */
static uint64_t frame_key(const sl_trace *trace, sl_frame frame, bool is_python_frame) {
    sl_str function = sl_strtab_get(&trace->strings, frame.function);
    uint64_t key = sl_hash_bytes(function.ptr, function.len);
    if (!is_python_frame)
        return key;
    sl_str file = sl_strtab_get(&trace->strings, frame.file);
    return mix(mix(key, sl_hash_bytes(file.ptr, file.len)), frame.line);
}

static uint64_t stack_key(const sl_trace *trace, uint32_t stack_id) {
    size_t depth = sl_stack_depth(&trace->stacks, stack_id);
    uint64_t python = 0, native = 0;
    for (size_t i = 0; i < depth; i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, stack_id, i);
        bool is_own = is_python(sl_strtab_get(&trace->strings, frame.file));
        uint64_t key = frame_key(trace, frame, is_own);
        *(is_own ? &python : &native) = mix(is_own ? python : native, key | 1);
    }
    return python ? python : native;
}

/* Most often a library's workspace, or the few bytes by which the parts of one signal each
 * other. */
static bool is_brief(const sl_calls *calls, size_t request) {
    const sl_call *call = &calls->list.at[request];
    unsigned between = 0;
    for (size_t i = request + 1; i < calls->list.cnt && between < 2; i++) {
        const sl_call *next = &calls->list.at[i];
        if (next->kind == SL_CALL_FREE && next->slot == call->slot)
            return true;
        between += next->kind == SL_CALL_REQUEST;
    }
    return false;
}

static bool fill_requests(sl_batch_side *side, const sl_calls *calls, const uint64_t *key_of) {
    const uint32_t *stack_id = calls->replay->device->events.stack_id;
    for (size_t i = 0; i < calls->list.cnt; i++) {
        const sl_call *call = &calls->list.at[i];
        if (call->kind != SL_CALL_REQUEST)
            continue;
        uint32_t stack = stack_id[call->event];
        sl_batch_request request = {key_of[stack], call->bytes, (uint32_t)i, stack,
                                    is_brief(calls, i)};
        if (!sl_vec_push(&side->requests, request))
            return false;
    }
    return true;
}

bool sl_batch_side_init(sl_batch_side *side, const sl_calls *calls, uint64_t size) {
    const sl_trace *trace = calls->replay->trace;
    size_t cnt = trace->stacks.spans.cnt;
    uint64_t *key_of = malloc((cnt + 1) * sizeof *key_of);
    *side = (sl_batch_side){.size = size, .is_rounded = !trace->has_requested_sizes};
    if (!key_of)
        return false;
    key_of[0] = 0;
    for (size_t i = 0; i < cnt; i++)
        key_of[i] = stack_key(trace, (uint32_t)i);
    bool ok = fill_requests(side, calls, key_of);
    free(key_of);
    return ok;
}

void sl_batch_side_fini(sl_batch_side *side) {
    sl_vec_free(&side->requests);
}

/* ---- the longest common sequence (A3) ---- */

typedef struct aligner {
    const sl_batch_side *a, *b;
    uint32_t *match;
    size_t a_from, b_from;            /* where the window begins */
    int64_t furthest[2 * WINDOW + 3]; /* position in `a`, by diagonal */
    int64_t *trails;                  /* owned; `furthest` before each number of differences */
} aligner;

/* (A2). */
static bool is_pair(const aligner *al, size_t i, size_t j) {
    const sl_batch_request *a = &al->a->requests.at[i], *b = &al->b->requests.at[j];
    sl_batch_point points[2] = {{al->a->size, a->bytes, al->a->is_rounded},
                                {al->b->size, b->bytes, al->b->is_rounded}};
    return a->key == b->key && sl_batch_fit_exactly(points, 2);
}

static int64_t follow(const aligner *al, int64_t x, int64_t diagonal) {
    size_t a_cnt = al->a->requests.cnt - al->a_from, b_cnt = al->b->requests.cnt - al->b_from;
    int64_t y = x - diagonal;
    while ((size_t)x < a_cnt && (size_t)y < b_cnt &&
           is_pair(al, al->a_from + (size_t)x, al->b_from + (size_t)y))
        x++, y++;
    return x;
}

static int64_t *at_diagonal(aligner *al, int64_t diagonal) {
    return &al->furthest[diagonal + WINDOW + 1];
}

/* Whether the best path onto a diagonal with one more difference comes from the one above (it
 * skips a request of `b`) or from the one below (it skips one of `a`). */
static bool comes_from_above(const int64_t *furthest, int64_t diagonal, int64_t d) {
    return diagonal == -d || (diagonal != d && furthest[diagonal - 1] < furthest[diagonal + 1]);
}

/* Stores the pairs on the path that ends at x on this diagonal after d differences. */
static void note_path(aligner *al, int64_t x, int64_t diagonal, int64_t d) {
    for (; d >= 0; d--) {
        const int64_t *before = al->trails + d * (2 * WINDOW + 3) + WINDOW + 1;
        bool from_above = d > 0 && comes_from_above(before, diagonal, d);
        int64_t came_from = d == 0 ? 0 : from_above ? diagonal + 1 : diagonal - 1;
        int64_t begin = d == 0 ? 0 : before[came_from] + !from_above;
        for (; x > begin; x--)
            al->match[al->a_from + (size_t)x - 1] =
                (uint32_t)(al->b_from + (size_t)(x - 1 - diagonal));
        if (d > 0) {
            x = before[came_from];
            diagonal = came_from;
        }
    }
}

typedef struct reached {
    int64_t x, diagonal, d;
    bool is_end;
} reached;

/* Extends each diagonal by one more difference; keeps the furthest path. */
static void widen(aligner *al, int64_t d, reached *best) {
    int64_t a_cnt = (int64_t)(al->a->requests.cnt - al->a_from);
    int64_t b_cnt = (int64_t)(al->b->requests.cnt - al->b_from);
    memcpy(al->trails + d * (2 * WINDOW + 3), al->furthest, sizeof al->furthest);
    for (int64_t k = -d; k <= d && !best->is_end; k += 2) {
        int64_t x = 0;
        if (d > 0)
            x = comes_from_above(at_diagonal(al, 0), k, d) ? *at_diagonal(al, k + 1)
                                                           : *at_diagonal(al, k - 1) + 1;
        /* Outside the table: such a path cannot be continued. */
        if (x < 0 || x - k < 0 || x > a_cnt || x - k > b_cnt) {
            *at_diagonal(al, k) = INT32_MIN;
            continue;
        }
        x = follow(al, x, k);
        *at_diagonal(al, k) = x;
        bool is_end = x >= a_cnt && x - k >= b_cnt;
        if (is_end || 2 * x - k > 2 * best->x - best->diagonal)
            *best = (reached){x, k, d, is_end};
    }
}

static bool align_window(aligner *al) {
    reached best = {0};
    for (size_t i = 0; i < SL_COUNT_OF(al->furthest); i++)
        al->furthest[i] = INT32_MIN;
    for (int64_t d = 0; d <= WINDOW && !best.is_end; d++)
        widen(al, d, &best);
    note_path(al, best.x, best.diagonal, best.d);
    al->a_from += (size_t)best.x;
    al->b_from += (size_t)(best.x - best.diagonal);
    return best.is_end;
}

/* ---- what is left between the pairs (A2) ---- */

/* False when two sizes are so far apart that the allocations cannot be the same. */
static bool is_plausible(const sl_batch_side *a, uint64_t a_bytes, const sl_batch_side *b,
                         uint64_t b_bytes) {
    double grown = (double)b_bytes / (double)sl_max_u64(a_bytes, 1);
    double ratio = (double)b->size / (double)a->size;
    double low = ratio < 1 ? ratio * ratio : 1, high = ratio < 1 ? 1 : ratio * ratio;
    return grown >= 0.5 * low && grown <= 2 * high;
}

static void pair_rest(aligner *al, size_t i, size_t i_end, size_t j, size_t j_end) {
    bool is_even = i_end - i == j_end - j;
    for (; i < i_end; i++) {
        const sl_batch_request *a = &al->a->requests.at[i];
        for (size_t k = j; k < j_end && (!is_even || k == j); k++) {
            const sl_batch_request *b = &al->b->requests.at[k];
            if (a->key != b->key || !is_plausible(al->a, a->bytes, al->b, b->bytes))
                continue;
            al->match[i] = (uint32_t)k;
            j = is_even ? j : k + 1;
            break;
        }
        j += is_even;
    }
}

static void pair_rests(aligner *al) {
    size_t a_cnt = al->a->requests.cnt, i = 0, j = 0;
    for (size_t k = 0; k <= a_cnt; k++) {
        if (k < a_cnt && al->match[k] == SL_BATCH_NONE)
            continue;
        size_t j_end = k < a_cnt ? al->match[k] : al->b->requests.cnt;
        pair_rest(al, i, k, j, j_end);
        i = k + 1;
        j = j_end + 1;
    }
}

static bool has_same_keys(const sl_batch_side *a, const sl_batch_side *b) {
    if (a->requests.cnt != b->requests.cnt)
        return false;
    for (size_t i = 0; i < a->requests.cnt; i++)
        if (a->requests.at[i].key != b->requests.at[i].key)
            return false;
    return true;
}

bool sl_batch_align(const sl_batch_side *a, const sl_batch_side *b, uint32_t *match) {
    if (has_same_keys(a, b)) {
        for (size_t i = 0; i < a->requests.cnt; i++)
            match[i] = (uint32_t)i;
        return true;
    }
    for (size_t i = 0; i < a->requests.cnt; i++)
        match[i] = SL_BATCH_NONE;
    aligner *al = calloc(1, sizeof *al);
    if (al) {
        *al = (aligner){.a = a, .b = b, .match = match};
        al->trails = malloc((size_t)(WINDOW + 1) * sizeof al->furthest);
    }
    bool ok = al && al->trails;
    while (ok && al->a_from < a->requests.cnt && al->b_from < b->requests.cnt && !align_window(al))
        continue;
    if (ok)
        pair_rests(al);
    if (al)
        free(al->trails);
    free(al);
    return ok;
}
