/* SPDX-License-Identifier: MIT */
#include "export/report/diff_format.h"

#include <string.h>

#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "export/formats/exporter.h"
#include "export/report/md_out.h"
#include "export/report/report_words.h"
#include "export/report/site_json.h"
#include "export/report/split_out.h"
#include "telemetry/telemetry.h"

#define DIFF_SCHEMA "stormlog.diff/1"

static int64_t row_delta(const sl_diff_row *row) {
    return (int64_t)(row->after_bytes - row->before_bytes);
}

static int64_t total_delta(const sl_diff *diff) {
    return (int64_t)(diff->after.live_bytes - diff->before.live_bytes);
}

/* The answer in one sentence. */
static void say_headline(char buf[SL_WORDS_CAP], const sl_diff *diff, const char *label) {
    char change[SL_HUMAN_CAP], before[SL_HUMAN_CAP], after[SL_HUMAN_CAP], device[SL_WORDS_CAP];
    int64_t delta = total_delta(diff);
    uint64_t size = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
    buf[0] = '\0';
    if (delta == 0)
        sl_words_append(buf, "The same amount is live: %s",
                        sl_human_bytes(after, diff->after.live_bytes));
    else
        sl_words_append(buf, "%s %s: %s before, %s after", sl_human_bytes(change, size),
                        delta > 0 ? "more is live" : "less is live",
                        sl_human_bytes(before, diff->before.live_bytes),
                        sl_human_bytes(after, diff->after.live_bytes));
    sl_words_device(device, diff->after.device);
    sl_words_append(buf, " (%s%s%s)", label ? label : "", label ? ", " : "", device);
}

static const char *label_of(const sl_diff_list *diffs, size_t i) {
    return diffs->labels ? diffs->labels[i] : NULL;
}

static int64_t first_time(const sl_diff_side *side) {
    int64_t first_ns, last_ns;
    if (side->trace->telemetry &&
        sl_tm_span(side->trace->telemetry, &side->device, &first_ns, &last_ns))
        return first_ns / 1000;
    const sl_device_trace *device = sl_trace_find_device(side->trace, side->device);
    return device && device->events.cnt ? device->events.time_us[0] : side->time_us;
}

static void say_side(char buf[SL_WORDS_CAP], const sl_diff_side *side) {
    char path[SL_WORDS_CAP / 2], human[SL_HUMAN_CAP], blocks[SL_HUMAN_CAP];
    sl_term_fit_path(path, sizeof path, side->trace->path, sl_term_columns() - 20);
    buf[0] = '\0';
    sl_words_append(buf, "%s, ", path);
    if (side->trace->has_time)
        sl_words_append(buf, "%s after its start",
                        sl_human_duration_us(human, side->time_us - first_time(side)));
    else
        sl_words_append(buf, "at event %lld", (long long)side->time_us);
    sl_words_append(buf, ": %s", sl_human_bytes(human, side->live_bytes));
    if (!side->trace->telemetry)
        sl_words_append(buf, " in %s block%s", sl_human_count(blocks, side->blocks),
                        sl_plural(side->blocks));
}

static void append_change(char buf[SL_WORDS_CAP], const sl_diff *diff, sl_change change,
                          uint64_t bytes) {
    char human[SL_HUMAN_CAP], count[SL_HUMAN_CAP];
    bool is_less = change == SL_CHANGE_GONE || change == SL_CHANGE_SHRUNK;
    int64_t delta = is_less ? -(int64_t)bytes : (int64_t)bytes;
    if (diff->change_cnt[change] == 0)
        return;
    sl_words_append(buf, "%s%s %s at %s place%s", buf[0] ? ", " : "", sl_change_name(change),
                    sl_human_bytes_delta(human, delta),
                    sl_human_count(count, diff->change_cnt[change]),
                    sl_plural(diff->change_cnt[change]));
}

static void say_changes(char buf[SL_WORDS_CAP], const sl_diff *diff) {
    char human[SL_HUMAN_CAP];
    buf[0] = '\0';
    append_change(buf, diff, SL_CHANGE_APPEARED, diff->appeared_bytes);
    append_change(buf, diff, SL_CHANGE_GROWN, diff->grown_bytes);
    append_change(buf, diff, SL_CHANGE_SHRUNK, diff->shrunk_bytes);
    append_change(buf, diff, SL_CHANGE_GONE, diff->gone_bytes);
    if (diff->same_bytes)
        sl_words_append(buf, "%sunchanged %s", buf[0] ? ", " : "",
                        sl_human_bytes(human, diff->same_bytes));
}

