/* SPDX-License-Identifier: MIT */
/* What happened, in words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "ranks/fleet_impl.h"

/* "at step 120", "between steps 120 and 127", "" */
static void step_text(char buf[64], const sl_fleet_event *e) {
    buf[0] = '\0';
    if (e->has_step && e->step == e->step_to)
        snprintf(buf, 64, " at step %" PRIu64, e->step);
    else if (e->has_step)
        snprintf(buf, 64, " between steps %" PRIu64 " and %" PRIu64, e->step, e->step_to);
}

static const char *divergence_text(sl_arena *arena, const sl_fleet_event *e, const char *step) {
    char bytes[SL_HUMAN_CAP], rate[SL_HUMAN_CAP];
    sl_human_bytes(bytes, e->bytes > 0 ? (uint64_t)e->bytes : 0);
    if (e->fault == SL_RANK_FAULT_SHIFT)
        return sl_arena_printf(
            arena, "memory rose by %s%s and stayed there, unlike the other ranks'", bytes, step);
    if (e->fault == SL_RANK_FAULT_PEAK)
        return sl_arena_printf(arena, "peaks rose %s above the other ranks'%s", bytes, step);
    sl_human_bytes(rate, e->per_step > 0 ? (uint64_t)e->per_step : 0);
    return sl_arena_printf(
        arena, "memory began to grow%s: %s per step, %s more than the other ranks so far", step,
        rate, bytes);
}

static const char *text_of(sl_arena *arena, const sl_fleet *fleet, const sl_fleet_event *e) {
    char step[64], bytes[SL_HUMAN_CAP];
    step_text(step, e);
    switch (e->fault) {
    case SL_RANK_FAULT_LEAK:
    case SL_RANK_FAULT_SHIFT:
    case SL_RANK_FAULT_PEAK: return divergence_text(arena, e, step);
    case SL_RANK_FAULT_OOM:
        return sl_arena_printf(arena, "a request for %s failed%s",
                               sl_human_bytes(bytes, e->bytes > 0 ? (uint64_t)e->bytes : 0), step);
    case SL_RANK_FAULT_KILLED:
        return sl_arena_printf(arena, "the process was killed%s (its recording was not closed)",
                               step);
    case SL_RANK_FAULT_FAILED:
        if (!fleet->rows.at[e->idx].of->exit_status.known)
            return sl_arena_printf(
                arena,
                "the process exited%s, %.3g s before the others (its status is not recorded)", step,
                e->per_step);
        return sl_arena_printf(arena, "the process exited with status %d%s",
                               (int)fleet->rows.at[e->idx].of->exit_status.value, step);
    case SL_RANK_FAULT_SILENT:
        return sl_arena_printf(arena,
                               "made no step after step %" PRIu64 "; the others reached %" PRIu64,
                               e->step - 1, fleet->last_step);
    case SL_RANK_FAULT_MISSING:
        return fleet->unreadable_cnt ? "no recording of it could be read"
                                     : "there is no recording of it";
    case SL_RANK_FAULT_STRAGGLER:
        return sl_arena_printf(arena, "each step takes %.3g s longer than the other ranks'%s",
                               e->per_step, step);
    case SL_RANK_FAULT_LATE:
        return sl_arena_printf(arena, "began %.3g s after the others", e->per_step);
    default: return "";
    }
}

const char *sl_fleet_event_text(sl_arena *arena, const sl_fleet *fleet,
                                const sl_fleet_event *event) {
    const char *text = text_of(arena, fleet, event);
    const char *line = event->line && event->line[0] ? event->line : NULL;
    const char *whole = text && line ? sl_arena_printf(arena, "%s, at %s", text, line) : text;
    return whole ? whole : "";
}

static size_t ended_badly(const sl_fleet *fleet) {
    size_t cnt = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_rank_summary *s = fleet->rows.at[i].of;
        cnt += s->end == SL_PROCESS_END_KILLED || sl__rank_has_failed(s);
    }
    return cnt;
}

static bool has_curves(const sl_fleet *fleet) {
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        if (fleet->rows.at[i].of->curve.cnt)
            return true;
    return false;
}

const char *sl_fleet_sentence(sl_fleet *fleet) {
    char rate[SL_HUMAN_CAP];
    const char *text = NULL;
    if (fleet->has_cause)
        text = sl_arena_printf(&fleet->arena, "rank %d: %s (confidence %.0f %%)",
                               (int)fleet->cause.rank,
                               sl_fleet_event_text(&fleet->arena, fleet, &fleet->cause),
                               100 * fleet->cause.confidence);
    else if (fleet->rows.cnt < 2)
        text = "one rank is not enough for a comparison";
    else if (fleet->common_slope > 0)
        text =
            sl_arena_printf(&fleet->arena,
                            "no rank stands out; all grow alike, by %s per step (stormlog analyze "
                            "explains one of them)",
                            sl_human_bytes(rate, (uint64_t)fleet->common_slope));
    else if (ended_badly(fleet))
        text = sl_arena_printf(&fleet->arena,
                               "no rank diverged or fell silent; %zu of %zu were killed or failed, "
                               "at about the same time",
                               ended_badly(fleet), fleet->rows.cnt);
    else if (!has_curves(fleet))
        text = "no rank has steps or readings to compare";
    else
        text = "no rank diverged, was killed or fell silent";
    return text ? text : "";
}
