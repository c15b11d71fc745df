/* SPDX-License-Identifier: MIT */
/* The report for people. The verdict comes first, as one sentence; then every finding with its
 * line, its numbers and what to do; then the facts of each device. Nothing is wider than
 * sl_term_columns(), whatever the input holds, but for the path of a finding's own line: users copy
 * it, so it is never cut. */
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "export/report/ledger_out.h"
#include "export/report/process_rows.h"
#include "export/report/report_format.h"
#include "export/report/report_words.h"
#include "export/report/split_out.h"
#include "run/lines/sites.h"

#define LABEL_COLUMNS 14 /* "  called from " */
#define NARROW_INDENT "    "
#define TEXT_COLUMNS  (sl_term_columns() - LABEL_COLUMNS)
/* Frames outward from the user's line: enough to see who called, short enough to stay on screen.
 * --explain prints the whole stack. */
#define CALLER_FRAMES 3

typedef struct text_pen {
    FILE *to;
    const sl_report *report;
    const sl_report_wishes *wishes;
} text_pen;

static const char *style(const text_pen *pen, sl_term_style which) {
    return sl_term_sgr(pen->wishes->has_color, which);
}

/* "  label     text", wrapped under itself. */
static void put_linked(const text_pen *pen, const char *label, const char *text,
                       sl_term_style text_style, const char *link) {
    char first[32];
    if (!text || !*text)
        return;
    snprintf(first, sizeof first, "  %-*s", LABEL_COLUMNS - 2, label);
    sl_term_wrap(pen->to,
                 &(sl_wrap){.first = first,
                            .rest = "              ",
                            .style = text_style,
                            .has_color = pen->wishes->has_color,
                            .link = link},
                 text);
}

static void put_labelled(const text_pen *pen, const char *label, const char *text,
                         sl_term_style text_style) {
    put_linked(pen, label, text, text_style, NULL);
}

static void put_heading(const text_pen *pen, const char *text) {
    fprintf(pen->to, "\n%s%s%s\n", style(pen, SL_STYLE_BOLD), text, style(pen, SL_STYLE_PLAIN));
}

static const sl_term_style verdict_styles[] = {
    [SL_VERDICT_HEALTHY] = SL_STYLE_GOOD,
    [SL_VERDICT_SPIKE] = SL_STYLE_WARN,
    [SL_VERDICT_FRAGMENTATION] = SL_STYLE_WARN,
    [SL_VERDICT_LEAK] = SL_STYLE_BAD,
    [SL_VERDICT_OOM] = SL_STYLE_BAD,
};

static void put_verdict(const text_pen *pen) {
    char sentence[SL_WORDS_CAP];
    sl_words_verdict(sentence, pen->report);
    strncat(sentence, ".", sizeof sentence - strlen(sentence) - 1);
    sl_term_wrap(pen->to,
                 &(sl_wrap){.style = verdict_styles[pen->report->verdict],
                            .has_color = pen->wishes->has_color},
                 sentence);
}

/* Workers without a finding have one line for all of them. */
static bool is_shown(const text_pen *pen, const sl_trace *trace) {
    return pen->wishes->explains || !sl_words_is_quiet(pen->report, trace);
}

static void put_inputs(const text_pen *pen) {
    char quiet[SL_WORDS_CAP];
    size_t quiet_cnt = sl_words_quiet(quiet, pen->report), shown = 0;
    bool is_single = pen->report->inputs.cnt - (pen->wishes->explains ? 0 : quiet_cnt) == 1;
    char line[SL_WORDS_CAP], path[SL_WORDS_CAP / 2], events[SL_HUMAN_CAP], dropped[SL_HUMAN_CAP];
    for (size_t i = 0; i < pen->report->inputs.cnt; i++) {
        const sl_report_input *input = &pen->report->inputs.at[i];
        if (!is_shown(pen, input->trace))
            continue;
        sl_term_fit_path(path, sizeof path, input->trace->path, TEXT_COLUMNS);
        snprintf(line, sizeof line, "%s (%s, %s event%s", path,
                 sl_words_source(input->trace->source), sl_human_count(events, input->events),
                 sl_plural(input->events));
        if (input->dropped_events.known && input->dropped_events.value) {
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, ", %s lost",
                     sl_human_count(dropped, input->dropped_events.value));
        }
        strncat(line, ")", sizeof line - strlen(line) - 1);
        put_labelled(pen, shown++ ? "" : "input", line, SL_STYLE_DIM);
        if (is_single)
            continue;
        sl_words_input_verdict(line, pen->report, input);
        put_labelled(pen, "", line, verdict_styles[input->verdict]);
    }
    if (quiet_cnt && !pen->wishes->explains) {
        sl_words_append(quiet, " (--explain lists them)");
        put_labelled(pen, "", quiet, SL_STYLE_DIM);
    }
}

