/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a recording: open, walk through every region, load it as a trace, view that. The header's checksum is made right first,
 * else no change of the header would ever get past it.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_views.h"
#include "log/read/log_fsck.h"
#include "read/core/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sections of a big sparse file would only make the fuzzer slow. */
#define SIZE_MAX_BYTES (256u << 10)

static void check(const uint8_t *bytes, size_t len) {
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *reader;
    sl_fsck_report report;
    if (sl_log_open_bytes(bytes, len, &reader, &err) < 0)
        return;
    if (sl_log_fsck(reader, &report, &err) >= 0)
        sl_log_fsck_fini(&report);
    sl_log_reader_close(reader);
}

static void load(const uint8_t *bytes, size_t len) {
    sl_error err = SL_ERROR_INIT;
    sl_trace *trace;
    if (sl_trace_load_memory("fuzz.slog", bytes, len, &trace, &err) < 0)
        return;
    fuzz_views(trace, bytes, len);
    sl_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > SIZE_MAX_BYTES)
        return 0;
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (size >= sizeof(sl_fmt_header)) {
        sl_fmt_header *header = (sl_fmt_header *)(void *)copy;
        header->header_crc = sl_header_crc(header);
    }
    check(copy, size);
    load(copy, size);
    free(copy);
    return 0;
}
