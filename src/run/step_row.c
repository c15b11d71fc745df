/* SPDX-License-Identifier: MIT */
#include "run/step_row.h"

#include "base/core/str.h"
#include "run/step_thresholds.h"

static bool is_computed(const sl_stack_class *class) {
    const uint8_t work = SL_ROLE_NN | SL_ROLE_OPTIM | SL_ROLE_BACKWARD;
    return class->origin == SL_ORIGIN_BACKWARD ||
           ((class->roles & work) && !(class->roles & SL_ROLE_PARAM));
}

sl_stretch sl_stretch_count(const sl_replay *replay, const sl_stack_class *classes, uint32_t from,
                            uint32_t to) {
    sl_stretch stretch = {0};
    for (size_t i = sl_replay_first_life(replay, from); i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= to)
            break;
        stretch.allocs++;
        stretch.freed += life->end_event < to;
        stretch.computed += is_computed(&classes[life->stack_id]);
    }
    return stretch;
}

uint32_t sl_stretch_first_computed(const sl_replay *replay, const sl_stack_class *classes,
                                   uint32_t from, uint32_t to) {
    for (size_t i = sl_replay_first_life(replay, from); i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= to)
            break;
        if (is_computed(&classes[life->stack_id]))
            return life->begin_event;
    }
    return to;
}

bool sl_stretch_is_hoarding(const sl_stretch *stretch) {
    return (double)stretch->freed < SL_T_CHURN_MIN * (double)stretch->allocs;
}

bool sl_stretch_computes(const sl_stretch *stretch, uint64_t part_cnt) {
    return (double)stretch->computed >= SL_T_ROW_COMPUTED_SHARE * (double)part_cnt;
}

bool sl_stack_makes_list(const sl_trace *trace, const sl_stack_class *classes, uint32_t stack_id) {
    static const char *const names[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    const sl_stack_class *class = &classes[stack_id];
    if (class->origin != SL_ORIGIN_LINE)
        return false;
    sl_frame frame = sl_stack_frame(&trace->stacks, stack_id, class->frame_pos);
    sl_str function = sl_strtab_get(&trace->strings, frame.function);
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (sl_str_ends_with(function, sl_str_of(names[i])))
            return true;
    return false;
}

/* The run ends with it: a leak that runs into the end, or a loader that did not get further. A silent leak is worse
 * than a question too much, so only what surely fills a list is taken for loading. */
static bool is_last(const sl_row *row, const sl_stretch *stretch, const sl_stretch *rest) {
    double parts_after = (double)rest->allocs * (double)row->cnt / (double)stretch->allocs;
    double tail = SL_T_ROW_TAIL_SHARE * (double)row->cnt;
    return !rest->computed &&
           parts_after <= (tail > SL_T_ROW_TAIL_PARTS ? tail : SL_T_ROW_TAIL_PARTS);
}

sl_row_kind sl_row_judge(const sl_row *row, const sl_replay *replay, const sl_stack_class *classes,
                         uint32_t to) {
    sl_stretch stretch = sl_stretch_count(replay, classes, row->first, row->end);
    if (!stretch.allocs || sl_stretch_computes(&stretch, row->cnt))
        return SL_ROW_NONE;
    sl_stretch rest = sl_stretch_count(replay, classes, row->end, to);
    if (sl_stretch_is_hoarding(&stretch))
        return row->makes_list || !is_last(row, &stretch, &rest) ? SL_ROW_DONE : SL_ROW_LAST;
    /* Items that are made with temporary blocks and kept, and then the model begins to work. */
    return rest.computed >= SL_T_STEP_MIN_CNT ? SL_ROW_DONE : SL_ROW_NONE;
}
