/* SPDX-License-Identifier: MIT */
#include "tui/facts/compare_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "api/input_pairs.h"
#include "export/report/report_words.h"

/* Lines of one pair of devices that are listed. */
#define LINES_MAX 200

typedef struct comparing {
    sl_tui_comparison *to;
    const sl_tui_inputs *before_inputs, *after_inputs;
    const sl_tui_source *before, *after;
    bool has_failed;
} comparing;

static const char *keep(comparing *c, const char *text) {
    const char *copy = sl_arena_copy(&c->to->arena, text, strlen(text));
    c->has_failed |= !copy;
    return copy ? copy : "";
}

static void say(comparing *c, const char *text) {
    if (c->to->line_cnt < SL_COUNT_OF(c->to->lines))
        c->to->lines[c->to->line_cnt++] = keep(c, text);
}

static void add_row(comparing *c, sl_tui_change row) {
    c->has_failed |= !row.where || !sl_vec_push(&c->to->rows, row);
}

/* ---- figures of devices ---- */

/* The device with the same number, the n-th with it where processes share a number. */
static const sl_tui_device *find_device(const comparing *c, size_t after_idx) {
    int number = c->after->devices.at[after_idx].number;
    size_t nth = 0;
    for (size_t i = 0; i < after_idx; i++)
        nth += c->after->devices.at[i].number == number;
    for (size_t i = 0; i < c->before->devices.cnt; i++)
        if (c->before->devices.at[i].number == number && nth-- == 0)
            return &c->before->devices.at[i];
    return NULL;
}

static void add_figures(comparing *c) {
    static const char *const names[SL_TUI_CURVE_CNT] = {"allocated", "reserved", "in use"};
    for (size_t i = 0; i < c->after->devices.cnt; i++) {
        const sl_tui_device *after = &c->after->devices.at[i], *before = find_device(c, i);
        for (size_t k = 0; before && k < SL_TUI_CURVE_CNT; k++)
            if (before->peak[k].known && after->peak[k].known)
                add_row(c, (sl_tui_change){.what = "peak",
                                           .where = sl_arena_printf(&c->to->arena, "%s, %s",
                                                                    names[k], after->label),
                                           .before = before->peak[k].value,
                                           .after = after->peak[k].value});
    }
}

/* ---- lines ---- */

static sl_status add_lines(comparing *c, const char *label, sl_diff_pair pair, sl_error *err) {
    sl_instant before = {.device = pair.before}, after = {.device = pair.after}; /* at the end */
    sl_diff_options options = {.top = LINES_MAX};
    sl_diff *diff;
    char text[SL_WORDS_CAP];
    SL_TRY(sl_diff_new(&before, &after, &options, &diff, err));
    for (size_t i = 0; i < diff->rows.cnt; i++) {
        const sl_diff_row *row = &diff->rows.at[i];
        sl_words_site(text, row->site, 0);
        add_row(c, (sl_tui_change){
                       .what = sl_change_name(row->change),
                       .where = label ? sl_arena_printf(&c->to->arena, "%s (%s)", text, label)
                                      : keep(c, text),
                       .is_line = true,
                       .before = row->before_bytes,
                       .after = row->after_bytes});
    }
    sl_diff_free(diff);
    return SL_OK;
}

static sl_status compare_inputs(comparing *c, const char *label, const sl_run_input *before,
                                const sl_run_input *after, sl_error *err) {
    sl_diff_pairs pairs = {0};
    sl_status status = sl_diff_pair_devices(before, after, NULL, &pairs)
                           ? SL_OK
                           : sl_fail_no_memory(err, "the comparison");
    for (size_t i = 0; i < pairs.cnt && status >= 0; i++)
        status = add_lines(c, label, pairs.at[i], err);
    sl_vec_free(&pairs);
    return status;
}

/* Samples have no lines: then the figures are all that can be compared. */
static bool has_lines(const sl_run *run) {
    for (size_t i = 0; i < run->input_cnt; i++)
        if (sl_run_is_sampled(&run->inputs[i]))
            return false;
    return true;
}

static sl_status compare_runs(comparing *c, sl_error *err) {
    const sl_run *before = c->before_inputs->run, *after = c->after_inputs->run;
    char key[SL_INPUT_KEY_CAP];
    size_t paired = 0;
    if (!has_lines(before) || !has_lines(after))
        return SL_OK;
    if (before->input_cnt == 1 && after->input_cnt == 1)
        return compare_inputs(c, NULL, &before->inputs[0], &after->inputs[0], err);
    for (size_t i = 0; i < after->input_cnt; i++) {
        const sl_run_input *own = NULL, *other = NULL, *input = &after->inputs[i];
        sl_input_key(key, input);
        SL_TRY(sl_input_find(after->inputs, after->input_cnt, c->to->after, key, &own, err));
        SL_TRY(sl_input_find(before->inputs, before->input_cnt, c->to->before, key, &other, err));
        if (own != input || !other)
            continue;
        paired++;
        SL_TRY(compare_inputs(c, key, other, input, err));
    }
    if (paired == 0)
        say(c, "the two inputs have no rank, script or file name in common");
    return SL_OK;
}

static uint64_t change_of(const sl_tui_change *row) {
    return row->after > row->before ? row->after - row->before : row->before - row->after;
}

static int compare_rows(const void *a, const void *b) {
    const sl_tui_change *x = a, *y = b;
    uint64_t by_x = change_of(x), by_y = change_of(y);
    return by_x != by_y ? (by_x < by_y ? 1 : -1) : strcmp(x->where, y->where);
}

/* Only lines are sorted: they follow the figures. */
static void sort_lines(sl_tui_comparison *to) {
    size_t first = 0;
    while (first < to->rows.cnt && !to->rows.at[first].is_line)
        first++;
    if (to->rows.cnt > first)
        qsort(to->rows.at + first, to->rows.cnt - first, sizeof *to->rows.at, compare_rows);
}

static void say_verdicts(comparing *c) {
    const char *before = c->before->verdict ? c->before->verdict : "not judged";
    const char *after = c->after->verdict ? c->after->verdict : "not judged";
    const char *texts[] = {sl_arena_printf(&c->to->arena, "before: %s", before),
                           sl_arena_printf(&c->to->arena, "after:  %s", after)};
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        c->has_failed |= !texts[i];
        if (texts[i])
            say(c, texts[i]);
    }
}

sl_status sl_compare_facts(const sl_tui_inputs *inputs, const sl_tui_source *after,
                           const char *const *paths, size_t cnt, const sl_tui_read_options *options,
                           sl_tui_comparison **out, sl_error *err) {
    sl_tui_inputs before_inputs = {0};
    sl_tui_source *before = NULL;
    sl_tui_comparison *to = calloc(1, sizeof *to);
    comparing c = {
        .to = to, .before_inputs = &before_inputs, .after_inputs = inputs, .after = after};
    if (!to)
        return sl_fail_no_memory(err, "the comparison");
    sl_status status = sl_run_facts_read(paths, cnt, options, &before_inputs, &before, err);
    c.before = before;
    if (status >= 0) {
        to->before = keep(&c, before->name);
        to->after = keep(&c, after->name);
        say_verdicts(&c);
        add_figures(&c);
        status = compare_runs(&c, err);
        sort_lines(to);
    }
    sl_tui_source_free(before);
    sl_tui_inputs_fini(&before_inputs);
    if (status >= 0 && c.has_failed)
        status = sl_fail_no_memory(err, "the comparison");
    if (status < 0)
        sl_tui_comparison_free(to);
    else
        *out = to;
    return status < 0 ? status : SL_OK;
}
