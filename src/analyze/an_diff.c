/* SPDX-License-Identifier: MIT */
/* Two instants compared by site. The two sides may come from different traces, whose ids mean
 * different things: sites are matched by their text. */
#include <inttypes.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/core/strtab.h"
#include "run/lines/live_split.h"
#include "telemetry/telemetry.h"

typedef struct diff_build {
    const sl_diff_options *options;
    sl_diff *diff;     /* rows by key */
    sl_strtab keys;    /* text of a site -> row + 1 (id 0 is the empty string) */
    SL_VEC(char) text; /* scratch for one key */
} diff_build;

/* ---- keys ---- */

static bool add_text(diff_build *build, sl_str text) {
    if (!sl_vec_reserve(&build->text, text.len + 1))
        return false;
    if (text.len)
        memcpy(build->text.at + build->text.cnt, text.ptr, text.len);
    build->text.cnt += text.len;
    build->text.at[build->text.cnt++] = '\0';
    return true;
}

static bool add_number(diff_build *build, uint32_t number) {
    return add_text(build, (sl_str){(const char *)&number, sizeof number});
}

/* Appends what the grouping wants of a frame; 'parts' are bits: 1 file, 2 line, 4 function. */
static bool add_frame(diff_build *build, const sl_trace *trace, sl_frame frame, unsigned parts) {
    return (!(parts & 1) || add_text(build, sl_strtab_get(&trace->strings, frame.file))) &&
           (!(parts & 2) || add_number(build, frame.line)) &&
           (!(parts & 4) || add_text(build, sl_strtab_get(&trace->strings, frame.function)));
}

static bool add_stack(diff_build *build, const sl_trace *trace, uint32_t stack_id) {
    size_t depth = sl_stack_depth(&trace->stacks, stack_id);
    uint32_t prefix = build->options->prefix_frames;
    size_t first = prefix && prefix < depth ? depth - prefix : 0;
    for (size_t i = first; i < depth; i++)
        if (!add_frame(build, trace, sl_stack_frame(&trace->stacks, stack_id, i), 7))
            return false;
    return true;
}

static bool make_key(diff_build *build, sl_site site) {
    static const unsigned parts[] = {
        [SL_GROUP_LINE] = 3, [SL_GROUP_FUNCTION] = 5, [SL_GROUP_FILE] = 1, [SL_GROUP_STACK] = 7};
    sl_frame frame;
    build->text.cnt = 0;
    if (!sl_site_frame(site, &frame) && sl_stack_depth(&site.trace->stacks, site.stack_id) == 0) {
        const char *label = sl_site_label(site);
        return add_text(build, (sl_str){label, strlen(label)});
    }
    if (build->options->prefix_frames || build->options->group_by == SL_GROUP_STACK)
        return add_stack(build, site.trace, site.stack_id);
    if (!sl_site_frame(site, &frame)) {
        const char *label = sl_site_label(site);
        return add_text(build, (sl_str){label, strlen(label)});
    }
    sl_group_by group_by = build->options->group_by;
    if (group_by == SL_GROUP_LINE && !frame.line) /* native code has no lines */
        group_by = SL_GROUP_FUNCTION;
    return add_frame(build, site.trace, frame, parts[group_by]);
}

/* The row of a site, new or old; NULL when memory ran out. */
static sl_diff_row *row_for(diff_build *build, sl_site site) {
    if (!make_key(build, site))
        return NULL;
    uint32_t id = sl_strtab_intern(&build->keys, build->text.at, build->text.cnt);
    if (id == SL_STR_NONE)
        return NULL;
    while (build->diff->rows.cnt < id)
        if (!sl_vec_push(&build->diff->rows, ((sl_diff_row){.site = site})))
            return NULL;
    return &build->diff->rows.at[id - 1];
}

/* ---- one side ---- */

