/* SPDX-License-Identifier: MIT */
/* The calls of a trace without the blocks of some lines. */
#include <stdlib.h>

#include "base/core/order.h"
#include "whatif/whatif_calls.h"

typedef struct remover {
    sl_calls *calls;
    const sl_sites *sites;
    uint64_t *bytes_of_slot; /* owned; of a removed block, plus 1; 0 = the slot's block stays */
    uint64_t bytes;          /* removed blocks in use now */
    sl_calls_removed *removed;
} remover;

static bool is_removed_request(const remover *r, const sl_call *call) {
    uint32_t life_idx = r->calls->replay->life_of_event[call->event];
    if (life_idx == SL_IDX_NONE)
        return false;
    const sl_life *life = &r->calls->replay->lives.at[life_idx];
    return r->sites->sites.at[sl_sites_of(r->sites, life)].is_shown;
}

/* Whether the call is removed. */
static bool removes(remover *r, const sl_call *call) {
    uint64_t *slot = &r->bytes_of_slot[call->slot];
    switch ((sl_call_kind)call->kind) {
    case SL_CALL_REQUEST:
        *slot = is_removed_request(r, call) ? sl_min_u64(call->bytes, SL_ALLOC_BYTES_MAX) + 1 : 0;
        if (*slot) {
            r->bytes += *slot - 1;
            r->removed->peak_bytes = sl_max_u64(r->removed->peak_bytes, r->bytes);
            r->removed->request_cnt++;
        }
        return *slot != 0;
    case SL_CALL_DROP: return *slot != 0;
    case SL_CALL_FREE:
        if (*slot == 0)
            return false;
        r->bytes -= *slot - 1;
        *slot = 0;
        return true;
    default: return false;
    }
}

sl_status sl_calls_remove(sl_calls *calls, const sl_sites *sites, sl_calls_removed *removed,
                          sl_error *err) {
    remover r = {.calls = calls, .sites = sites, .removed = removed};
    size_t kept = 0;
    *removed = (sl_calls_removed){0};
    r.bytes_of_slot = calloc((size_t)calls->slot_cnt + 1, sizeof *r.bytes_of_slot);
    if (!r.bytes_of_slot)
        return sl_fail_no_memory(err, "the calls without some lines");
    calls->last_request = 0;
    for (size_t i = 0; i < calls->list.cnt; i++) {
        if (removes(&r, &calls->list.at[i]))
            continue;
        if (calls->list.at[i].kind == SL_CALL_REQUEST)
            calls->last_request = (uint32_t)kept;
        calls->list.at[kept++] = calls->list.at[i];
    }
    calls->list.cnt = kept;
    calls->request_cnt -= removed->request_cnt;
    free(r.bytes_of_slot);
    return SL_OK;
}