/* A list whose heading is printed before its first row; an empty list has no heading. */
typedef struct list_pen {
    const text_pen *pen;
    bool is_started;
} list_pen;

static void put_process(const sl_process_row *row, void *context) {
    list_pen *to = context;
    char first[48], rest[48];
    int indent = LABEL_COLUMNS + (int)(row->depth < 8 ? 2 * row->depth : 16);
    snprintf(first, sizeof first, "%-*s", indent, to->is_started ? "" : "  processes");
    snprintf(rest, sizeof rest, "%*s", indent + 2, "");
    sl_term_wrap(to->pen->to,
                 &(sl_wrap){.first = first,
                            .rest = rest,
                            .style = SL_STYLE_DIM,
                            .has_color = to->pen->wishes->has_color},
                 row->text);
    to->is_started = true;
}

/* With several inputs, each finding names its input. */
static void put_finding_input(const text_pen *pen, const sl_finding *finding) {
    char path[SL_WORDS_CAP];
    if (pen->report->inputs.cnt < 2 || !finding->trace)
        return;
    sl_term_fit_path(path, sizeof path, finding->trace->path, TEXT_COLUMNS);
    put_labelled(pen, "input", path, SL_STYLE_PLAIN);
}

static const sl_oom_report *oom_of(const text_pen *pen, const sl_finding *finding) {
    for (size_t i = 0; finding->kind == SL_FINDING_OOM && i < pen->report->inputs.cnt; i++) {
        const sl_report_input *input = &pen->report->inputs.at[i];
        if (input->trace == finding->trace && input->oom.present &&
            input->oom.device == finding->device)
            return &input->oom;
    }
    return NULL;
}

static const char *frame_url(const text_pen *pen, char buf[SL_TERM_URL_CAP], const sl_trace *trace,
                             sl_frame frame) {
    return pen->wishes->has_links
               ? sl_term_file_url(buf, sl_strtab_get(&trace->strings, frame.file).ptr, frame.line)
               : "";
}

static void put_frame(const text_pen *pen, const char *label, const sl_site *site, size_t i) {
    char place[SL_WORDS_CAP];
    char url[SL_TERM_URL_CAP];
    sl_frame frame = sl_stack_frame(&site->trace->stacks, site->stack_id, i);
    sl_words_frame(place, site->trace, frame, TEXT_COLUMNS);
    put_linked(pen, label, place, i == site->frame_pos ? SL_STYLE_PLACE : SL_STYLE_PLAIN,
               frame_url(pen, url, site->trace, frame));
}