static void put_labelled(FILE *to, const char *label, const char *text) {
    char first[32];
    snprintf(first, sizeof first, "  %-8s  ", label);
    if (*text)
        sl_term_wrap(to, &(sl_wrap){.first = first, .rest = "            "}, text);
}

static void put_text_row(FILE *to, const sl_diff_row *row, const sl_diff_wishes *wishes) {
    char change[SL_HUMAN_CAP], after[SL_HUMAN_CAP], head[96], place[SL_WORDS_CAP];
    int64_t delta = row_delta(row);
    snprintf(head, sizeof head, "%11s %10s  %-8s  ", sl_human_bytes_delta(change, delta),
             sl_human_bytes(after, row->after_bytes), sl_change_name(row->change));
    size_t columns = sl_term_columns();
    bool is_narrow = columns < SL_TERM_NARROW;
    sl_words_place(place, row->site, wishes->scope, columns - (is_narrow ? 4 : strlen(head)));
    fprintf(to, "%s%s%s%s%s\n",
            sl_term_sgr(wishes->has_color, delta > 0 ? SL_STYLE_WARN : SL_STYLE_GOOD), head,
            sl_term_sgr(wishes->has_color, SL_STYLE_PLAIN), is_narrow ? "\n    " : "", place);
}

static void put_text(const sl_diff *diff, const char *label, const sl_diff_wishes *wishes,
                     FILE *to) {
    char text[SL_WORDS_CAP];
    say_headline(text, diff, label);
    sl_words_append(text, ".");
    sl_term_wrap(to, &(sl_wrap){.style = SL_STYLE_BOLD, .has_color = wishes->has_color}, text);
    putc('\n', to);
    say_side(text, &diff->before);
    put_labelled(to, "before", text);
    say_side(text, &diff->after);
    put_labelled(to, "after", text);
    say_changes(text, diff);
    put_labelled(to, "changes", text);
    sl_split_diff_words(text, &diff->before.by_tag, &diff->after.by_tag);
    put_labelled(to, "by tag", text);
    sl_split_diff_words(text, &diff->before.by_phase, &diff->after.by_phase);
    put_labelled(to, "by phase", text);
    if (diff->rows.cnt == 0)
        return;
    fputs("\n     change      after  what      line\n", to);
    for (size_t i = 0; i < diff->rows.cnt && i < wishes->top; i++)
        put_text_row(to, &diff->rows.at[i], wishes);
    if (diff->rows.cnt > wishes->top)
        fprintf(to, "%11s %zu more row%s; --top shows more\n", "", diff->rows.cnt - wishes->top,
                sl_plural(diff->rows.cnt - wishes->top));
}

static sl_status write_text(const sl_diff_list *diffs, const sl_diff_wishes *wishes, FILE *to,
                            sl_error *err) {
    for (size_t i = 0; i < diffs->cnt; i++) {
        if (i)
            putc('\n', to);
        put_text(diffs->at[i], label_of(diffs, i), wishes, to);
    }
    return sl_export_finish(to, err);
}

static void put_markdown_split(FILE *to, const char *name, const sl_split *before,
                               const sl_split *after) {
    char text[SL_WORDS_CAP];
    sl_split_diff_words(text, before, after);
    if (*text)
        fprintf(to, "- %s: %s\n", name, text);
}

static void put_markdown(const sl_diff *diff, const char *label, const sl_diff_wishes *wishes,
                         FILE *to) {
    char text[SL_WORDS_CAP], a[SL_HUMAN_CAP], b[SL_HUMAN_CAP], c[SL_HUMAN_CAP];
    say_headline(text, diff, label);
    fputs("## ", to);
    sl_md_text(to, text);
    fputs("\n\n- before: ", to);
    say_side(text, &diff->before);
    sl_md_text(to, text);
    fputs("\n- after: ", to);
    say_side(text, &diff->after);
    sl_md_text(to, text);
    say_changes(text, diff);
    fprintf(to, "%s%s\n", *text ? "\n- changes: " : "", text);
    put_markdown_split(to, "by tag", &diff->before.by_tag, &diff->after.by_tag);
    put_markdown_split(to, "by phase", &diff->before.by_phase, &diff->after.by_phase);
    if (diff->rows.cnt)
        fputs("\n| change | before | after | what | line |\n| ---: | ---: | ---: | --- | --- |\n",
              to);
    for (size_t i = 0; i < diff->rows.cnt && i < wishes->top; i++) {
        const sl_diff_row *row = &diff->rows.at[i];
        fprintf(to, "| %s | %s | %s | %s | ", sl_human_bytes_delta(a, row_delta(row)),
                sl_human_bytes(b, row->before_bytes), sl_human_bytes(c, row->after_bytes),
                sl_change_name(row->change));
        sl_words_site(text, row->site, 0);
        sl_md_code(to, text);
        fputs(" |\n", to);
    }
}

