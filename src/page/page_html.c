/* SPDX-License-Identifier: MIT */
#include "page/page_html.h"

#include <string.h>

#include "base/core/order.h"
#include "base/text/utf8.h"
#include "export/report/report_words.h"
#include "page/html_bundle.h"
#include "page/page_meta.h"

#define HEAT_BINS 240

/* The budget of a page; several lanes share it. With a curve of 131,072 bins and 50,000 blocks,
 * bench/page's 10 M-event page has 1.5 MB, and 4.8 MB without zlib. */
static const sl_page_budget whole_budget = {
    .bins = 131072,
    .columns = 2048,
    .blocks = 50000,
    .stacks = 4000,
    .cells = 400000,
    .segments = 40000,
    .end_blocks = 200000,
};

static uint32_t share(uint32_t whole, size_t lanes, uint32_t least) {
    uint32_t part = (uint32_t)(whole / (lanes ? lanes : 1));
    return part > least ? part : least;
}

static sl_page_budget lane_budget(const sl_html_options *options, size_t lanes) {
    sl_page_budget whole = whole_budget;
    if (options->block_cnt > 0)
        whole.blocks = options->block_cnt;
    return (sl_page_budget){
        .bins = share(whole.bins, lanes, 512),
        .columns = share(whole.columns, lanes, 128),
        .blocks = share(whole.blocks, lanes, 100),
        .stacks = share(whole.stacks, lanes, 50),
        .cells = share(whole.cells, lanes, 4000),
        .segments = share(whole.segments, lanes, 1000),
        .end_blocks = share(whole.end_blocks, lanes, 2000),
    };
}

static bool is_wanted(const sl_html_options *options, const sl_run_device *device) {
    return !options->has_device || options->device == device->events->device;
}

static sl_status add_lane(sl_page *page, const sl_run_device *device, sl_error *err) {
    if (!sl_vec_reserve(&page->lanes, 1))
        return sl_fail_no_memory(err, "the page's lanes");
    sl_page_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return sl_fail_no_memory(err, "the page's lanes");
    page->lanes.at[page->lanes.cnt++] = lane;
    lane->number = (int)page->lanes.cnt - 1;
    lane->input = device->input->number;
    lane->of = device;
    lane->trace = device->input->trace;
    lane->device = device->events;
    lane->source = &page->sources[lane->input];
    return SL_OK;
}

static sl_status add_input(sl_page *page, const sl_run_input *input, const sl_html_options *options,
                           sl_error *err) {
    const sl_sites *lines;
    SL_TRY(sl_run_lines(input, &lines, err));
    if (!sl_page_source_init(&page->sources[input->number], &page->names, lines))
        return sl_fail_no_memory(err, "the names of '%s'", input->trace->path);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (is_wanted(options, &input->devices[i]))
            SL_TRY(add_lane(page, &input->devices[i], err));
    return SL_OK;
}

/* The processes of one run, and other inputs that ran at the same time, are compared by their
 * common clock; all other inputs by their progress, from first to last event. */
static void plan_clock(sl_page *page) {
    sl_span all = {INT64_MAX, INT64_MIN, 0}, span;
    int64_t latest_start = INT64_MIN, earliest_end = INT64_MAX;
    bool has_clock = true, is_one_run = !page->is_diff && sl_run_has_one_clock(page->run);
    for (size_t i = 0; i < page->lanes.cnt; i++) {
        const sl_page_lane *lane = page->lanes.at[i];
        has_clock &= lane->trace->has_time;
        if (!sl_run_span(lane->of->input, lane->of, &span))
            continue;
        all.first_us = sl_min_i64(span.first_us, all.first_us);
        all.last_us = sl_max_i64(span.last_us, all.last_us);
        latest_start = sl_max_i64(span.first_us, latest_start);
        earliest_end = sl_min_i64(span.last_us, earliest_end);
    }
    if (all.first_us > all.last_us)
        return;
    bool is_common = has_clock && (is_one_run || latest_start < earliest_end);
    page->clock = (sl_page_clock){has_clock && is_one_run, all.first_us};
    if (page->lanes.cnt > 1)
        page->heat = (sl_page_heat){HEAT_BINS, !is_common, all.first_us, all.last_us};
}

