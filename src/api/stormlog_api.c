/* SPDX-License-Identifier: MIT */
/* The functions of include/stormlog/stormlog.h: each is a thin wrapper that turns an sl_error into
 * a number and a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "export/report/report_format.h"
#include "read/core/source.h"
#include "stormlog/stormlog.h"

#define DEFAULT_TOP 10

struct sl_input {
    sl_trace *trace; /* owned */
};

const char *sl_version(void) {
    return SL_VERSION_STRING;
}

int sl_abi_version(void) {
    return SL_ABI_VERSION;
}

static int give(const sl_error *err, sl_status status, char *message, size_t cap) {
    if (cap)
        snprintf(message, cap, "%s", err->text[0] ? err->text : sl_status_meaning(status));
    return (int)status;
}

int sl_input_open(const char *path, sl_input **input, char *message, size_t cap) {
    sl_error err = SL_ERROR_INIT;
    sl_trace *trace = NULL;
    *input = NULL;
    sl_status status = sl_trace_load(path, NULL, &trace, &err);
    if (status < 0)
        return give(&err, status, message, cap);
    *input = malloc(sizeof **input);
    if (!*input) {
        sl_trace_free(trace);
        return give(&err, SL_E_NOMEM, message, cap);
    }
    (*input)->trace = trace;
    return 0;
}

void sl_input_close(sl_input *input) {
    if (!input)
        return;
    sl_trace_free(input->trace);
    free(input);
}

uint64_t sl_input_event_count(const sl_input *input) {
    uint64_t cnt = 0;
    for (size_t i = 0; i < input->trace->devices.cnt; i++)
        cnt += input->trace->devices.at[i]->events.cnt;
    return cnt;
}

/* The part of the caller's options that the caller's version of the header has. */
static sl_report_options read_options(const sl_report_options *given) {
    sl_report_options options = {.struct_size = sizeof options};
    if (given)
        memcpy(&options, given,
               given->struct_size < sizeof options ? given->struct_size : sizeof options);
    options.top = options.top ? options.top : DEFAULT_TOP;
    return options;
}

static sl_status print_json(const sl_report *report, size_t top, char **json, sl_error *err) {
    size_t len;
    FILE *to = open_memstream(json, &len);
    if (!to)
        return sl_fail_no_memory(err, "the report");
    sl_status status = sl_report_write_json(report, &(sl_report_wishes){.top = top}, to, err);
    if (fclose(to) != 0 && status == SL_OK)
        status = sl_fail_no_memory(err, "the report");
    if (status < 0) {
        free(*json);
        *json = NULL;
    }
    return status;
}

int sl_input_report_json(const sl_input *input, const sl_report_options *options, char **json,
                         char *message, size_t cap) {
    sl_error err = SL_ERROR_INIT;
    sl_report_options wanted = read_options(options);
    sl_analysis_options analysis = {
        .has_device = wanted.has_device != 0,
        .device = wanted.device,
        .top = wanted.top,
        .filter = wanted.filter,
        .capacity_bytes = {wanted.capacity_bytes, wanted.capacity_bytes != 0},
    };
    const sl_trace *traces[] = {input->trace};
    sl_report *report = NULL;
    *json = NULL;
    sl_status status = sl_analyze_traces(traces, 1, &analysis, &report, &err);
    if (status == SL_OK)
        status = print_json(report, wanted.top, json, &err);
    sl_report_free(report);
    return status < 0 ? give(&err, status, message, cap) : 0;
}

void sl_text_free(char *text) {
    free(text);
}
