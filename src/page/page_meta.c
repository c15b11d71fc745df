/* SPDX-License-Identifier: MIT */
#include "page/page_meta.h"

#include <math.h>

#include "export/report/ledger_out.h"
#include "export/report/report_parts.h"
#include "stormlog/version.h"

static void settings_json(const sl_trace *trace, sl_json_out *json) {
    sl_json_key(json, "settings");
    if (trace->settings.conf)
        sl_json_str(json, sl_strtab_get(&trace->strings, trace->settings.conf));
    else
        sl_json_null(json);
}

/* A process of a run is named by its role in the run, not by its file. */
static void key_name(const sl_page *page, size_t number, sl_json_out *json) {
    char label[SL_PROCESS_LABEL_CAP];
    const sl_run_input *input = &page->run->inputs[number];
    bool is_one_of_run = page->run->input_cnt > 1 && sl_run_has_one_clock(page->run);
    sl_json_key_cstr(json, "name",
                     is_one_of_run ? sl_process_label(label, input->trace, &input->place) : NULL);
}

static void input_json(const sl_page *page, size_t number, sl_json_out *json) {
    char words[SL_WORDS_CAP];
    const sl_report *report = page->report;
    const sl_report_input *input = &report->inputs.at[number];
    const sl_trace *trace = input->trace;
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "path", trace->path);
    key_name(page, number, json);
    sl_json_key_cstr(json, "kind", sl_words_source(trace->source));
    sl_json_key_u64(json, "events", input->events);
    sl_json_key_maybe_u64(json, "dropped_events", input->dropped_events);
    sl_json_key_cstr(json, "identity", trace->identity);
    sl_json_key_bool(json, "is_live", trace->is_live);
    sl_json_key_bool(json, "has_time", trace->has_time);
    sl_json_key_bool(json, "has_stacks", trace->has_event_stacks);
    sl_json_key_bool(json, "has_requested_sizes", trace->has_requested_sizes);
    settings_json(trace, json);
    sl_json_key_cstr(json, "verdict", sl_verdict_name(input->verdict));
    sl_words_input_verdict(words, report, input);
    sl_json_key_cstr(json, "verdict_text", words);
    sl_key_notes_json(json, trace);
    sl_json_end_object(json);
}

static void groups_json(const sl_page_groups *groups, const char *key, sl_json_out *json) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; i < groups->cnt; i++) {
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "label", groups->at[i].label);
        sl_json_key(json, "frame");
        if (groups->at[i].frame == SL_IDX_NONE)
            sl_json_null(json);
        else
            sl_json_u64(json, groups->at[i].frame);
        sl_json_key_bool(json, "is_rest", groups->at[i].is_rest);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

/* Failed requests in the page; a run that retries for hours would fill it with them. */
#define OOM_SHOWN_MAX 1000

static void oom_events_json(const sl_page_lane *lane, sl_json_out *json) {
    const sl_events *events = &lane->device->events;
    size_t shown = 0;
    sl_json_key(json, "oom_events");
    sl_json_begin_array(json);
    for (size_t i = 0; i < events->cnt && shown < OOM_SHOWN_MAX; i++) {
        if (events->kind[i] != SL_EV_OOM)
            continue;
        sl_json_begin_object(json);
        sl_json_key_u64(json, "event", i);
        sl_json_key_i64(json, "time_us", events->time_us[i] - lane->first_us);
        sl_json_key_u64(json, "bytes", events->size_bytes[i]);
        sl_json_end_object(json);
        shown++;
    }
    sl_json_end_array(json);
}