static sl_status build_lanes(sl_page *page, const sl_html_options *options, sl_error *err) {
    for (size_t i = 0; i < page->run->input_cnt; i++)
        SL_TRY(add_input(page, &page->run->inputs[i], options, err));
    plan_clock(page);
    for (size_t i = 0; i < page->lanes.cnt; i++) {
        sl_page_lane *lane = page->lanes.at[i];
        lane->budget = lane_budget(options, page->lanes.cnt);
        lane->heat = page->heat;
        lane->clock = page->clock;
        if (options->progress)
            options->progress(options->progress_ctx, i, page->lanes.cnt);
        SL_TRY(sl_page_lane_build(lane, err));
    }
    return SL_OK;
}

/* Escapes a text for use between tags or in a quoted attribute. What is not safe to show becomes
 * U+FFFD. */
static void write_escaped(FILE *to, const char *text) {
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    size_t left = strlen(text), len;
    for (; left > 0; text += len, left -= len) {
        sl_utf8_char next = sl_utf8_next(text, left);
        const char *replacement = next.is_safe ? NULL : "\xEF\xBF\xBD";
        len = next.len;
        for (size_t i = 0; i < SL_COUNT_OF(entities); i++)
            if (*text == entities[i].c)
                replacement = entities[i].entity;
        if (replacement)
            fputs(replacement, to);
        else
            fwrite(text, 1, len, to);
    }
}

/* In JSON a "<" is always inside a string. Written as an escape, no text can end the script
 * block or begin a comment in it. */
static void write_json_text(FILE *to, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '<')
            fputs("\\u003c", to);
        else
            putc(text[i], to);
    }
}

typedef void (*meta_writer)(void *subject, sl_json_out *json);

static sl_status write_meta(meta_writer write, void *subject, FILE *to, sl_error *err) {
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    if (!memory)
        return sl_fail_errno(err, SL_E_NOMEM, "cannot hold the page's description");
    sl_json_out json;
    sl_json_init(&json, memory, 0);
    json.replaces_unsafe = true; /* the page shows these texts as they are */
    write(subject, &json);
    sl_status status = sl_json_finish(&json, err);
    if (fclose(memory) != 0 && status == SL_OK)
        status = sl_fail_errno(err, SL_E_NOMEM, "cannot hold the page's description");
    if (status == SL_OK) {
        fputs("<script type=\"application/json\" id=\"meta\">", to);
        write_json_text(to, text, len);
        fputs("</script>\n", to);
    }
    free(text);
    return status;
}

/* The names are written last, because lanes and findings add to them. */
static sl_status write_names(sl_page *page, FILE *to, sl_error *err) {
    sl_page_columns *columns = calloc(1, sizeof *columns);
    if (!columns)
        return sl_fail_no_memory(err, "the page's names");
    sl_page_names_write(&page->names, columns);
    sl_status status = sl_page_write(columns, -1, to, &page->index, err);
    sl_page_columns_fini(columns);
    free(columns);
    return status;
}

/* Stacks that are only in findings must be in the table before it is written. */
static void name_findings(sl_page *page) {
    for (size_t i = 0; i < page->report->findings.cnt; i++) {
        sl_site site = page->report->findings.at[i].site;
        for (size_t s = 0; s < page->report->inputs.cnt; s++)
            if (site.trace && page->sources[s].trace == site.trace) {
                (void)sl_page_stack(&page->sources[s], site.stack_id);
                (void)sl_page_site_frame(&page->sources[s], site);
            }
    }
    sl_site site = page->report->oom.site;
    for (size_t s = 0; page->report->oom.present && s < page->report->inputs.cnt; s++)
        if (site.trace && page->sources[s].trace == site.trace) {
            (void)sl_page_stack(&page->sources[s], site.stack_id);
            (void)sl_page_site_frame(&page->sources[s], site);
        }
}