/* The line of a finding, its path whole; the function comes on the next line where both do not fit. */
static void put_where(const text_pen *pen, const sl_site *site) {
    char url[SL_TERM_URL_CAP], function[SL_WORDS_CAP], line[16] = "";
    sl_frame frame = sl_stack_frame(&site->trace->stacks, site->stack_id, site->frame_pos);
    sl_str file = sl_strtab_get(&site->trace->strings, frame.file);
    sl_str name = sl_strtab_get(&site->trace->strings, frame.function);
    if (frame.line)
        snprintf(line, sizeof line, ":%u", frame.line);
    snprintf(function, sizeof function, "%s%.*s", name.len ? "in " : "", (int)name.len, name.ptr);
    size_t width = sl_term_width(file.ptr, file.len) + strlen(line);
    /* A name longer than any path can be is cut like any other text. */
    if (width + 1 + sl_term_width(function, strlen(function)) <= TEXT_COLUMNS || !file.len ||
        file.len > PATH_MAX) {
        put_frame(pen, "where", site, site->frame_pos);
        return;
    }
    fprintf(pen->to, "  %-*s%s", LABEL_COLUMNS - 2, "where", style(pen, SL_STYLE_PLACE));
    const char *link = frame_url(pen, url, site->trace, frame);
    if (*link)
        sl_term_put_link(pen->to, link);
    sl_term_put(pen->to, file.ptr, file.len);
    fputs(line, pen->to);
    if (*link)
        sl_term_put_link(pen->to, "");
    fprintf(pen->to, "%s\n", style(pen, SL_STYLE_PLAIN));
    put_labelled(pen, "", function, SL_STYLE_PLACE);
}

/* Native code has a program or a library as its file and no lines: the function is
 * shown instead. */
static bool is_file_shown(const sl_site *site, size_t from, size_t i) {
    const sl_stacks *stacks = &site->trace->stacks;
    sl_frame frame = sl_stack_frame(stacks, site->stack_id, i);
    for (size_t j = from; j < i; j++) {
        sl_frame other = sl_stack_frame(stacks, site->stack_id, j);
        if (other.file == frame.file && (frame.line || other.function == frame.function))
            return true;
    }
    return false;
}

/* The user's line, the library call below it, and who called: each file once, because ten frames of
 * the same framework are no help. */
static void put_short_stack(const text_pen *pen, const sl_site *site, size_t depth) {
    size_t first = site->frame_pos > 0 ? site->frame_pos - 1 : 0, shown = 0;
    put_where(pen, site);
    if (site->frame_pos > 0)
        put_frame(pen, "through", site, first);
    for (size_t i = (size_t)site->frame_pos + 1; i < depth && shown < CALLER_FRAMES; i++)
        if (!is_file_shown(site, first, i))
            put_frame(pen, shown++ ? "" : "called from", site, i);
}

static void put_site(const text_pen *pen, const sl_site *site) {
    sl_frame frame;
    if (!sl_site_frame(*site, &frame))
        return;
    size_t depth = sl_stack_depth(&site->trace->stacks, site->stack_id);
    if (!pen->wishes->explains) {
        put_short_stack(pen, site, depth);
        return;
    }
    put_where(pen, site);
    for (size_t i = 0; i < depth; i++)
        put_frame(pen, i ? "" : "stack", site, i);
}

static const sl_term_style severity_styles[] = {SL_STYLE_DIM, SL_STYLE_WARN, SL_STYLE_BAD};

static void put_evidence(const text_pen *pen, const sl_finding *finding) {
    char line[SL_WORDS_CAP];
    for (size_t i = 0; i < finding->evidence_cnt; i++) {
        sl_words_evidence(line, &finding->evidence[i]);
        put_labelled(pen, i ? "" : "evidence", line, SL_STYLE_DIM);
    }
}

/* "  17.8 GiB  92%      1,200  "; a share above 0 that rounds to 0 is not printed as 0. */
static void say_amount(char buf[64], uint64_t bytes, uint64_t blocks, uint64_t total_bytes) {
    char human[SL_HUMAN_CAP], count[SL_HUMAN_CAP], share[8];
    double percent = 100.0 * (double)bytes / (double)total_bytes;
    snprintf(share, sizeof share, percent < 0.5 ? "<1%%" : "%.0f%%", percent);
    snprintf(buf, 64, "  %10s %4s %9s  ", sl_human_bytes(human, bytes), share,
             sl_human_count(count, blocks));
}

static bool is_narrow(void) {
    return sl_term_columns() < SL_TERM_NARROW;
}

