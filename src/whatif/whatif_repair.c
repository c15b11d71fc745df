/* SPDX-License-Identifier: MIT */
#include "whatif/whatif_repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"

/* How many later blocks of the same call are searched for one of a similar size. */
#define SUCCESSORS_MAX 16

/* ---- which blocks are overdue (L1) ---- */

/* The lives of each call as linked lists, indexed by life. */
typedef struct call_chain {
    uint32_t *next;       /* owned; the next of the same call, SL_IDX_NONE */
    uint32_t *next_later; /* owned; the next of a later step */
    uint32_t *head;       /* owned; by stack */
} call_chain;

static void fini_chain(call_chain *chain) {
    free(chain->next);
    free(chain->next_later);
    free(chain->head);
}

static bool fill_chain(call_chain *chain, const sl_repairs *repairs) {
    const sl_replay *replay = repairs->calls->replay;
    size_t stack_cnt = replay->trace->stacks.spans.cnt + 1;
    chain->next = malloc((replay->lives.cnt + 1) * sizeof *chain->next);
    chain->next_later = malloc((replay->lives.cnt + 1) * sizeof *chain->next_later);
    chain->head = malloc(stack_cnt * sizeof *chain->head);
    if (!chain->next || !chain->next_later || !chain->head)
        return false;
    memset(chain->head, 0xff, stack_cnt * sizeof *chain->head);
    for (size_t i = replay->lives.cnt; i-- > replay->base_cnt;) {
        uint32_t *head = &chain->head[replay->lives.at[i].stack_id];
        uint32_t next = chain->next[i] = *head;
        bool is_same_step =
            next != SL_IDX_NONE && repairs->step_of_life[next] == repairs->step_of_life[i];
        chain->next_later[i] = is_same_step ? chain->next_later[next] : next;
        *head = (uint32_t)i;
    }
    return true;
}

/* The first block of the same call in a later step with a similar size; SL_IDX_NONE if there is
 * none. */
static uint32_t find_successor(const call_chain *chain, const sl_replay *replay, size_t i) {
    uint32_t at = chain->next_later[i];
    uint64_t bytes = replay->lives.at[i].requested_bytes;
    for (unsigned tries = 0; at != SL_IDX_NONE && tries < SUCCESSORS_MAX; tries++) {
        if (replay->lives.at[at].requested_bytes > bytes / 2)
            return at;
        at = chain->next[at];
    }
    return SL_IDX_NONE;
}

static bool can_be_overdue(const sl_repairs *repairs, const sl_life *life, const sl_steps *steps) {
    const sl_stack_class *call = &repairs->sites->classes[life->stack_id];
    return life->begin_event >= steps->borders.at[0] && life->stack_id != SL_STACK_EMPTY &&
           call->origin == SL_ORIGIN_LINE && !(call->roles & SL_ROLE_PARAM);
}

static sl_overdue how_overdue(const sl_repairs *repairs, const sl_steps *steps, size_t i) {
    const sl_life *life = &repairs->calls->replay->lives.at[i];
    size_t after = (size_t)repairs->step_of_life[i] + 2; /* from this step on it counts as kept */
    if (after >= steps->borders.cnt || life->drop_event < steps->borders.at[after])
        return SL_OVERDUE_LATE;
    return life->drop_event >= repairs->end_event ? SL_OVERDUE_NEVER : SL_OVERDUE_KEPT;
}

static void find_overdue(sl_repairs *repairs, const call_chain *chain, const sl_steps *steps) {
    const sl_replay *replay = repairs->calls->replay;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (!can_be_overdue(repairs, life, steps))
            continue;
        uint32_t successor = find_successor(chain, replay, i);
        if (successor == SL_IDX_NONE || life->drop_event <= replay->lives.at[successor].begin_event)
            continue;
        repairs->overdue[i] = (uint8_t)how_overdue(repairs, steps, i);
        repairs->free_event[i] = steps->is_marked ? steps->borders.at[repairs->step_of_life[i] + 1]
                                                  : replay->lives.at[successor].begin_event;
    }
}

/* The end of the work: a request that failed in the last step ends it, and what is dropped after
 * that was dropped by the exception. */
static uint32_t find_end(const sl_calls *calls, const sl_steps *steps) {
    for (size_t i = calls->list.cnt; i-- > 0;) {
        const sl_call *call = &calls->list.at[i];
        if (steps->borders.cnt && call->event < steps->borders.at[steps->borders.cnt - 1])
            break;
        if (call->kind == SL_CALL_FAILED)
            return call->event;
    }
    return calls->replay->event_cnt;
}