static bool add_holding(diff_build *build, const sl_holding *holding, bool is_after) {
    sl_diff_row *row = row_for(build, holding->site);
    if (!row)
        return false;
    uint64_t *bytes = is_after ? &row->after_bytes : &row->before_bytes;
    uint64_t *blocks = is_after ? &row->after_blocks : &row->before_blocks;
    *bytes += holding->bytes;
    *blocks += holding->blocks;
    if (is_after)
        row->site = holding->site;
    return true;
}

/* Holdings by stack: finer than any grouping, so that every grouping can be made of them. */
static bool fill_side(diff_build *build, const sl_sites *stacks, const sl_replay *replay,
                      uint32_t event, bool is_after) {
    sl_diff_side *side = is_after ? &build->diff->after : &build->diff->before;
    sl_arena arena = SL_ARENA_INIT;
    sl_holdings holdings = {0};
    sl_replay_totals totals = {0};
    bool ok = sl_sites_holdings(stacks, replay, event, SIZE_MAX, &arena, &holdings) &&
              sl_replay_totals_at(replay, event, &totals) &&
              sl_live_split_by_tag(replay, stacks, event, &side->by_tag) &&
              sl_live_split_by_phase(replay, stacks, event, &side->by_phase);
    for (size_t i = 0; ok && i < holdings.cnt; i++) {
        ok = add_holding(build, &holdings.at[i], is_after);
        side->live_bytes += holdings.at[i].bytes;
        side->blocks += holdings.at[i].blocks;
    }
    side->time_us = sl_replay_time(replay, event);
    if (replay->reserved_known)
        side->reserved_bytes = sl_known_u64(totals.reserved_bytes);
    sl_arena_fini(&arena);
    return ok;
}

/* Samples know totals and no lines. */
static sl_status fill_by_sample(sl_diff_side *side, const sl_instant *instant, sl_error *err) {
    const sl_tm_record *sample;
    SL_TRY(sl_run_sample_at(instant->device, instant->moment, &sample, err));
    if (!sample)
        return SL_OK;
    side->time_us = sample->timestamp_ns / 1000;
    side->live_bytes = (uint64_t)sample->allocated_bytes;
    side->reserved_bytes = sl_known_u64((uint64_t)sample->reserved_bytes);
    return SL_OK;
}

static sl_status add_side(diff_build *build, const sl_instant *instant, bool is_after,
                          sl_error *err) {
    sl_diff_side *side = is_after ? &build->diff->after : &build->diff->before;
    const sl_run_device *device = instant->device;
    const sl_sites *stacks;
    sl_state state;
    side->trace = device->input->trace;
    side->device = device->events->device;
    if (sl_run_is_sampled(device->input))
        return fill_by_sample(side, instant, err);
    SL_TRY(sl_run_state_at(device, instant->moment, &state, err));
    SL_TRY(sl_run_sites(device->input, SL_GROUP_STACK, build->options->filter, &stacks, err));
    return fill_side(build, stacks, state.replay, state.event, is_after)
               ? SL_OK
               : sl_fail_no_memory(err, "the comparison");
}

/* ---- rows ---- */

static sl_change change_of(const sl_diff_row *row) {
    if (row->before_bytes == row->after_bytes && row->before_blocks == row->after_blocks)
        return SL_CHANGE_SAME;
    if (!row->before_blocks)
        return SL_CHANGE_APPEARED;
    if (!row->after_blocks)
        return SL_CHANGE_GONE;
    return row->after_bytes >= row->before_bytes ? SL_CHANGE_GROWN : SL_CHANGE_SHRUNK;
}

static uint64_t distance(const sl_diff_row *row) {
    return row->after_bytes > row->before_bytes ? row->after_bytes - row->before_bytes
                                                : row->before_bytes - row->after_bytes;
}

static int compare_rows(const void *a, const void *b) {
    const sl_diff_row *x = a, *y = b;
    if (distance(x) != distance(y))
        return distance(x) > distance(y) ? -1 : 1;
    return x->after_bytes > y->after_bytes ? -1 : x->after_bytes < y->after_bytes;
}

