/* SPDX-License-Identifier: MIT */
#include "export/report/report_words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "telemetry/telemetry.h"

static const char *const source_names[] = {
    [SL_SOURCE_SLOG] = "slog",
    [SL_SOURCE_TORCH_SNAPSHOT] = "torch-snapshot",
    [SL_SOURCE_TELEMETRY] = "telemetry",
    [SL_SOURCE_OOM_BUNDLE] = "oom-bundle",
};

const char *sl_words_source(sl_source_kind source) {
    return source_names[source];
}

void sl_words_append(char buf[SL_WORDS_CAP], const char *fmt, ...) {
    size_t used = strlen(buf);
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf + used, SL_WORDS_CAP - used, fmt, args);
    va_end(args);
}

static void append_part(char buf[SL_WORDS_CAP], const char *part) {
    sl_words_append(buf, "%s%s", buf[0] ? ", " : "", part);
}

/* Columns a path keeps before the function's name is shortened: a C++ name can fill a line alone. */
#define PATH_COLUMNS_MIN 24

/* " in name", shortened to the columns; "" where too little would be left of it. */
static void say_function(char *buf, size_t cap, const char *function, size_t columns) {
    snprintf(buf, cap, "%s%.200s", *function ? " in " : "", function);
    sl_term_clean(buf);
    size_t width = sl_term_width(buf, strlen(buf));
    if (width <= columns)
        return;
    buf[columns < sizeof " in f..." ? 0 : sl_term_fit(buf, strlen(buf), columns - 3)] = '\0';
    if (*buf)
        strncat(buf, "...", cap - strlen(buf) - 1);
}

void sl_words_frame(char buf[SL_WORDS_CAP], const sl_trace *trace, sl_frame frame, size_t columns) {
    char function[SL_WORDS_CAP / 2], path[SL_WORDS_CAP / 2], line[16] = "";
    const char *file = sl_strtab_get(&trace->strings, frame.file).ptr;
    size_t room = columns ? columns : SL_WORDS_CAP / 2 - 1;
    if (frame.line)
        snprintf(line, sizeof line, ":%u", frame.line);
    room -= room > strlen(line) ? strlen(line) : 0;
    file = *file ? file : "??";
    size_t path_columns = sl_term_width(file, strlen(file));
    path_columns = path_columns < PATH_COLUMNS_MIN ? path_columns : PATH_COLUMNS_MIN;
    say_function(function, sizeof function, sl_strtab_get(&trace->strings, frame.function).ptr,
                 room > path_columns ? room - path_columns : 0);
    sl_term_fit_path(path, sizeof path, file, room - sl_term_width(function, strlen(function)));
    snprintf(buf, SL_WORDS_CAP, "%s%s%s", path, line, function);
}

void sl_words_site(char buf[SL_WORDS_CAP], sl_site site, size_t columns) {
    sl_frame frame;
    const char *label = sl_site_label(site);
    if (sl_site_frame(site, &frame))
        sl_words_frame(buf, site.trace, frame, columns);
    else
        snprintf(buf, SL_WORDS_CAP, "%.*s", columns ? (int)columns : SL_WORDS_CAP, label);
}

/* Innermost frame and user's line, where they differ. */
static void say_stack(char buf[SL_WORDS_CAP], sl_site site, size_t columns) {
    char inner[SL_WORDS_CAP], user[SL_WORDS_CAP];
    size_t half = columns ? (columns - 3) / 2 : 0;
    sl_words_frame(inner, site.trace, sl_stack_frame(&site.trace->stacks, site.stack_id, 0), half);
    sl_words_site(user, site, columns ? columns - 3 - sl_term_width(inner, strlen(inner)) : 0);
    buf[0] = '\0';
    sl_words_append(buf, "%s < %s", user, inner);
}