static void put_amount(const text_pen *pen, const char *head, const char *place) {
    size_t len = strlen(head);
    while (is_narrow() && len > 0 && head[len - 1] == ' ')
        len--;
    fprintf(pen->to, "%.*s%s%s\n", (int)len, head, is_narrow() ? "\n" NARROW_INDENT : "", place);
}

static void put_holding(const text_pen *pen, const sl_holding *holding, uint64_t total_bytes) {
    char head[64], place[SL_WORDS_CAP];
    say_amount(head, holding->bytes, holding->blocks, total_bytes);
    sl_words_place(place, holding->site, pen->wishes->scope,
                   sl_term_columns() - (is_narrow() ? sizeof NARROW_INDENT - 1 : strlen(head)));
    put_amount(pen, head, place);
}

static const char *const scope_names[] = {
    [SL_SCOPE_LINE] = "line",
    [SL_SCOPE_FUNCTION] = "function",
    [SL_SCOPE_FILE] = "file",
    [SL_SCOPE_STACK] = "line < innermost frame of the stack",
};

/* The last row sums up the lines that are not listed; it must not look like a line itself. */
static void put_rest(const text_pen *pen, const char *head, bool is_large, uint64_t lines,
                     uint64_t largest_bytes) {
    char human[SL_HUMAN_CAP], what[SL_WORDS_CAP] = "everything else";
    if (is_large && lines > 1)
        snprintf(what, sizeof what, "%" PRIu64 " more, the largest %s", lines,
                 sl_human_bytes(human, largest_bytes));
    put_amount(pen, head, what);
}

static void put_holdings(const text_pen *pen, const char *title, const sl_holdings *holdings) {
    char head[64];
    size_t top = sl_report_rows(pen->wishes, holdings);
    uint64_t total = 0, rest_bytes = holdings->other_bytes, rest_blocks = holdings->other_blocks;
    for (size_t i = 0; i < holdings->cnt; i++) {
        total += holdings->at[i].bytes;
        rest_bytes += i >= top ? holdings->at[i].bytes : 0;
        rest_blocks += i >= top ? holdings->at[i].blocks : 0;
    }
    total += holdings->other_bytes;
    if (total == 0)
        return;
    fprintf(pen->to, "\n  %s\n  %s     bytes        blocks%s%s%s\n", title,
            style(pen, SL_STYLE_DIM), is_narrow() ? "\n" NARROW_INDENT : "  ",
            scope_names[pen->wishes->scope], style(pen, SL_STYLE_PLAIN));
    for (size_t i = 0; i < holdings->cnt && i < top; i++)
        put_holding(pen, &holdings->at[i], total);
    if (rest_bytes == 0)
        return;
    say_amount(head, rest_bytes, rest_blocks, total);
    bool is_cut = top < holdings->cnt;
    put_rest(pen, head, sl_sites_rest_is_large(rest_bytes, total),
             holdings->other_sites + (is_cut ? holdings->cnt - top : 0),
             is_cut ? holdings->at[top].bytes : holdings->other_largest_bytes);
}