static void page_meta(void *page, sl_json_out *json) {
    sl_page_meta_json(page, json);
}

static sl_status write_data(sl_page *page, FILE *to, sl_error *err) {
    name_findings(page);
    for (size_t i = 0; i < page->lanes.cnt; i++)
        SL_TRY(sl_page_write(&page->lanes.at[i]->columns, (int)i, to, &page->index, err));
    SL_TRY(write_names(page, to, err));
    return write_meta(page_meta, page, to, err);
}

/* Writes the template up to the place of the data; *end is the rest of it. */
static sl_status write_head(FILE *to, const char *title_text, const char *verdict_text,
                            const char **end, sl_error *err) {
    const char *rest = sl_html_bundle;
    static const char title_mark[] = "<!--sl:title-->", data_mark[] = "<!--sl:data-->",
                      verdict_mark[] = "<!--sl:verdict-->";
    const char *title = strstr(rest, title_mark);
    const char *verdict = title ? strstr(title, verdict_mark) : NULL;
    const char *data = verdict ? strstr(verdict, data_mark) : NULL;
    if (!data)
        return sl_fail(err, SL_E_INTERNAL, "the embedded page lacks the places for its data");
    fwrite(rest, 1, (size_t)(title - rest), to);
    write_escaped(to, title_text);
    rest = title + sizeof title_mark - 1;
    fwrite(rest, 1, (size_t)(verdict - rest), to);
    write_escaped(to, verdict_text);
    rest = verdict + sizeof verdict_mark - 1;
    fwrite(rest, 1, (size_t)(data - rest), to);
    *end = data + sizeof data_mark - 1;
    return SL_OK;
}

static sl_status write_end(FILE *to, const char *rest, sl_error *err) {
    fputs(rest, to);
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the page") : SL_OK;
}

static sl_status write_page(sl_page *page, FILE *to, sl_error *err) {
    const char *rest;
    char words[SL_WORDS_CAP];
    sl_words_verdict(words, page->report);
    SL_TRY(write_head(to, page->title, words, &rest, err));
    SL_TRY(write_data(page, to, err));
    return write_end(to, rest, err);
}

typedef struct failure {
    const char *title, *reason;
} failure;

static void failure_meta(void *subject, sl_json_out *json) {
    const failure *f = subject;
    sl_page_failure_json(f->title, f->reason, json);
}

sl_status sl_export_html_failure(FILE *to, const char *title, const char *reason, sl_error *err) {
    const char *rest;
    SL_TRY(write_head(to, title, reason, &rest, err));
    SL_TRY(write_meta(failure_meta, &(failure){title, reason}, to, err));
    return write_end(to, rest, err);
}

static void fini_page(sl_page *page) {
    for (size_t i = 0; i < page->lanes.cnt; i++) {
        sl_page_lane_fini(page->lanes.at[i]);
        free(page->lanes.at[i]);
    }
    sl_vec_free(&page->lanes);
    for (size_t i = 0; page->sources && i < page->report->inputs.cnt; i++)
        sl_page_source_fini(&page->sources[i]);
    free(page->sources);
    sl_page_index_fini(&page->index);
    sl_page_names_fini(&page->names);
}

sl_status sl_export_html(FILE *to, const sl_run *run, const sl_report *report,
                         const sl_html_options *options, sl_error *err) {
    sl_page page = {
        .run = run, .report = report, .title = options->title, .is_diff = options->is_diff};
    char title[SL_PAGE_TITLE_CAP];
    if (!page.title)
        page.title = sl_page_title(title, run, page.is_diff);
    sl_page_names_init(&page.names);
    page.sources = calloc(report->inputs.cnt + 1, sizeof *page.sources);
    sl_status status =
        page.sources ? build_lanes(&page, options, err) : sl_fail_no_memory(err, "the page");
    if (status == SL_OK)
        status = write_page(&page, to, err);
    fini_page(&page);
    return status;
}