void sl_words_place(char buf[SL_WORDS_CAP], sl_site site, sl_words_scope scope, size_t columns) {
    sl_frame frame;
    bool has_line = sl_site_frame(site, &frame);
    if (has_line && scope == SL_SCOPE_STACK && site.frame_pos > 0) {
        say_stack(buf, site, columns);
        return;
    }
    if (!has_line || scope == SL_SCOPE_LINE || scope == SL_SCOPE_STACK) {
        sl_words_site(buf, site, columns);
        return;
    }
    frame.line = 0;
    if (scope == SL_SCOPE_FILE)
        frame.function = 0;
    sl_words_frame(buf, site.trace, frame, columns);
}

void sl_words_device(char buf[SL_WORDS_CAP], int device) {
    if (device == SL_DEVICE_HOST)
        snprintf(buf, SL_WORDS_CAP, "host memory");
    else
        snprintf(buf, SL_WORDS_CAP, "device %d", device);
}

void sl_words_ranked_device(char buf[SL_WORDS_CAP], int device, sl_maybe_u64 rank) {
    sl_words_device(buf, device);
    if (rank.known)
        sl_words_append(buf, " of rank %llu", (unsigned long long)rank.value);
}

void sl_words_bytes(char buf[SL_WORDS_CAP], sl_maybe_u64 bytes) {
    char human[SL_HUMAN_CAP];
    snprintf(buf, SL_WORDS_CAP, "%s", bytes.known ? sl_human_bytes(human, bytes.value) : "unknown");
}

void sl_words_amount(char buf[SL_WORDS_CAP], const sl_finding *finding) {
    char human[SL_HUMAN_CAP], count[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (finding->bytes.known)
        sl_words_append(buf, "%s", sl_human_bytes(human, finding->bytes.value));
    if (finding->blocks.known)
        sl_words_append(buf, "%s%s block%s", buf[0] ? " in " : "",
                        sl_human_count(count, finding->blocks.value),
                        sl_plural(finding->blocks.value));
    if (finding->growth_share.known) {
        char part[64];
        snprintf(part, sizeof part, "%.0f %% of the growth", finding->growth_share.value * 100);
        append_part(buf, part);
    }
}

static void append_rate(char buf[SL_WORDS_CAP], sl_maybe_f64 rate, const char *per) {
    char human[SL_HUMAN_CAP], part[64];
    if (!rate.known || !(fabs(rate.value) < 0x1p62))
        return;
    snprintf(part, sizeof part, "%s %s", sl_human_bytes_delta(human, (int64_t)rate.value), per);
    append_part(buf, part);
}

void sl_words_growth(char buf[SL_WORDS_CAP], const sl_finding *finding) {
    char part[64];
    buf[0] = '\0';
    append_rate(buf, finding->bytes_per_step, "per step");
    append_rate(buf, finding->bytes_per_second, "per second");
    if (finding->r_squared.known) {
        snprintf(part, sizeof part, "R2 %.3f", finding->r_squared.value);
        append_part(buf, part);
    }
}

static int64_t start_of(const sl_trace *trace, int device, int64_t otherwise) {
    int64_t first_ns = 0, last_ns = 0;
    if (trace && trace->telemetry && sl_tm_span(trace->telemetry, &device, &first_ns, &last_ns))
        return first_ns / 1000;
    const sl_device_trace *found = trace ? sl_trace_find_device(trace, device) : NULL;
    return found && found->events.cnt ? found->events.time_us[0] : otherwise;
}

void sl_words_certainty(char buf[SL_WORDS_CAP], const sl_finding *finding) {
    char device[SL_WORDS_CAP];
    sl_words_ranked_device(device, finding->device, finding->rank);
    buf[0] = '\0';
    sl_words_append(buf, "%s, confidence %.0f %%, %s", sl_severity_name(finding->severity),
                    finding->confidence * 100, device);
}

void sl_words_moment(char buf[SL_WORDS_CAP], const sl_trace *trace, int device, int64_t time_us) {
    char human[SL_HUMAN_CAP];
    if (!trace || trace->has_time)
        snprintf(buf, SL_WORDS_CAP, "%s after the start",
                 sl_human_duration_us(human, time_us - start_of(trace, device, time_us)));
    else
        snprintf(buf, SL_WORDS_CAP, "at event %lld", (long long)time_us);
}

/* A number in the unit its evidence names. */
static void put_quantity(char buf[SL_HUMAN_CAP], double value, const char *unit) {
    if (!(fabs(value) < 0x1p62))
        snprintf(buf, SL_HUMAN_CAP, "unknown");
    else if (strcmp(unit, "bytes") == 0)
        sl_human_bytes_delta(buf, (int64_t)value);
    else if (strcmp(unit, "us") == 0)
        sl_human_duration_us(buf, (int64_t)value);
    else if (strcmp(unit, "1") == 0)
        snprintf(buf, SL_HUMAN_CAP, "%.4g", value);
    else /* units are plurals: "1 step", "5 steps" */
        snprintf(buf, SL_HUMAN_CAP, "%.4g %.*s", value,
                 (int)(strlen(unit) - (value == 1 && unit[1] && unit[strlen(unit) - 1] == 's')),
                 unit);
}

void sl_words_evidence(char buf[SL_WORDS_CAP], const sl_evidence *evidence) {
    char value[SL_HUMAN_CAP], threshold[SL_HUMAN_CAP];
    put_quantity(value, evidence->value, evidence->unit);
    snprintf(buf, SL_WORDS_CAP, "%s: %s", evidence->name, value);
    if (!evidence->relation || isnan(evidence->threshold))
        return;
    put_quantity(threshold, evidence->threshold, evidence->unit);
    sl_words_append(buf, " (%s %s)", evidence->relation, threshold);
}

const sl_finding *sl_words_main_finding(const sl_report *report, const sl_report_input *input) {
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (input->verdict != SL_VERDICT_HEALTHY && finding->trace == input->trace &&
            finding->decides == input->verdict)
            return finding;
    }
    return NULL;
}

