/* SPDX-License-Identifier: MIT */
/* The period is found without any knowledge of the model: for each distinct call (stack) that
 * allocates, count how often and how regularly it does. Calls that run once a step agree on one
 * count and have almost equal gaps, because a step issues the same operations whatever the batch's
 * size; calls inside layers have alternating gaps. So each call votes for its count with the
 * inverse of its variation. Distances are in events, not in time: the first step is slow. */
#include "run/steps.h"

#include "base/core/str.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"
#include "model/addr_map.h"
#include "run/step_thresholds.h"

/* Recurrence of one call. */
typedef struct beat {
    uint32_t cnt, first, last;
    double gap_squares;
} beat;

typedef struct beat_table {
    const sl_replay *replay;
    const sl_stack_class *classes;
    beat *at; /* owned; by key */
    size_t cnt;
    sl_addr_map by_size; /* without stacks, the size of an allocation stands for the call */
    bool is_by_size;
} beat_table;

/* Sizes beyond these share the last key; a loop has few. */
#define SIZE_KEY_MAX 65536u

/* The key of a life, or SL_IDX_NONE when it says nothing. */
static uint32_t key_of(beat_table *table, const sl_life *life) {
    if (!table->is_by_size)
        return table->classes[life->stack_id].origin == SL_ORIGIN_LINE ? life->stack_id
                                                                       : SL_IDX_NONE;
    uint32_t key = sl_addr_map_find(&table->by_size, life->requested_bytes);
    if (key != SL_ADDR_NONE)
        return key;
    key = (uint32_t)table->by_size.cnt;
    if (key >= SIZE_KEY_MAX - 1 || !sl_addr_map_put(&table->by_size, life->requested_bytes, key))
        return SIZE_KEY_MAX - 1;
    return key;
}

static void note_beat(beat *b, uint32_t event) {
    if (b->cnt++) {
        double gap = (double)(event - b->last);
        b->gap_squares += gap * gap;
    } else {
        b->first = event;
    }
    b->last = event;
}

static bool fill_table(beat_table *table, uint32_t from, uint32_t to) {
    const sl_replay *replay = table->replay;
    size_t stack_cnt = replay->trace->stacks.spans.cnt;
    table->is_by_size = !replay->trace->has_event_stacks || stack_cnt <= 1;
    table->cnt = table->is_by_size ? SIZE_KEY_MAX : stack_cnt;
    table->at = calloc(table->cnt, sizeof *table->at);
    if (!table->at)
        return false;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= to)
            break;
        uint32_t key = life->begin_event < from ? SL_IDX_NONE : key_of(table, life);
        if (key != SL_IDX_NONE)
            note_beat(&table->at[key], life->begin_event);
    }
    return true;
}

static double variation(const beat *b) {
    return sl_stat_gap_variation((double)(b->last - b->first), (double)(b->cnt - 1),
                                 b->gap_squares);
}

static bool is_candidate(const beat *b, uint32_t span) {
    return b->cnt >= SL_T_STEP_MIN_CNT &&
           (double)(b->last - b->first) >= SL_T_STEP_MIN_SPAN * (double)span &&
           variation(b) <= SL_T_STEP_MAX_CV;
}

/* Weighted votes by count; the winner's count, 0 when nothing recurs. */
static uint32_t elect(const beat_table *table, uint32_t span) {
    sl_addr_map row_of_cnt = {0};
    SL_VEC(double) votes = {0};
    SL_VEC(uint32_t) counts = {0};
    for (size_t i = 0; i < table->cnt; i++) {
        const beat *b = &table->at[i];
        if (!is_candidate(b, span))
            continue;
        uint32_t row = sl_addr_map_find(&row_of_cnt, b->cnt);
        if (row == SL_ADDR_NONE) {
            row = (uint32_t)votes.cnt;
            if (!sl_vec_push(&votes, 0.0) || !sl_vec_push(&counts, b->cnt) ||
                !sl_addr_map_put(&row_of_cnt, b->cnt, row))
                break;
        }
        votes.at[row] += 1 / (SL_T_STEP_VOTE_FLOOR + variation(b));
    }
    uint32_t winner = 0;
    double most = 0;
    for (size_t i = 0; i < counts.cnt; i++)
        if (votes.at[i] > most) {
            most = votes.at[i];
            winner = counts.at[i];
        }
    sl_addr_map_fini(&row_of_cnt);
    sl_vec_free(&votes);
    sl_vec_free(&counts);
    return winner;
}