/* What was requested, and how full the memory was. */
static void put_request(const text_pen *pen, const sl_oom_report *oom) {
    char line[SL_WORDS_CAP], device[SL_WORDS_CAP], moment[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    const struct {
        const char *name;
        sl_maybe_u64 bytes;
    } rows[] = {{"allocated", oom->allocated_bytes},
                {"reserved", oom->reserved_bytes},
                {"free on the device", oom->device_free_bytes},
                {"limit", oom->limit_bytes}};
    sl_words_device(device, oom->device);
    sl_words_moment(moment, oom->site.trace, oom->device, oom->time_us);
    line[0] = '\0';
    sl_words_append(line, "%s of %s, %s",
                    oom->requested_bytes ? sl_human_bytes(human, oom->requested_bytes)
                                         : "an unknown amount",
                    device, moment);
    put_labelled(pen, "requested", line, SL_STYLE_PLAIN);
    line[0] = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (rows[i].bytes.known)
            sl_words_append(line, "%s%s %s", line[0] ? ", " : "", rows[i].name,
                            sl_human_bytes(human, rows[i].bytes.value));
    put_labelled(pen, "memory", line, SL_STYLE_PLAIN);
    put_labelled(pen, "cause", sl_oom_cause_name(oom->cause), SL_STYLE_BAD);
}

/* "leak (graph retention): title"; the subkind only if the title does not name it. */
static void put_title(const text_pen *pen, const sl_finding *finding, size_t number) {
    char text[SL_WORDS_CAP], lead[32];
    bool is_named = !finding->subkind || strstr(finding->title, finding->subkind);
    snprintf(lead, sizeof lead, "%zu. ", number);
    snprintf(text, sizeof text, "%s%s%s%s: %s", sl_finding_kind_name(finding->kind),
             is_named ? "" : " (", is_named ? "" : finding->subkind, is_named ? "" : ")",
             finding->title);
    putc('\n', pen->to);
    sl_term_wrap(pen->to,
                 &(sl_wrap){.first = lead,
                            .rest = "   ",
                            .style = severity_styles[finding->severity],
                            .has_color = pen->wishes->has_color},
                 text);
}

static void put_numbers(const text_pen *pen, const sl_finding *finding) {
    char text[SL_WORDS_CAP];
    sl_words_amount(text, finding);
    put_labelled(pen, "amount", text, SL_STYLE_PLAIN);
    sl_words_growth(text, finding);
    put_labelled(pen, "growth", text, SL_STYLE_PLAIN);
}

static void put_finding(const text_pen *pen, size_t i) {
    const sl_finding *finding = &pen->report->findings.at[i];
    const sl_oom_report *oom = oom_of(pen, finding);
    char text[SL_WORDS_CAP];
    put_title(pen, finding, i + 1);
    put_finding_input(pen, finding);
    put_site(pen, &finding->site);
    if (oom)
        put_request(pen, oom);
    else
        put_numbers(pen, finding);
    sl_words_certainty(text, finding);
    put_labelled(pen, "severity", text, SL_STYLE_PLAIN);
    put_labelled(pen, "why", finding->explanation, SL_STYLE_PLAIN);
    put_labelled(pen, "fix", finding->advice, SL_STYLE_BOLD);
    if (pen->wishes->explains)
        put_evidence(pen, finding);
    if (oom)
        put_holdings(pen, "Live at that moment", &oom->holders);
}

/* The same as a sentence, where the table would be too wide. */
static void put_totals_in_words(const text_pen *pen, const char *label, uint64_t requested_bytes,
                                const sl_maybe_u64 others[2], const char *remark) {
    static const char *const names[] = {"in blocks", "reserved"};
    char line[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    snprintf(line, sizeof line, "%s requested", sl_human_bytes(human, requested_bytes));
    for (size_t i = 0; i < 2; i++)
        if (others[i].known)
            sl_words_append(line, ", %s %s", sl_human_bytes(human, others[i].value), names[i]);
    sl_words_append(line, "%s%s", *remark ? ", " : "", remark);
    put_labelled(pen, label, line, SL_STYLE_PLAIN);
}

/* One line of the table of totals; "-" for what is not known. */
static void put_totals(const text_pen *pen, const char *label, uint64_t requested_bytes,
                       const sl_maybe_u64 others[2], const char *remark) {
    char human[SL_HUMAN_CAP];
    if (is_narrow()) {
        put_totals_in_words(pen, label, requested_bytes, others, remark);
        return;
    }
    fprintf(pen->to, "  %-*s%10s", LABEL_COLUMNS - 2, label,
            sl_human_bytes(human, requested_bytes));
    for (size_t i = 0; i < 2; i++)
        fprintf(pen->to, "%12s", others[i].known ? sl_human_bytes(human, others[i].value) : "-");
    fprintf(pen->to, "%s%s\n", *remark ? "  " : "", remark);
}

static void put_table(const text_pen *pen, const sl_device_report *device) {
    char moment[SL_WORDS_CAP], capacity[64] = "", human[SL_HUMAN_CAP];
    const sl_maybe_u64 at_end[] = {device->live_bytes, device->reserved_bytes};
    const sl_maybe_u64 at_peak[] = {device->peak_bytes, device->peak_reserved_bytes};
    if (device->capacity_bytes.known)
        snprintf(capacity, sizeof capacity, "of %s",
                 sl_human_bytes(human, device->capacity_bytes.value));
    sl_words_moment(moment, device->trace, device->device, device->peak_time_us);
    if (!is_narrow())
        fprintf(pen->to, "%s%*s   requested   in blocks    reserved%s\n", style(pen, SL_STYLE_DIM),
                LABEL_COLUMNS - 2, "", style(pen, SL_STYLE_PLAIN));
    put_totals(pen, "at the end", device->live_requested_bytes, at_end, capacity);
    if (device->has_history && device->events > 0)
        put_totals(pen, "peak", device->peak_requested_bytes, at_peak, moment);
}

static void put_counts(const text_pen *pen, const sl_device_report *device) {
    char line[SL_WORDS_CAP], a[SL_HUMAN_CAP], b[SL_HUMAN_CAP], c[SL_HUMAN_CAP];
    if (!device->has_history || device->events == 0)
        return;
    snprintf(line, sizeof line, "%s (%s allocation%s, %s free%s)",
             sl_human_count(a, device->events), sl_human_count(b, device->allocs),
             sl_plural(device->allocs), sl_human_count(c, device->frees), sl_plural(device->frees));
    if (device->trace->has_time)
        sl_words_append(line, " in %s",
                        sl_human_duration_us(a, device->last_time_us - device->first_time_us));
    if (device->steps.known) {
        sl_words_append(line, ", %s step%s (%s)", sl_human_count(a, device->steps.value),
                        sl_plural(device->steps.value),
                        device->steps_marked ? "marked" : "inferred");
    }
    put_labelled(pen, "events", line, SL_STYLE_PLAIN);
}

static void put_fragmentation(const text_pen *pen, const sl_device_report *device) {
    const sl_fragmentation *frag = &device->fragmentation;
    char line[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    if (!frag->inactive_bytes.known)
        return;
    snprintf(line, sizeof line, "%s reserved but not in use",
             sl_human_bytes(human, frag->inactive_bytes.value));
    if (frag->ratio.known) {
        snprintf(human, sizeof human, "%.1f %%", frag->ratio.value * 100);
        sl_words_append(line, " (%s)", human);
    }
    if (frag->largest_free_bytes.known)
        sl_words_append(line, ", largest piece %s",
                        sl_human_bytes(human, frag->largest_free_bytes.value));
    put_labelled(pen, "unused", line, SL_STYLE_PLAIN);
}

/* What filled the card at the end, and when it was fullest. */
static void put_ledger(const text_pen *pen, const sl_device_report *device) {
    char line[SL_WORDS_CAP];
    const sl_ledger_state *end = &device->ledger, *full = &device->ledger_fullest;
    sl_ledger_words(line, end);
    put_labelled(pen, "card", line, SL_STYLE_PLAIN);
    if (!sl_ledger_is_fuller(full, end))
        return;
    sl_ledger_words(line, full);
    put_labelled(pen, "fullest", line, SL_STYLE_PLAIN);
}

static void put_base(const text_pen *pen, const sl_device_report *device) {
    char line[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    if (device->base_bytes == 0)
        return;
    snprintf(line, sizeof line, "%s was live before the first event",
             sl_human_bytes(human, device->base_bytes));
    put_labelled(pen, "before", line, SL_STYLE_PLAIN);
}

static void put_tags(const text_pen *pen, const char *label, const sl_split *by_tag) {
    char line[SL_WORDS_CAP];
    sl_split_words(line, by_tag);
    put_labelled(pen, label, line, SL_STYLE_PLAIN);
}

static void put_identity(const text_pen *pen, const sl_device_report *device) {
    char line[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    if (device->identity_holds)
        return;
    snprintf(line, sizeof line,
             "the events and the final state differ by %s, so totals may be off by that much",
             sl_human_bytes_delta(human, device->identity_residue));
    put_labelled(pen, "caution", line, SL_STYLE_WARN);
}

/* A peak close to the end has the same holders: the list would repeat the other one. */
static bool is_peak_worth_a_list(const sl_device_report *device) {
    return device->peak_requested_bytes / 10 * 9 > device->live_requested_bytes;
}

static void put_device(const text_pen *pen, const sl_device_report *device) {
    char heading[SL_WORDS_CAP], path[SL_WORDS_CAP / 2];
    sl_words_ranked_device(heading, device->device, device->rank);
    heading[0] = (char)toupper((unsigned char)heading[0]);
    if (pen->report->inputs.cnt > 1 && device->trace) {
        sl_term_fit_path(path, sizeof path, device->trace->path, sl_term_columns() - 24);
        sl_words_append(heading, " of %s", path);
    }
    put_heading(pen, heading);
    put_table(pen, device);
    put_base(pen, device);
    put_ledger(pen, device);
    put_tags(pen, "by tag", &device->live_by_tag);
    put_tags(pen, "at the peak", &device->peak_by_tag);
    put_fragmentation(pen, device);
    put_counts(pen, device);
    put_identity(pen, device);
    put_holdings(pen, "Live at the end", &device->top_live);
    if (is_peak_worth_a_list(device) || pen->wishes->explains)
        put_holdings(pen, "Live at the peak", &device->top_peak);
}

static void put_bullets(const text_pen *pen, const char *text) {
    sl_term_wrap(pen->to, &(sl_wrap){.first = "  - ", .rest = "    "}, text);
}

/* Only the newest; a run that stays near a threshold raises one per minute. */
#define ALERTS_SHOWN 10

static void put_alert(const text_pen *pen, const sl_trace *trace, const sl_alert *alert) {
    char line[SL_WORDS_CAP], words[SL_WORDS_CAP], device[SL_WORDS_CAP];
    sl_words_moment(line, trace, alert->device, alert->time_us);
    sl_words_device(device, alert->device);
    sl_alert_words(words, trace, alert);
    sl_words_append(line, ", %.40s: %.400s", device, words);
    put_bullets(pen, line);
}

static void put_alerts(const text_pen *pen) {
    bool is_first = true;
    for (size_t i = 0; i < pen->report->inputs.cnt; i++) {
        const sl_trace *trace = pen->report->inputs.at[i].trace;
        size_t cnt = trace->alerts.cnt;
        for (size_t k = cnt > ALERTS_SHOWN ? cnt - ALERTS_SHOWN : 0; k < cnt; k++) {
            if (is_first)
                put_heading(pen, "Alerts");
            is_first = false;
            put_alert(pen, trace, &trace->alerts.at[k]);
        }
    }
}

static void put_note(const char *text, void *context) {
    list_pen *to = context;
    if (!to->is_started)
        put_heading(to->pen, "Notes");
    to->is_started = true;
    put_bullets(to->pen, text);
}

static void put_reasons(const text_pen *pen) {
    if (!pen->wishes->explains || pen->report->reasons.cnt == 0)
        return;
    put_heading(pen, "How this verdict was reached");
    for (size_t i = 0; i < pen->report->reasons.cnt; i++)
        put_bullets(pen, pen->report->reasons.at[i].text);
}

sl_status sl_report_write_text(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                               sl_error *err) {
    text_pen pen = {to, report, wishes};
    put_verdict(&pen);
    putc('\n', to);
    put_inputs(&pen);
    sl_process_rows_each(report, put_process, &(list_pen){&pen, false});
    for (size_t i = 0; i < report->findings.cnt; i++)
        put_finding(&pen, i);
    for (size_t i = 0; i < report->devices.cnt; i++)
        if (is_shown(&pen, report->devices.at[i].trace))
            put_device(&pen, &report->devices.at[i]);
    put_alerts(&pen);
    sl_report_notes_each(report, put_note, &(list_pen){&pen, false});
    put_reasons(&pen);
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the report") : SL_OK;
}