static const sl_device_report *find_largest(const sl_report *report, const sl_trace *trace) {
    const sl_device_report *largest = NULL;
    for (size_t i = 0; i < report->devices.cnt; i++) {
        const sl_device_report *device = &report->devices.at[i];
        if (device->trace == trace &&
            (!largest || device->peak_requested_bytes > largest->peak_requested_bytes))
            largest = device;
    }
    return largest;
}

/* The most severe finding of a kind in an input, on one device or on any (NULL). */
static const sl_finding *find_kind(const sl_report *report, const sl_trace *trace,
                                   sl_finding_kind kind, const int *device) {
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->kind == kind && finding->trace == trace &&
            (!device || finding->device == *device))
            return finding;
    }
    return NULL;
}

/* Only steps distinguish growth from loading data: without them the report claims neither a leak
 * nor its absence. */
static void say_unjudged(char buf[SL_WORDS_CAP], const sl_device_report *device) {
    char human[SL_HUMAN_CAP];
    if (device->steps.known)
        sl_words_append(buf, "No leak verdict: %llu step%s %s too few",
                        (unsigned long long)device->steps.value, sl_plural(device->steps.value),
                        device->steps.value == 1 ? "is" : "are");
    else
        sl_words_append(buf, "No leak verdict: no steps were seen");
    sl_words_append(buf, "; no request failed; the peak was %s",
                    sl_human_bytes(human, device->peak_requested_bytes));
}

/* No more is claimed than was recorded. */
static void say_healthy(char buf[SL_WORDS_CAP], const sl_report *report,
                        const sl_report_input *input) {
    char human[SL_HUMAN_CAP];
    const sl_device_report *largest = find_largest(report, input->trace);
    buf[0] = '\0';
    if (!largest) {
        sl_words_append(buf,
                        input->trace->source == SL_SOURCE_SLOG
                            ? "No memory events: the process allocated neither through PyTorch "
                              "nor through the driver's functions"
                            : "Nothing recorded: the input has no device");
        return;
    }
    if (!largest->has_history) {
        sl_words_append(buf,
                        "No history: %s is live, but the events before were not recorded, so leaks "
                        "and peaks are unknown",
                        sl_human_bytes(human, largest->live_requested_bytes));
        return;
    }
    if (largest->events == 0) {
        sl_words_append(buf, "No events in the chosen part; %s is live",
                        sl_human_bytes(human, largest->live_requested_bytes));
        return;
    }
    bool is_partial = find_kind(report, input->trace, SL_FINDING_HISTORY, NULL) != NULL;
    if (!largest->leaks_judged) {
        say_unjudged(buf, largest);
        return;
    }
    sl_words_append(buf, "Healthy%s: nothing leaks, no request failed; the peak was %s",
                    is_partial ? " as far as it was recorded" : "",
                    sl_human_bytes(human, largest->peak_requested_bytes));
}