static void finish(sl_diff *diff, size_t top) {
    uint64_t *sums[] = {[SL_CHANGE_APPEARED] = &diff->appeared_bytes,
                        [SL_CHANGE_GONE] = &diff->gone_bytes,
                        [SL_CHANGE_GROWN] = &diff->grown_bytes,
                        [SL_CHANGE_SHRUNK] = &diff->shrunk_bytes,
                        [SL_CHANGE_SAME] = &diff->same_bytes};
    size_t kept = 0;
    for (size_t i = 0; i < diff->rows.cnt; i++) {
        sl_diff_row row = diff->rows.at[i];
        row.change = change_of(&row);
        diff->change_cnt[row.change]++;
        *sums[row.change] += row.change == SL_CHANGE_SAME ? row.after_bytes : distance(&row);
        if (row.change != SL_CHANGE_SAME)
            diff->rows.at[kept++] = row;
    }
    diff->rows.cnt = kept;
    diff->same_sites = diff->change_cnt[SL_CHANGE_SAME];
    if (kept)
        qsort(diff->rows.at, kept, sizeof *diff->rows.at, compare_rows);
    if (top && kept > top)
        diff->rows.cnt = top;
}

/* A filter that matches nothing on either side would look like no difference. */
static sl_status check_filter(const sl_instant *before, const sl_instant *after,
                              const sl_diff_options *options, sl_error *err) {
    const sl_run *runs[] = {before->device->input->run, after->device->input->run};
    sl_status status = SL_OK;
    if (!options->filter)
        return SL_OK;
    for (size_t i = 0; i < SL_COUNT_OF(runs); i++) {
        status = sl_run_check_filter(runs[i], options->group_by, options->filter, err);
        if (status == SL_OK)
            return SL_OK;
    }
    return status;
}

sl_status sl_diff_new(const sl_instant *before, const sl_instant *after,
                      const sl_diff_options *options, sl_diff **out, sl_error *err) {
    static const sl_diff_options defaults = {0};
    SL_TRY(check_filter(before, after, options ? options : &defaults, err));
    sl_diff *diff = calloc(1, sizeof *diff);
    if (!diff)
        return sl_fail_no_memory(err, "the comparison");
    diff_build build = {.options = options ? options : &defaults, .diff = diff};
    diff->prefix_frames = build.options->prefix_frames;
    sl_status status = add_side(&build, before, false, err);
    if (status == SL_OK)
        status = add_side(&build, after, true, err);
    sl_strtab_fini(&build.keys);
    sl_vec_free(&build.text);
    if (status != SL_OK) {
        sl_diff_free(diff);
        return status;
    }
    finish(diff, build.options->top);
    *out = diff;
    return SL_OK;
}

/* The same device, and of the same rank where both know it. */
static const sl_run_device *find_same(const sl_run_input *input, const sl_run_device *device) {
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_run_device *other = &input->devices[i];
        bool is_rank = !other->has_rank || !device->has_rank || other->rank == device->rank;
        if (other->events->device == device->events->device && is_rank)
            return other;
    }
    return NULL;
}

bool sl_diff_pair_devices(const sl_run_input *before, const sl_run_input *after, const int *only,
                          sl_diff_pairs *pairs) {
    if (!only && before->device_cnt == 1 && after->device_cnt == 1)
        return sl_vec_push(pairs, ((sl_diff_pair){&before->devices[0], &after->devices[0]}));
    for (size_t i = 0; i < after->device_cnt; i++) {
        int number = after->devices[i].events->device;
        const sl_run_device *same = find_same(before, &after->devices[i]);
        if (same && (!only || *only == number) &&
            !sl_vec_push(pairs, ((sl_diff_pair){same, &after->devices[i]})))
            return false;
    }
    return true;
}