/* Relies on lives being in the order of their beginning. */
static void number_steps(sl_repairs *repairs, const sl_steps *steps) {
    const sl_replay *replay = repairs->calls->replay;
    size_t step = 0;
    for (size_t i = 0; i < replay->lives.cnt; i++) {
        uint32_t begin = replay->lives.at[i].begin_event;
        while (begin != SL_EVENT_BEFORE && step + 1 < steps->borders.cnt &&
               steps->borders.at[step + 1] <= begin)
            step++;
        repairs->step_of_life[i] = (uint32_t)step;
    }
}

static void number_requests(sl_repairs *repairs) {
    const sl_calls *calls = repairs->calls;
    memset(repairs->request_of_life, 0xff,
           (calls->replay->lives.cnt + 1) * sizeof *repairs->request_of_life);
    for (size_t i = 0; i < calls->list.cnt; i++)
        if (calls->list.at[i].kind == SL_CALL_REQUEST)
            repairs->request_of_life[calls->replay->life_of_event[calls->list.at[i].event]] =
                (uint32_t)i;
}

static bool make_room(sl_repairs *repairs) {
    size_t cnt = repairs->calls->replay->lives.cnt + 1;
    repairs->request_of_life = malloc(cnt * sizeof *repairs->request_of_life);
    repairs->free_event = malloc(cnt * sizeof *repairs->free_event);
    repairs->step_of_life = calloc(cnt, sizeof *repairs->step_of_life);
    repairs->overdue = calloc(cnt, sizeof *repairs->overdue);
    if (!repairs->request_of_life || !repairs->free_event || !repairs->step_of_life ||
        !repairs->overdue)
        return false;
    memset(repairs->free_event, 0xff, cnt * sizeof *repairs->free_event);
    return true;
}

sl_status sl_repairs_init(sl_repairs *repairs, const sl_calls *calls, sl_error *err) {
    const sl_steps *steps;
    call_chain chain = {0};
    *repairs = (sl_repairs){.calls = calls};
    SL_TRY(sl_run_lines(calls->device->input, &repairs->sites, err));
    SL_TRY(sl_run_steps(calls->device, &steps, err));
    bool ok = make_room(repairs);
    /* With a single border there is no complete step, so nothing can outlive one. */
    repairs->step_cnt = steps->borders.cnt > 1 ? steps->borders.cnt : 0;
    repairs->end_event = find_end(calls, steps);
    if (ok)
        number_requests(repairs);
    if (ok && repairs->step_cnt) {
        number_steps(repairs, steps);
        ok = fill_chain(&chain, repairs);
        if (ok)
            find_overdue(repairs, &chain, steps);
    }
    fini_chain(&chain);
    if (ok)
        return SL_OK;
    sl_repairs_fini(repairs);
    return sl_fail_no_memory(err, "the repairs of a program");
}

void sl_repairs_fini(sl_repairs *repairs) {
    free(repairs->request_of_life);
    free(repairs->free_event);
    free(repairs->step_of_life);
    free(repairs->overdue);
    *repairs = (sl_repairs){0};
}

/* ---- one repair ---- */

void sl_repair_fini(sl_repair *repair) {
    sl_vec_free(&repair->frees);
    sl_vec_free(&repair->moved);
}

static int order_frees(const void *a, const void *b) {
    const sl_repair_free *x = a, *y = b;
    return x->call != y->call ? SL_ORDER(x->call, y->call) : SL_ORDER(x->slot, y->slot);
}

static void sort_frees(sl_repair *repair) {
    if (repair->frees.cnt)
        qsort(repair->frees.at, repair->frees.cnt, sizeof *repair->frees.at, order_frees);
}

/* The first call at or after the event. */
static uint32_t call_at(const sl_calls *calls, uint32_t event) {
    size_t low = 0, high = calls->list.cnt;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (calls->list.at[mid].event < event)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)low;
}

static bool add_overdue(sl_repair *repair, const sl_repairs *repairs, size_t life) {
    const sl_calls *calls = repairs->calls;
    uint32_t request = repairs->request_of_life[life];
    if (repairs->free_event[life] == SL_EVENT_NEVER || request == SL_IDX_NONE)
        return true;
    return sl_vec_push(&repair->frees, ((sl_repair_free){call_at(calls, repairs->free_event[life]),
                                                         calls->list.at[request].slot}));
}

bool sl_repair_add_overdue(sl_repair *repair, const sl_repairs *repairs, uint32_t site,
                           const bool *is_wanted) {
    const sl_replay *replay = repairs->calls->replay;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++) {
        uint32_t own =
            repairs->overdue[i] ? sl_sites_of(repairs->sites, &replay->lives.at[i]) : SL_IDX_NONE;
        if (own == SL_IDX_NONE || !(site == SL_IDX_NONE ? is_wanted[own] : own == site))
            continue;
        if (!add_overdue(repair, repairs, i))
            return false;
    }
    sort_frees(repair);
    return true;
}