/* Samples show that memory grew, not where. */
static bool is_place_known(sl_site site) {
    return site.trace && site.origin != SL_ORIGIN_SAMPLES;
}

static void say_leak(char buf[SL_WORDS_CAP], const sl_finding *leak) {
    char place[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    if (is_place_known(leak->site))
        sl_words_site(place, leak->site, 48);
    else
        sl_words_ranked_device(place, leak->device, leak->rank);
    buf[0] = '\0';
    sl_words_append(buf, "Leak: %s", place);
    sl_maybe_f64 rate = leak->bytes_per_step.known ? leak->bytes_per_step : leak->bytes_per_second;
    if (rate.known && rate.value > 0 && rate.value < 0x1p62)
        sl_words_append(buf, " leaks %s per %s", sl_human_bytes(human, (uint64_t)rate.value),
                        leak->bytes_per_step.known ? "step" : "second");
    else
        sl_words_append(buf, " keeps growing");
    if (leak->bytes.known)
        sl_words_append(buf, " (%s so far)", sl_human_bytes(human, leak->bytes.value));
}

static const char *const cause_phrases[] = {
    [SL_CAUSE_LEAK] = "because of a leak",
    [SL_CAUSE_SPIKE] = "because of a short spike",
    [SL_CAUSE_FRAGMENTATION] = "because free memory is fragmented",
    [SL_CAUSE_OTHER_PROCESS] = "because another process holds the device",
    [SL_CAUSE_CAPACITY] = "because the program needs more than the device has",
};

static const char *cause_phrase(const sl_oom_report *oom) {
    bool is_host = oom->device == SL_DEVICE_HOST;
    if (is_host && oom->cause == SL_CAUSE_CAPACITY)
        return "because the program needs more than this machine has";
    return cause_phrases[oom->cause];
}

static void say_oom(char buf[SL_WORDS_CAP], const sl_report *report, const sl_report_input *input) {
    char place[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    const sl_oom_report *oom = &input->oom;
    snprintf(buf, SL_WORDS_CAP, "Out of memory");
    if (!oom->present)
        return;
    if (oom->requested_bytes)
        sl_words_append(buf, ": a request for %s failed",
                        sl_human_bytes(human, oom->requested_bytes));
    else
        sl_words_append(buf, ": a request failed");
    if (is_place_known(oom->site)) {
        sl_words_site(place, oom->site, 48);
        sl_words_append(buf, " at %s", place);
    }
    sl_words_append(buf, ", %s", cause_phrase(oom));
    const sl_finding *leak = find_kind(report, input->trace, SL_FINDING_LEAK, &oom->device);
    if (oom->cause != SL_CAUSE_LEAK || !leak || !is_place_known(leak->site))
        return;
    sl_words_site(place, leak->site, 48);
    sl_words_append(buf, " at %s", place);
}

/* "Spike in step 37: …", or "Fragmentation: …" where the title does not begin with the word. */
static void say_other(char buf[SL_WORDS_CAP], sl_verdict kind, const sl_finding *finding) {
    const char *verdict = sl_verdict_name(kind);
    bool is_named = finding && strncmp(finding->title, verdict, strlen(verdict)) == 0;
    buf[0] = '\0';
    if (!is_named)
        sl_words_append(buf, "%s%s", verdict, finding ? ": " : "");
    if (finding)
        sl_words_append(buf, "%s", finding->title);
    buf[0] = (char)toupper((unsigned char)buf[0]);
}

void sl_words_input_verdict(char buf[SL_WORDS_CAP], const sl_report *report,
                            const sl_report_input *input) {
    const sl_finding *finding = sl_words_main_finding(report, input);
    if (input->verdict == SL_VERDICT_HEALTHY)
        say_healthy(buf, report, input);
    else if (input->verdict == SL_VERDICT_OOM)
        say_oom(buf, report, input);
    else if (input->verdict == SL_VERDICT_LEAK && finding)
        say_leak(buf, finding);
    else
        say_other(buf, input->verdict, finding);
}

static bool is_worker(const sl_report *report, const sl_trace *trace) {
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_report_input *input = &report->inputs.at[i];
        if (input->trace == trace)
            return input->place.role == SL_PROCESS_WORKER && input->place.parent != SL_IDX_NONE;
    }
    return false;
}

bool sl_words_is_quiet(const sl_report *report, const sl_trace *trace) {
    for (size_t i = 0; i < report->findings.cnt; i++)
        if (report->findings.at[i].trace == trace)
            return false;
    return is_worker(report, trace);
}

size_t sl_words_quiet(char buf[SL_WORDS_CAP], const sl_report *report) {
    char human[SL_HUMAN_CAP];
    uint64_t peak_bytes = 0;
    size_t cnt = 0;
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_trace *trace = report->inputs.at[i].trace;
        if (!sl_words_is_quiet(report, trace))
            continue;
        const sl_device_report *largest = find_largest(report, trace);
        cnt++;
        if (largest && largest->peak_requested_bytes > peak_bytes)
            peak_bytes = largest->peak_requested_bytes;
    }
    buf[0] = '\0';
    if (cnt)
        sl_words_append(buf, "%zu %s without a finding; the highest peak was %s", cnt,
                        sl_process_role_words(SL_PROCESS_WORKER, cnt),
                        sl_human_bytes(human, peak_bytes));
    return cnt;
}

