/* SPDX-License-Identifier: MIT */
/* Any bytes as telemetry, JSON or CSV: records that obey every rule, or one error with a text. What
 * was accepted is written, read back, and analysed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/an_collective.h"
#include "analyze/samples/an_gap.h"
#include "analyze/samples/an_ranks.h"
#include "fuzz_views.h"
#include "read/core/source.h"
#include "telemetry/telemetry_out.h"
#include "telemetry/telemetry_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rules(const sl_telemetry *set) {
    for (size_t i = 0; i < set->records.cnt; i++)
        if (sl_tm_validate(set, &set->records.at[i], NULL) < 0)
            abort();
}

static void run_analyses(const sl_telemetry *set) {
    sl_gap_result gaps;
    sl_collective_results collective = {0};
    sl_ranks *ranks = NULL;
    (void)sl_gap_analyze(set->records.at, set->records.cnt, NULL, &gaps, NULL);
    (void)sl_collective_attribute(set, NULL, &collective, NULL);
    if (sl_ranks_new(set, &ranks, NULL) == SL_OK)
        sl_ranks_free(ranks);
    sl_vec_free(&collective);
}

/* What was written must be read back unchanged. */
static void check_round_trip(const sl_telemetry *set, sl_tm_form form) {
    char *text = NULL, *again = NULL;
    size_t len = 0, again_len = 0;
    sl_byte_stream in;
    sl_telemetry *back = sl_telemetry_new();
    FILE *to = open_memstream(&text, &len);
    if (!back || !to || sl_tm_write(set, form, to, NULL) < 0 || fclose(to) != 0)
        abort();
    sl_bytes_init(&in, text, len);
    sl_error err = SL_ERROR_INIT;
    if (set->records.cnt && sl_telemetry_read(&in, NULL, back, &err) < 0)
        abort();
    to = open_memstream(&again, &again_len);
    if (!to || sl_tm_write(back, form, to, NULL) < 0 || fclose(to) != 0)
        abort();
    if (set->records.cnt && (len != again_len || memcmp(text, again, len) != 0))
        abort();
    free(text);
    free(again);
    sl_telemetry_free(back);
}

/* The same bytes as a trace, as every command but the Python tool's own names loads them. */
static void check_trace(const uint8_t *data, size_t size) {
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load_memory("fuzz", data, size, &trace, &err) < 0)
        return;
    fuzz_views(trace, data, size);
    sl_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_byte_stream in;
    sl_error err = SL_ERROR_INIT;
    sl_tm_load_options options = {.skips_bad = size & 1, .convert.reads_bundle_names = size & 2};
    sl_telemetry *set = sl_telemetry_new();
    sl_bytes_init(&in, data, size);
    sl_status status = sl_telemetry_read(&in, &options, set, &err);
    if (status < 0 && err.text[0] == '\0')
        abort();
    check_rules(set);
    run_analyses(set);
    check_round_trip(set, SL_TM_FORM_LINES);
    check_round_trip(set, SL_TM_FORM_CSV);
    fuzz_telemetry_views(set);
    sl_telemetry_free(set);
    check_trace(data, size);
    return 0;
}