/* The views that this input cannot fill, each with the reason. */
static void absent_json(const sl_page_lane *lane, sl_json_out *json) {
    sl_json_key(json, "absent");
    sl_json_begin_object(json);
    if (lane->is_sampled)
        sl_json_key_cstr(json, "blocks",
                         "The input has samples, not single allocations: which lines and blocks "
                         "held the bytes is unknown.");
    if (lane->event_cnt == 0)
        sl_json_key_cstr(json, "timeline",
                         "The input has a final state but no events: record with history on "
                         "(enabled=\"all\") to see how memory was used.");
    if (!lane->trace->has_event_stacks && !lane->is_sampled)
        sl_json_key_cstr(json, "stacks",
                         "The input's events have no stacks, so bytes have no line of code.");
    if (!lane->trace->has_tags && !lane->is_sampled)
        sl_json_key_cstr(json, "tags",
                         "No split by tag: the input does not record what blocks are for.");
    if (!lane->has_modules && !lane->is_sampled)
        sl_json_key_cstr(json, "modules",
                         "No split by module: the input does not record the modules that ran; "
                         "stormlog run --modules does.");
    if (lane->segments_total == 0 && lane->device->segments.cnt == 0)
        sl_json_key_cstr(
            json, "segments",
            "The input does not record the allocator's segments, so there is no map of them.");
    else if (lane->segments_kept < lane->segments_total)
        sl_json_key_cstr(
            json, "segments_over_time",
            "There were too many segments to show them all; only the final state is shown.");
    if (lane->columns.at[SL_PAGE_COUNTERS_VALUE].cnt == 0)
        sl_json_key_cstr(json, "ledger",
                         "The ledger of the whole card needs readings of the device's counters; "
                         "this input has none.");
    sl_page_whatif_absent(lane, json);
    sl_json_end_object(json);
}

/* Whether the lane is of this rank; an unknown rank matches every other. */
static bool is_rank(const sl_page_lane *lane, sl_maybe_u64 rank) {
    return !lane->of->has_rank || !rank.known || rank.value == (uint64_t)lane->of->rank;
}

static const sl_device_report *find_device(const sl_page *page, const sl_page_lane *lane) {
    for (size_t i = 0; i < page->report->devices.cnt; i++) {
        const sl_device_report *device = &page->report->devices.at[i];
        if (device->trace == lane->trace && device->device == lane->device->device &&
            is_rank(lane, device->rank))
            return device;
    }
    return NULL;
}

static void fragmentation_json(const sl_device_report *device, sl_json_out *json) {
    sl_json_key(json, "fragmentation");
    if (!device) {
        sl_json_null(json);
        return;
    }
    sl_fragmentation_json(json, &device->fragmentation);
}

static void lane_totals_json(const sl_page_lane *lane, sl_json_out *json) {
    bool has_peak = lane->peak.event != SL_EVENT_BEFORE && lane->event_cnt > 0;
    sl_json_key_i64(json, "first_us", lane->first_us);
    sl_json_key_i64(json, "last_us", lane->last_us);
    sl_json_key_i64(json, "start_us", lane->start_us);
    sl_json_key_bool(json, "is_sampled", lane->is_sampled);
    sl_json_key_u64(json, "events", lane->event_cnt);
    sl_json_key_u64(json, "allocs", lane->allocs);
    sl_json_key_u64(json, "frees", lane->frees);
    sl_json_key_u64(json, "base_bytes", lane->start.requested_bytes);
    sl_json_key_u64(json, "live_bytes", lane->end.requested_bytes);
    sl_json_key_maybe_u64(json, "live_rounded_bytes",
                          (sl_maybe_u64){lane->end.active_bytes, !lane->is_sampled});
    sl_json_key_maybe_u64(json, "peak_bytes",
                          (sl_maybe_u64){lane->peak.bytes, lane->has_history || lane->is_sampled});
    sl_json_key_i64(json, "peak_event", has_peak ? (int64_t)lane->peak.event : -1);
    sl_json_key_i64(json, "peak_time_us", has_peak ? lane->peak_us : 0);
    sl_json_key_maybe_u64(json, "reserved_bytes",
                          (sl_maybe_u64){lane->end.reserved_bytes, lane->reserved_known});
    sl_json_key_maybe_u64(json, "peak_reserved_bytes", lane->peak_reserved_bytes);
    sl_json_key_bool(json, "identity_holds", lane->identity_holds);
    sl_json_key_i64(json, "identity_residue", lane->identity_residue);
}

static void lane_detail_json(const sl_page_lane *lane, sl_json_out *json) {
    sl_json_key_u64(json, "bin_events", lane->bin_events ? lane->bin_events : 1);
    sl_json_key_u64(json, "blocks_total", lane->blocks_total);
    sl_json_key_u64(json, "blocks_kept", lane->blocks_kept);
    sl_json_key_u64(json, "largest_left_bytes", lane->largest_left_bytes);
    sl_json_key_u64(json, "largest_block_bytes", lane->largest_block_bytes);
    sl_json_key_u64(json, "stacks_total", lane->stacks_met);
    sl_json_key_u64(json, "stacks_kept", lane->stacks_kept);
    sl_json_key_u64(json, "segments_total", lane->segments_total);
    sl_json_key_u64(json, "end_blocks_total", lane->end_blocks);
    sl_json_key(json, "groups");
    sl_json_begin_object(json);
    groups_json(&lane->lines, "line", json);
    groups_json(&lane->files, "file", json);
    groups_json(&lane->streams, "stream", json);
    groups_json(&lane->tags, "tag", json);
    groups_json(&lane->modules, "module", json);
    sl_json_end_object(json);
    sl_json_key(json, "counters");
    sl_json_begin_array(json);
    for (size_t i = 0; i < lane->counters.cnt; i++)
        sl_json_cstr(json, lane->counters.at[i]);
    sl_json_end_array(json);
}

