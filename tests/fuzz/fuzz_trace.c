/* SPDX-License-Identifier: MIT */
/* Any bytes as the trace of a bundle: a trace that can be replayed, analysed and written, or one error
 * with a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats/trace_json.h"
#include "fuzz_views.h"
#include "model/bounds.h"
#include "read/core/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_text(const sl_trace *trace, size_t *len) {
    char *text = NULL;
    FILE *to = open_memstream(&text, len);
    if (!to || sl_trace_write_json(trace, to, NULL) < 0 || fclose(to) != 0)
        abort();
    return text;
}

/* What was written must be read back unchanged. */
static void check_round_trip(const sl_trace *trace) {
    size_t len, again_len;
    char *text = write_text(trace, &len);
    sl_trace *back;
    if (sl_source_trace.probe((const unsigned char *)text, len, "") == 0 ||
        sl_trace_load_memory("back", text, len, &back, NULL) < 0)
        abort();
    char *again = write_text(back, &again_len);
    if (len != again_len || memcmp(text, again, len) != 0)
        abort();
    sl_trace_free(back);
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_byte_stream in;
    sl_error err = SL_ERROR_INIT;
    sl_load_options options = {0};
    sl_trace *trace = sl_trace_new("fuzz", SL_SOURCE_OOM_BUNDLE);
    sl_bytes_init(&in, data, size);
    sl_status status = sl_source_trace.load(&(sl_source_input){"fuzz", &in, &options}, trace, &err);
    if (status < 0 && err.text[0] == '\0')
        abort();
    if (status == SL_OK && sl_trace_check_bounds(trace, &err) == SL_OK) {
        check_round_trip(trace);
        fuzz_views(trace, data, size);
    }
    sl_trace_free(trace);
    return 0;
}