/* Of the calls with the winning count, the one that comes first in the loop. */
static uint32_t pick_beat(const beat_table *table, uint32_t span, uint32_t cnt) {
    uint32_t best = SL_IDX_NONE;
    for (uint32_t i = 0; i < table->cnt; i++) {
        const beat *b = &table->at[i];
        if (b->cnt == cnt && is_candidate(b, span) &&
            (best == SL_IDX_NONE || b->first < table->at[best].first))
            best = i;
    }
    return best;
}

static bool take_borders(sl_steps *steps, beat_table *table, uint32_t key, uint32_t from,
                         uint32_t to) {
    const sl_replay *replay = table->replay;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= to)
            break;
        if (life->begin_event >= from && key_of(table, life) == key &&
            !sl_vec_push(&steps->borders, life->begin_event))
            return false;
    }
    steps->beat_stack = table->is_by_size ? SL_IDX_NONE : key;
    steps->beat_cv = variation(&table->at[key]);
    return true;
}

static bool find_by_period(sl_steps *steps, const sl_replay *replay, const sl_stack_class *classes,
                           uint32_t from, uint32_t to) {
    beat_table table = {.replay = replay, .classes = classes};
    bool ok = fill_table(&table, from, to);
    uint32_t cnt = ok ? elect(&table, to - from) : 0;
    uint32_t key = cnt ? pick_beat(&table, to - from, cnt) : SL_IDX_NONE;
    if (key != SL_IDX_NONE)
        ok = take_borders(steps, &table, key, from, to);
    free(table.at);
    sl_addr_map_fini(&table.by_size);
    return ok;
}

/* What was found, as a row. A call that allocates parameters builds a model; the leak analysis
 * distinguishes that from training. */
static bool is_row(sl_steps *steps, const sl_replay *replay, const sl_stack_class *classes,
                   uint32_t to, sl_row *row) {
    size_t cnt = steps->borders.cnt;
    uint32_t stack = steps->beat_stack;
    *row = (sl_row){steps->borders.at[0], steps->borders.at[cnt - 1] + 1, (uint32_t)cnt, false};
    if (stack != SL_IDX_NONE) {
        if (classes[stack].roles & SL_ROLE_PARAM)
            return false;
        row->makes_list = sl_stack_makes_list(replay->trace, classes, stack);
    }
    sl_row_kind kind = sl_row_judge(row, replay, classes, to);
    steps->only_keep = kind == SL_ROW_LAST;
    return kind == SL_ROW_DONE;
}

/* Where nothing recurs, all that comes before the first layer runs; cnt 0 when that is not a row. */
static sl_row row_before_work(const sl_steps *steps, const sl_replay *replay,
                              const sl_stack_class *classes, uint32_t to) {
    uint32_t from = steps->work_from;
    uint32_t end = sl_stretch_first_computed(replay, classes, from, to);
    sl_row row = {from, end, SL_T_ROW_PARTS, false};
    bool is_row = row.end < to && row.end - from >= SL_T_ROW_PARTS &&
                  sl_row_judge(&row, replay, classes, to) == SL_ROW_DONE;
    return is_row ? row : (sl_row){0};
}

