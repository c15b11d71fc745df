/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a recording: open, walk through every region, pack it and walk again, load it as a trace, view that.
 * The header's checksum is corrected first; otherwise every change of the header would be refused.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_views.h"
#include "log/compact/log_pack.h"
#include "log/read/log_fsck.h"
#include "read/core/source.h"
#include "slog_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sections of a big sparse file would only make the fuzzer slow. */
#define SIZE_MAX_BYTES (256u << 10)

typedef SL_VEC(uint8_t) byte_vec;

static sl_status append(void *self, const void *bytes, size_t len, sl_error *err) {
    byte_vec *to = self;
    if (!sl_vec_reserve(to, len))
        return sl_fail(err, SL_E_NOMEM, "no memory");
    if (len)
        memcpy(to->at + to->cnt, bytes, len);
    to->cnt += len;
    return SL_OK;
}

/* Whatever was read without damage is read again from the packed form, with columns or without. */
static void check_packed(const sl_log_reader *reader, const sl_fsck_report *before, bool folds) {
    static sl_pack_plan plan;
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *again;
    sl_fsck_report after;
    byte_vec bytes = {0};
    if (sl__pack_plan(reader, folds, &plan, &err) < 0)
        return;
    if (sl__pack_emit(reader, &plan, append, &bytes, &err) < 0 || bytes.cnt != plan.bytes ||
        sl_log_open_bytes(bytes.at, bytes.cnt, &again, &err) < 0)
        abort();
    if (sl_log_fsck(again, &after, &err) < 0)
        abort();
    if (before->problems.cnt == 0 &&
        (after.problems.cnt > 0 || after.events != before->events || after.lost != before->lost ||
         after.live_blocks != before->live_blocks || after.live_bytes != before->live_bytes ||
         after.sites != before->sites || after.marks != before->marks ||
         after.replay != before->replay))
        abort();
    sl_log_fsck_fini(&after);
    sl_log_reader_close(again);
    sl_vec_free(&bytes);
}

static void check(const uint8_t *bytes, size_t len) {
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *reader;
    sl_fsck_report report;
    if (sl_log_open_bytes(bytes, len, &reader, &err) < 0)
        return;
    if (sl_log_fsck(reader, &report, &err) >= 0) {
        check_packed(reader, &report, false);
        check_packed(reader, &report, true);
        sl_log_fsck_fini(&report);
    }
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
    uint8_t *copy = slog_copy(data, size);
    if (!copy)
        return 0;
    check(copy, size);
    load(copy, size);
    free(copy);
    return 0;
}