/* The only input that is not quiet, or NULL. */
static const sl_report_input *find_single(const sl_report *report) {
    const sl_report_input *found = NULL;
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_report_input *input = &report->inputs.at[i];
        if (sl_words_is_quiet(report, input->trace))
            continue;
        if (found)
            return NULL;
        found = input;
    }
    return found;
}

/* As in say_healthy: what was not judged is not called healthy. */
static bool is_judged(const sl_report *report, const sl_trace *trace) {
    const sl_device_report *largest = find_largest(report, trace);
    return largest && largest->has_history && largest->leaks_judged;
}

/* "3 inputs: 1 out of memory, 1 with a leak, 1 healthy". */
static void say_many(char buf[SL_WORDS_CAP], const sl_report *report) {
    static const char *const phrases[] = {
        [SL_VERDICT_HEALTHY] = "healthy",
        [SL_VERDICT_SPIKE] = "with a spike",
        [SL_VERDICT_FRAGMENTATION] = "with fragmentation",
        [SL_VERDICT_LEAK] = "with a leak",
        [SL_VERDICT_OOM] = "out of memory",
    };
    char part[64];
    size_t counts[SL_COUNT_OF(phrases)] = {0}, unjudged_cnt = 0;
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_report_input *input = &report->inputs.at[i];
        bool is_open = input->verdict == SL_VERDICT_HEALTHY && !is_judged(report, input->trace);
        counts[input->verdict] += !is_open;
        unjudged_cnt += is_open;
    }
    snprintf(buf, SL_WORDS_CAP, "%zu inputs: ", report->inputs.cnt);
    bool is_first = true;
    for (size_t i = SL_COUNT_OF(phrases); i-- > 0;) {
        if (counts[i] == 0)
            continue;
        snprintf(part, sizeof part, "%zu %s", counts[i], phrases[i]);
        sl_words_append(buf, "%s%s", is_first ? "" : ", ", part);
        is_first = false;
    }
    if (unjudged_cnt)
        sl_words_append(buf, "%s%zu without a leak verdict", is_first ? "" : ", ", unjudged_cnt);
}

void sl_words_verdict(char buf[SL_WORDS_CAP], const sl_report *report) {
    const sl_report_input *single = find_single(report);
    if (single)
        sl_words_input_verdict(buf, report, single);
    else if (report->inputs.cnt == 0)
        snprintf(buf, SL_WORDS_CAP, "Nothing recorded: there is no input");
    else
        say_many(buf, report);
}