/* What each row of LEDGER is, and the size of the card. */
static void ledger_json(const sl_page_lane *lane, sl_json_out *json) {
    const sl_ledger *ledger = lane->ledger;
    char label[SL_LEDGER_LABEL_CAP];
    sl_json_key(json, "ledger");
    if (!ledger || ledger->moment_cnt == 0) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    size_t fullest = sl_ledger_fullest(ledger);
    sl_json_key(json, "fullest");
    sl_json_u64(json, fullest);
    sl_json_key_maybe_u64(json, "total_bytes", ledger->moments[fullest].card_total);
    sl_json_key(json, "rows");
    sl_json_begin_array(json);
    for (size_t i = 0; i < ledger->rows.cnt; i++) {
        const sl_ledger_row *row = &ledger->rows.at[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "kind", sl_ledger_kind_name(row->kind));
        sl_json_key_cstr(json, "name", sl_ledger_label(label, row));
        sl_json_key_cstr(json, "meaning", sl_ledger_meaning(row));
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}

#define ALERTS_SHOWN_MAX 1000

/* The alerts of the lane's device and of the host. */
static void alerts_json(const sl_page_lane *lane, sl_json_out *json) {
    size_t shown = 0;
    sl_json_key(json, "alerts");
    sl_json_begin_array(json);
    for (size_t i = 0; i < lane->trace->alerts.cnt && shown < ALERTS_SHOWN_MAX; i++) {
        const sl_alert *alert = &lane->trace->alerts.at[i];
        if (alert->device >= 0 && alert->device != lane->device->device)
            continue;
        sl_json_begin_object(json);
        sl_alert_json(json, lane->trace, alert, lane->first_us);
        sl_json_end_object(json);
        shown++;
    }
    sl_json_end_array(json);
}

static void lane_json(const sl_page *page, const sl_page_lane *lane, sl_json_out *json) {
    const sl_device_report *device = find_device(page, lane);
    sl_json_begin_object(json);
    sl_json_key_u64(json, "input", lane->input);
    sl_json_key_i64(json, "device", lane->device->device);
    sl_json_key_maybe_u64(json, "rank",
                          (sl_maybe_u64){(uint64_t)lane->of->rank, lane->of->has_rank});
    lane_totals_json(lane, json);
    sl_json_key_maybe_u64(json, "capacity_bytes",
                          device ? device->capacity_bytes : lane->device->capacity_bytes);
    sl_json_key_maybe_u64(json, "steps", device ? device->steps : (sl_maybe_u64){0});
    sl_json_key_bool(json, "steps_marked", device && device->steps_marked);
    fragmentation_json(device, json);
    lane_detail_json(lane, json);
    oom_events_json(lane, json);
    ledger_json(lane, json);
    sl_page_whatif_json(lane, json);
    alerts_json(lane, json);
    absent_json(lane, json);
    sl_json_end_object(json);
}

/* The lane of a device and rank of an input; without an input, that of the first one that has
 * it. */
static const sl_page_lane *find_lane(const sl_page *page, const sl_trace *trace, int device,
                                     sl_maybe_u64 rank) {
    for (size_t i = 0; i < page->lanes.cnt; i++) {
        const sl_page_lane *lane = page->lanes.at[i];
        if (lane->device->device == device && (!trace || lane->trace == trace) &&
            is_rank(lane, rank))
            return lane;
    }
    return NULL;
}

static void site_json(const sl_page_lane *lane, sl_site site, sl_json_out *json) {
    bool is_known = lane && site.trace == lane->trace;
    sl_json_key(json, "stack");
    if (is_known)
        sl_json_u64(json, sl_page_stack(lane->source, site.stack_id));
    else
        sl_json_null(json);
    sl_json_key(json, "site");
    if (!is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_u64(json, sl_page_site_frame(lane->source, site));
}

static void key_lane(sl_json_out *json, const sl_page_lane *lane) {
    sl_json_key(json, "lane");
    if (lane)
        sl_json_i64(json, lane->number);
    else
        sl_json_null(json);
}

static void finding_json(sl_page *page, const sl_finding *finding, sl_json_out *json) {
    const sl_page_lane *lane = find_lane(page, finding->trace, finding->device, finding->rank);
    int64_t first = lane ? lane->first_us : 0;
    sl_json_begin_object(json);
    sl_finding_kind_json(json, finding);
    key_lane(json, lane);
    site_json(lane, finding->site, json);
    sl_finding_figures_json(json, finding, first);
    sl_json_end_object(json);
}

static void oom_json(sl_page *page, sl_json_out *json) {
    const sl_oom_report *oom = &page->report->oom;
    sl_json_key(json, "oom");
    if (!oom->present) {
        sl_json_null(json);
        return;
    }
    const sl_page_lane *lane = find_lane(page, oom->site.trace, oom->device, (sl_maybe_u64){0});
    int64_t first = lane ? lane->first_us : 0;
    sl_json_begin_object(json);
    key_lane(json, lane);
    sl_json_key_i64(json, "device", oom->device);
    sl_json_key_u64(json, "requested_bytes", oom->requested_bytes);
    sl_json_key_maybe_u64(json, "allocated_bytes", oom->allocated_bytes);
    sl_json_key_maybe_u64(json, "reserved_bytes", oom->reserved_bytes);
    sl_json_key_maybe_u64(json, "device_free_bytes", oom->device_free_bytes);
    sl_json_key_maybe_u64(json, "limit_bytes", oom->limit_bytes);
    sl_json_key_i64(json, "time_us", oom->time_us - first);
    sl_json_key_cstr(json, "cause", sl_oom_cause_name(oom->cause));
    sl_json_key_cstr(json, "explanation", oom->explanation);
    sl_json_key_u64(json, "count", oom->count);
    site_json(lane, oom->site, json);
    sl_json_end_object(json);
}

static void heat_json(const sl_page *page, sl_json_out *json) {
    sl_json_key(json, "heat");
    if (page->heat.bins == 0) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_u64(json, "bins", page->heat.bins);
    sl_json_key_i64(json, "span_us", page->heat.to_us - page->heat.from_us);
    sl_json_key_cstr(json, "clock", page->heat.is_by_event ? "own" : "common");
    sl_json_end_object(json);
}

static void heading_json(const char *title, sl_json_out *json) {
    sl_json_key_cstr(json, "schema", SL_PAGE_SCHEMA);
    sl_json_key_cstr(json, "generator", "stormlog " SL_VERSION_STRING);
    sl_json_key_cstr(json, "title", title);
}

void sl_page_failure_json(const char *title, const char *reason, sl_json_out *json) {
    sl_json_begin_object(json);
    heading_json(title, json);
    sl_json_key_cstr(json, "failure", reason);
    sl_json_end_object(json);
}

void sl_page_meta_json(sl_page *page, sl_json_out *json) {
    const sl_report *report = page->report;
    sl_json_begin_object(json);
    heading_json(page->title, json);
    sl_json_key_cstr(json, "mode",
                     page->is_diff            ? "diff"
                     : report->inputs.cnt > 1 ? "many"
                                              : "one");
    sl_json_key_cstr(json, "verdict", sl_verdict_name(report->verdict));
    char words[SL_WORDS_CAP];
    sl_words_verdict(words, report);
    sl_json_key_cstr(json, "verdict_text", words);
    sl_json_key(json, "tag_names");
    sl_json_begin_array(json);
    for (unsigned tag = 0; tag < SL_TAG_LIMIT; tag++)
        sl_json_cstr(json, sl_tag_name((sl_tag)tag));
    sl_json_end_array(json);
    sl_json_key(json, "inputs");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->inputs.cnt; i++)
        input_json(page, i, json);
    sl_json_end_array(json);
    sl_json_key(json, "lanes");
    sl_json_begin_array(json);
    for (size_t i = 0; i < page->lanes.cnt; i++)
        lane_json(page, page->lanes.at[i], json);
    sl_json_end_array(json);
    sl_json_key(json, "findings");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->findings.cnt; i++)
        finding_json(page, &report->findings.at[i], json);
    sl_json_end_array(json);
    oom_json(page, json);
    heat_json(page, json);
    sl_json_key(json, "sections");
    sl_page_index_json(&page->index, json);
    sl_json_end_object(json);
}
