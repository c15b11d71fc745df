/* SPDX-License-Identifier: MIT */
/* Exact sums by stack at checkpoints, for lanes whose blocks do not all fit into the page. The
 * checkpoints are the highest moments of equal shares of the events, the start, the peak and the
 * end. */
#include <stdlib.h>

#include "base/core/order.h"
#include "page/page_lane.h"

#define CHECKPOINTS_MIN 16
#define CHECKPOINTS_MAX 512

enum { LIVE, BLOCKS, ALLOC_BYTES, ALLOCS, VALUE_CNT };

typedef struct matrix {
    uint32_t *row_of;   /* owned; page stack -> row, SL_IDX_NONE */
    uint32_t *stack_of; /* owned; row -> page stack */
    uint32_t row_cnt;
    uint32_t *events; /* owned; checkpoints, ascending */
    uint32_t event_cnt;
    uint64_t *now;    /* owned; VALUE_CNT per row */
    uint64_t *values; /* owned; value-major, then rows, then checkpoints */
} matrix;

static bool number_rows(const sl_page_lane *lane, matrix *m) {
    size_t stack_cnt = lane->source->names->stacks.spans.cnt;
    m->row_of = malloc((stack_cnt + 1) * sizeof *m->row_of);
    m->stack_of = malloc((stack_cnt + 1) * sizeof *m->stack_of);
    if (!m->row_of || !m->stack_of)
        return false;
    for (size_t i = 0; i < stack_cnt; i++)
        m->row_of[i] = SL_IDX_NONE;
    for (size_t i = 0; i < lane->replay->lives.cnt; i++) {
        uint32_t stack = sl_page_lane_stack(lane, &lane->replay->lives.at[i]);
        if (m->row_of[stack] != SL_IDX_NONE)
            continue;
        m->stack_of[m->row_cnt] = stack;
        m->row_of[stack] = m->row_cnt++;
    }
    return true;
}

static bool choose_checkpoints(const sl_page_lane *lane, matrix *m) {
    uint32_t want = lane->budget.cells / (m->row_cnt ? m->row_cnt : 1);
    want = want < CHECKPOINTS_MIN ? CHECKPOINTS_MIN : want;
    want = want > CHECKPOINTS_MAX ? CHECKPOINTS_MAX : want;
    uint32_t *instants = NULL;
    if (!sl_page_instants(lane, &want, &instants))
        return false;
    m->events = malloc(((size_t)want + 3) * sizeof *m->events);
    if (!m->events) {
        free(instants);
        return false;
    }
    for (uint32_t i = 0; i < want; i++)
        m->events[m->event_cnt++] = instants[i];
    free(instants);
    m->events[m->event_cnt++] = lane->event_cnt - 1;
    if (lane->peak.event != SL_EVENT_BEFORE)
        m->events[m->event_cnt++] = lane->peak.event;
    qsort(m->events, m->event_cnt, sizeof *m->events, sl_order_u32);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->event_cnt; i++)
        if (i == 0 || m->events[i] != m->events[i - 1])
            m->events[kept++] = m->events[i];
    m->event_cnt = kept;
    return true;
}

static void apply(const sl_page_lane *lane, matrix *m, const sl_life *life, bool is_begin) {
    uint64_t *now = m->now + (size_t)m->row_of[sl_page_lane_stack(lane, life)] * VALUE_CNT;
    now[LIVE] += is_begin ? life->requested_bytes : 0 - life->requested_bytes;
    now[BLOCKS] += is_begin ? 1 : 0 - (uint64_t)1;
    if (!is_begin || (life->flags & SL_LIFE_BASE))
        return;
    now[ALLOC_BYTES] += life->requested_bytes;
    now[ALLOCS]++;
}

/* Column 0 is the state before the first event, column i + 1 the state after events[i]. */
static size_t column_cnt(const matrix *m) {
    return (size_t)m->event_cnt + 1;
}

static void take_column(matrix *m, size_t column) {
    size_t cells = m->row_cnt * column_cnt(m);
    for (size_t row = 0; row < m->row_cnt; row++)
        for (size_t v = 0; v < VALUE_CNT; v++)
            m->values[v * cells + row * column_cnt(m) + column] = m->now[row * VALUE_CNT + v];
}

static void walk_checkpoints(sl_page_lane *lane, matrix *m) {
    for (size_t i = 0; i < lane->replay->base_cnt; i++)
        apply(lane, m, &lane->replay->lives.at[i], true);
    take_column(m, 0);
    uint32_t at = 0;
    sl_page_walk_rewind(&lane->walk);
    for (sl_page_change change; sl_page_walk_next(&lane->walk, &change);) {
        for (; at < m->event_cnt && m->events[at] < change.event; at++)
            take_column(m, (size_t)at + 1);
        apply(lane, m, &lane->replay->lives.at[change.life], change.is_begin);
    }
    for (; at < m->event_cnt; at++)
        take_column(m, (size_t)at + 1);
}

static void put_matrix(sl_page_lane *lane, const matrix *m) {
    sl_page_put(&lane->columns, SL_PAGE_MATRIX_EVENT, -1);
    for (uint32_t i = 0; i < m->event_cnt; i++)
        sl_page_put(&lane->columns, SL_PAGE_MATRIX_EVENT, m->events[i]);
    for (uint32_t i = 0; i < m->row_cnt; i++)
        sl_page_put(&lane->columns, SL_PAGE_MATRIX_STACK, m->stack_of[i]);
    size_t cells = m->row_cnt * column_cnt(m);
    for (size_t v = 0; v < VALUE_CNT; v++)
        for (size_t i = 0; i < cells; i++)
            sl_page_put(&lane->columns, (sl_page_column)(SL_PAGE_MATRIX_LIVE + v),
                        (int64_t)m->values[v * cells + i]);
}

bool sl_page_add_matrix(sl_page_lane *lane) {
    if (lane->blocks_kept == lane->blocks_total || lane->event_cnt == 0)
        return true; /* all blocks are in the page and give the sums at every event */
    matrix m = {0};
    bool ok = number_rows(lane, &m) && choose_checkpoints(lane, &m);
    if (ok) {
        m.now = calloc((size_t)m.row_cnt * VALUE_CNT, sizeof *m.now);
        m.values = calloc(m.row_cnt * column_cnt(&m), VALUE_CNT * sizeof *m.values);
        ok = m.now && m.values;
    }
    if (ok) {
        walk_checkpoints(lane, &m);
        put_matrix(lane, &m);
    }
    free(m.row_of);
    free(m.stack_of);
    free(m.events);
    free(m.now);
    free(m.values);
    return ok;
}