/* Loading data comes first and recurs like a loop: the steps are searched for after it. */
static bool find_after_rows(sl_steps *steps, const sl_replay *replay, const sl_stack_class *classes,
                            uint32_t to) {
    sl_row row = {0};
    while (steps->work_from < to && steps->rows.cnt < SL_T_ROW_MAX_CNT) {
        if (!find_by_period(steps, replay, classes, steps->work_from, to))
            return false;
        if (!steps->borders.cnt)
            row = row_before_work(steps, replay, classes, to);
        else if (!is_row(steps, replay, classes, to, &row))
            return true;
        if (!row.cnt)
            return true;
        steps->borders.cnt = 0;
        steps->beat_stack = SL_IDX_NONE;
        steps->work_from = row.end;
        if (!sl_vec_push(&steps->rows, row))
            return false;
    }
    return true;
}

/* ---- marked steps ---- */

#define STEP_PREFIX "ProfilerStep#"

static bool is_step_mark(const sl_trace *trace, const sl_mark *mark, int device) {
    const sl_str prefix = SL_STR(STEP_PREFIX);
    if (mark->device >= 0 && mark->device != device)
        return false;
    if (mark->kind == SL_MARK_STEP)
        return true;
    sl_str name = sl_strtab_get(&trace->strings, mark->name);
    return mark->kind == SL_MARK_END && name.len > prefix.len && sl_str_starts_with(name, prefix);
}

/* Torch's profiler has the number in the name. */
static uint64_t number_of(const sl_trace *trace, const sl_mark *mark) {
    uint64_t number = 0;
    if (mark->kind == SL_MARK_STEP)
        return mark->number;
    sl_str name = sl_strtab_get(&trace->strings, mark->name);
    for (size_t i = strlen(STEP_PREFIX); i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || number > UINT32_MAX)
            return 0;
        number = number * 10 + (uint64_t)(name.ptr[i] - '0');
    }
    return number;
}

/* A program whose numbers begin anew in every epoch, or that has several loops, does not name its steps by them. */
static bool do_numbers_ascend(const sl_trace *trace, int device) {
    uint64_t least = 0;
    for (size_t i = 0; i < trace->marks.cnt; i++) {
        const sl_mark *mark = &trace->marks.at[i];
        if (!is_step_mark(trace, mark, device))
            continue;
        uint64_t number = number_of(trace, mark);
        if (number < least || number == UINT64_MAX)
            return false;
        least = number + 1;
    }
    return true;
}

/* Marks of several threads may be a little out of order. */
static bool end_step(sl_steps *steps, uint32_t next, uint64_t number) {
    if (steps->ends.cnt > 0 && steps->ends.at[steps->ends.cnt - 1] > next)
        next = steps->ends.at[steps->ends.cnt - 1];
    steps->ended_cnt++;
    return sl_vec_push(&steps->ends, next) && sl_vec_push(&steps->numbers, number);
}

/* A step mark ends a step: the next one begins with the first event after it. */
static bool find_by_marks(sl_steps *steps, const sl_replay *replay, uint32_t from, uint32_t to) {
    const sl_trace *trace = replay->trace;
    bool is_named = do_numbers_ascend(trace, replay->device->device);
    uint64_t ordinal = 0; /* of the mark: those before the window count */
    for (size_t i = 0; i < trace->marks.cnt; i++) {
        const sl_mark *mark = &trace->marks.at[i];
        if (!is_step_mark(trace, mark, replay->device->device))
            continue;
        if (!steps->is_marked && !sl_vec_push(&steps->borders, from))
            return false;
        steps->is_marked = true;
        uint32_t event = sl_replay_event_at(replay, mark->time_us);
        uint32_t next = event == SL_EVENT_BEFORE ? 0 : event + 1;
        uint64_t number = is_named ? number_of(trace, mark) : ordinal;
        ordinal++;
        if (next > from && next <= to && !end_step(steps, next, number))
            return false;
        if (next > steps->borders.at[steps->borders.cnt - 1] && next < to &&
            !sl_vec_push(&steps->borders, next))
            return false;
    }
    return true;
}