static sl_status write_markdown(const sl_diff_list *diffs, const sl_diff_wishes *wishes, FILE *to,
                                sl_error *err) {
    for (size_t i = 0; i < diffs->cnt; i++) {
        if (i)
            putc('\n', to);
        put_markdown(diffs->at[i], label_of(diffs, i), wishes, to);
    }
    return sl_export_finish(to, err);
}

static void key_side(sl_json_out *json, const char *key, const sl_diff_side *side) {
    sl_json_key(json, key);
    sl_json_begin_object(json);
    sl_json_key(json, "path");
    sl_json_cstr(json, side->trace->path);
    sl_json_key(json, "device");
    sl_json_i64(json, side->device);
    sl_json_key(json, "time_us");
    sl_json_i64(json, side->time_us);
    sl_json_key_u64(json, "live_requested_bytes", side->live_bytes);
    sl_json_key_u64(json, "blocks", side->blocks);
    sl_json_key(json, "reserved_bytes");
    sl_json_maybe_u64(json, side->reserved_bytes);
    sl_json_end_object(json);
}

static void write_json_row(sl_json_out *json, const sl_diff_row *row) {
    sl_json_begin_object(json);
    sl_json_key(json, "site");
    sl_site_json(json, row->site);
    sl_json_key(json, "change");
    sl_json_cstr(json, sl_change_name(row->change));
    sl_json_key(json, "delta_bytes");
    sl_json_i64(json, row_delta(row));
    sl_json_key_u64(json, "before_bytes", row->before_bytes);
    sl_json_key_u64(json, "after_bytes", row->after_bytes);
    sl_json_key_u64(json, "before_blocks", row->before_blocks);
    sl_json_key_u64(json, "after_blocks", row->after_blocks);
    sl_json_end_object(json);
}

static void write_json_diff(sl_json_out *json, const sl_diff *diff, const char *label, size_t top) {
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "pair", label);
    key_side(json, "before", &diff->before);
    key_side(json, "after", &diff->after);
    sl_json_key(json, "delta_bytes");
    sl_json_i64(json, total_delta(diff));
    sl_json_key_u64(json, "appeared_bytes", diff->appeared_bytes);
    sl_json_key_u64(json, "gone_bytes", diff->gone_bytes);
    sl_json_key_u64(json, "grown_bytes", diff->grown_bytes);
    sl_json_key_u64(json, "shrunk_bytes", diff->shrunk_bytes);
    sl_json_key_u64(json, "same_bytes", diff->same_bytes);
    sl_json_key(json, "sites");
    sl_json_begin_object(json);
    for (int change = 0; change <= SL_CHANGE_SAME; change++)
        sl_json_key_u64(json, sl_change_name((sl_change)change), diff->change_cnt[change]);
    sl_json_end_object(json);
    sl_split_diff_json(json, "by_tag", "tag", &diff->before.by_tag, &diff->after.by_tag);
    sl_split_diff_json(json, "by_phase", "phase", &diff->before.by_phase, &diff->after.by_phase);
    sl_json_key(json, "rows");
    sl_json_begin_array(json);
    for (size_t i = 0; i < diff->rows.cnt && i < top; i++)
        write_json_row(json, &diff->rows.at[i]);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static sl_status write_json(const sl_diff_list *diffs, const sl_diff_wishes *wishes, FILE *to,
                            sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key(&json, "schema");
    sl_json_cstr(&json, DIFF_SCHEMA);
    sl_json_key(&json, "diffs");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < diffs->cnt; i++)
        write_json_diff(&json, diffs->at[i], label_of(diffs, i), wishes->top);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static const sl_diff_format formats[] = {
    {"txt", write_text},
    {"json", write_json},
    {"md", write_markdown},
};

const sl_diff_format *sl_diff_format_find(const char *name) {
    for (size_t i = 0; i < SL_COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