bool sl_repair_add_late(sl_repair *repair, const sl_repairs *repairs) {
    const sl_replay *replay = repairs->calls->replay;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++)
        if (repairs->overdue[i] == SL_OVERDUE_LATE &&
            replay->lives.at[i].drop_event < repairs->end_event)
            if (!add_overdue(repair, repairs, i))
                return false;
    sort_frees(repair);
    return true;
}

bool sl_repair_add_shown(sl_repair *repair, const sl_repairs *repairs, const sl_sites *shown) {
    const sl_replay *replay = repairs->calls->replay;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++)
        if (repairs->overdue[i] &&
            shown->sites.at[sl_sites_of(shown, &replay->lives.at[i])].is_shown)
            if (!add_overdue(repair, repairs, i))
                return false;
    sort_frees(repair);
    return true;
}

/* Whether the call belongs to a block of the site. */
static bool is_of_site(const sl_repairs *repairs, const sl_call *call, uint32_t site) {
    const sl_replay *replay = repairs->calls->replay;
    uint32_t life = replay->life_of_event[call->event];
    return site == SL_IDX_NONE ||
           (life != SL_IDX_NONE && sl_sites_of(repairs->sites, &replay->lives.at[life]) == site);
}

bool sl_repair_add_drops(sl_repair *repair, const sl_repairs *repairs, uint32_t site) {
    const sl_calls *calls = repairs->calls;
    for (size_t i = 0; i < calls->list.cnt; i++) {
        const sl_call *call = &calls->list.at[i];
        if (call->kind == SL_CALL_DROP && is_of_site(repairs, call, site) &&
            !sl_vec_push(&repair->frees, ((sl_repair_free){(uint32_t)i, call->slot})))
            return false;
    }
    return true;
}

bool sl_repair_add_moves(sl_repair *repair, const sl_repairs *repairs, uint32_t site) {
    const sl_calls *calls = repairs->calls;
    for (size_t i = 0; i < calls->list.cnt; i++) {
        const sl_call *call = &calls->list.at[i];
        if (call->kind == SL_CALL_REQUEST &&
            calls->groups.at[call->group].one_stream != call->group &&
            is_of_site(repairs, call, site) && !sl_vec_push(&repair->moved, (uint32_t)i))
            return false;
    }
    return sl_repair_add_drops(repair, repairs, site);
}

/* ---- as part of the calls ---- */

typedef struct merger {
    sl_calls *calls;
    const sl_repair *repair;
    bool *is_gone; /* owned; by slot: its block was already freed */
    uint64_t freed_cnt;
    sl_calls made; /* only the list and the counts */
} merger;

static bool add_frees(merger *m, uint32_t before, size_t *next) {
    for (; *next < m->repair->frees.cnt && m->repair->frees.at[*next].call <= before; (*next)++) {
        uint32_t slot = m->repair->frees.at[*next].slot;
        sl_call call = {
            .kind = SL_CALL_FREE, .slot = slot, .event = m->calls->list.at[before].event};
        if (m->is_gone[slot])
            continue;
        if (!sl_vec_push(&m->made.list, call))
            return false;
        m->is_gone[slot] = true;
        m->freed_cnt++;
    }
    return true;
}

static bool add_call(merger *m, const sl_call *call) {
    bool is_end = call->kind == SL_CALL_FREE || call->kind == SL_CALL_DROP;
    if (is_end && m->is_gone[call->slot])
        return true;
    m->made.drop_cnt += call->kind == SL_CALL_DROP;
    if (call->kind == SL_CALL_REQUEST) {
        m->is_gone[call->slot] = false;
        m->made.last_request = (uint32_t)m->made.list.cnt;
    }
    return sl_vec_push(&m->made.list, *call);
}

sl_status sl_calls_apply(sl_calls *calls, sl_repair *repair, uint64_t *freed_cnt, sl_error *err) {
    merger m = {.calls = calls, .repair = repair};
    sort_frees(repair);
    size_t next = 0;
    m.is_gone = calloc((size_t)calls->slot_cnt + 1, sizeof *m.is_gone);
    bool ok = m.is_gone != NULL;
    for (size_t i = 0; ok && i < calls->list.cnt; i++)
        ok = add_frees(&m, (uint32_t)i, &next) && add_call(&m, &calls->list.at[i]);
    free(m.is_gone);
    if (!ok) {
        sl_vec_free(&m.made.list);
        return sl_fail_no_memory(err, "the calls of a repaired program");
    }
    sl_vec_free(&calls->list);
    memcpy(&calls->list, &m.made.list, sizeof calls->list);
    calls->drop_cnt = m.made.drop_cnt;
    calls->last_request = m.made.last_request;
    *freed_cnt = m.freed_cnt;
    return SL_OK;
}