static bool find_by_step_events(sl_steps *steps, const sl_replay *replay, uint32_t from,
                                uint32_t to) {
    const uint8_t *kinds = replay->device->events.kind;
    for (uint32_t i = from; i < to; i++) {
        if (kinds[i] != SL_EV_STEP)
            continue;
        if (!steps->is_marked && !sl_vec_push(&steps->borders, from))
            return false;
        steps->is_marked = true;
        if (!end_step(steps, i + 1, steps->ended_cnt))
            return false;
        if (i + 1 < to && !sl_vec_push(&steps->borders, i + 1))
            return false;
    }
    return true;
}

static void measure(sl_steps *steps, const sl_replay *replay) {
    double lengths[SL_SERIES_MAX];
    size_t cnt = steps->borders.cnt, used = 0;
    if (!replay->trace->has_time || cnt < 2)
        return;
    size_t stride = (cnt - 1 + SL_SERIES_MAX - 1) / SL_SERIES_MAX;
    for (size_t i = 0; i + 1 < cnt; i += stride)
        lengths[used++] = sl_replay_span_us(replay, steps->borders.at[i], steps->borders.at[i + 1]);
    steps->median_us = sl_known_f64(sl_stat_median(lengths, used));
}

bool sl_steps_find(sl_steps *steps, const sl_replay *replay, const sl_stack_class *classes,
                   uint32_t from, uint32_t to) {
    *steps = (sl_steps){.beat_stack = SL_IDX_NONE, .work_from = from};
    if (from >= to)
        return true;
    bool ok = find_by_marks(steps, replay, from, to);
    if (ok && !steps->is_marked)
        ok = find_by_step_events(steps, replay, from, to);
    if (ok && !steps->is_marked)
        ok = find_after_rows(steps, replay, classes, to);
    if (!steps->is_marked)
        steps->ended_cnt = steps->borders.cnt;
    if (ok)
        measure(steps, replay);
    return ok;
}

void sl_steps_fini(sl_steps *steps) {
    sl_vec_free(&steps->borders);
    sl_vec_free(&steps->rows);
    sl_vec_free(&steps->ends);
    sl_vec_free(&steps->numbers);
}

sl_step_range sl_steps_range(const sl_steps *steps, const sl_replay *replay, size_t idx) {
    if (steps->is_marked)
        return (sl_step_range){idx > 0 ? steps->ends.at[idx - 1] : steps->borders.at[0],
                               steps->ends.at[idx]};
    bool is_last = idx + 1 == steps->borders.cnt;
    return (sl_step_range){steps->borders.at[idx],
                           is_last ? replay->event_cnt : steps->borders.at[idx + 1]};
}

/* How many of them are not above the value. */
static size_t count_until(const uint32_t *at, size_t cnt, uint32_t value) {
    size_t lo = 0, hi = cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (at[mid] <= value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

size_t sl_steps_at(const sl_steps *steps, uint32_t event) {
    size_t cnt = count_until(steps->borders.at, steps->borders.cnt, event);
    return cnt ? cnt - 1 : 0;
}

uint64_t sl_steps_number(const sl_steps *steps, size_t idx) {
    if (!steps->is_marked || steps->numbers.cnt == 0)
        return idx;
    bool has_ended = idx < steps->numbers.cnt;
    return has_ended ? steps->numbers.at[idx] : steps->numbers.at[steps->numbers.cnt - 1] + 1;
}

/* A step without an event on the device has no border. */
uint64_t sl_steps_number_at(const sl_steps *steps, uint32_t event) {
    return sl_steps_number(steps, steps->is_marked
                                      ? count_until(steps->ends.at, steps->ends.cnt, event)
                                      : sl_steps_at(steps, event));
}

size_t sl_steps_find_number(const sl_steps *steps, uint64_t number) {
    if (!steps->is_marked)
        return number < steps->ended_cnt ? (size_t)number : steps->ended_cnt;
    size_t lo = 0, hi = steps->numbers.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (steps->numbers.at[mid] < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < steps->numbers.cnt && steps->numbers.at[lo] == number ? lo : steps->ended_cnt;
}
