/* SPDX-License-Identifier: MIT */
/* The calls of a recording with the bytes of another size. */
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "whatif/batch/batch.h"

/* Blocks from before the trace are requested first: their recorded places would be those of the
 * recorded size. */
static bool copy_start(sl_calls *to, const sl_calls *from) {
    for (size_t s = 0; s < from->start.cnt; s++) {
        const sl_call_segment *segment = &from->start.at[s];
        for (size_t i = 0; i < segment->piece_cnt; i++) {
            const sl_alloc_piece *piece = &from->pieces.at[segment->first_piece + i];
            if (piece->slot == SL_ALLOC_NONE)
                continue;
            sl_call call = {.kind = SL_CALL_REQUEST,
                            .bytes = from->replay->lives.at[piece->slot].requested_bytes,
                            .slot = piece->slot,
                            .group = segment->group};
            if (!sl_vec_push(&to->list, call))
                return false;
        }
    }
    return true;
}

static bool copy_groups(sl_calls *to, const sl_calls *from) {
    for (size_t i = 0; i < from->groups.cnt; i++)
        if (!sl_vec_push(&to->groups, from->groups.at[i]))
            return false;
    for (size_t i = 0; i < from->places.cnt; i++)
        if (!sl_vec_push(&to->places, from->places.at[i]))
            return false;
    return true;
}

/* Copies the calls before the first request that is not used. */
static bool copy_list(sl_batch_recording *recording, size_t used_cnt) {
    const sl_calls *from = recording->whatif->calls;
    sl_calls *to = recording->scaled;
    size_t request = 0;
    for (size_t i = 0; i < from->list.cnt; i++) {
        if (from->list.at[i].kind == SL_CALL_REQUEST) {
            if (request == used_cnt)
                break;
            recording->scaled_call[request++] = (uint32_t)to->list.cnt;
        }
        if (!sl_vec_push(&to->list, from->list.at[i]))
            return false;
    }
    to->last_request = used_cnt ? recording->scaled_call[used_cnt - 1] : 0;
    return true;
}

bool sl__batch_copy_calls(sl_batch_recording *recording, size_t used_cnt) {
    const sl_calls *from = recording->whatif->calls;
    size_t cnt = recording->side.requests.cnt;
    recording->scaled = calloc(1, sizeof *recording->scaled);
    recording->scaled_call = malloc((cnt + 1) * sizeof *recording->scaled_call);
    if (!recording->scaled || !recording->scaled_call)
        return false;
    for (size_t i = 0; i < cnt; i++)
        recording->scaled_call[i] = SL_BATCH_NONE;
    sl_calls *to = recording->scaled;
    to->device = from->device;
    to->replay = from->replay;
    to->settings = from->settings;
    to->slot_cnt = from->slot_cnt;
    to->drop_cnt = from->drop_cnt;
    to->has_segments = from->has_segments;
    return copy_groups(to, from) && copy_start(to, from) && copy_list(recording, used_cnt);
}

sl_batch_estimate sl__batch_estimate(const sl_batch *batch, size_t base, size_t request,
                                     uint64_t size) {
    sl_batch_point points[SL_BATCH_RECORDINGS_MAX];
    size_t cnt = 0;
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        const sl_batch_recording *other = &batch->recordings[i];
        const uint32_t *match = batch->recordings[base].match[i];
        uint32_t number = i == base ? (uint32_t)request : match[request];
        if (number == SL_BATCH_NONE)
            continue;
        points[cnt++] = (sl_batch_point){other->size, other->side.requests.at[number].bytes,
                                         other->side.is_rounded};
    }
    return sl_batch_estimate_at(points, cnt, size, batch->growth);
}

double sl__batch_rescale(sl_batch *batch, size_t base, uint64_t size, sl_batch_bytes which) {
    sl_batch_recording *recording = &batch->recordings[base];
    double sum = 0;
    for (size_t i = 0; i < recording->side.requests.cnt; i++) {
        if (recording->scaled_call[i] == SL_BATCH_NONE)
            continue;
        const sl_batch_request *request = &recording->side.requests.at[i];
        sl_batch_estimate estimate = sl__batch_estimate(batch, base, i, size);
        uint64_t bytes = which == SL_BATCH_LIKELY ? estimate.likely
                         : which == SL_BATCH_LOW  ? estimate.low
                                                  : estimate.high;
        sum += (double)bytes;
        /* A workspace may already have reached its largest size. */
        if (request->is_brief && which == SL_BATCH_LOW)
            bytes = sl_min_u64(bytes, request->bytes);
        recording->scaled->list.at[recording->scaled_call[i]].bytes = bytes;
    }
    return sum;
}
