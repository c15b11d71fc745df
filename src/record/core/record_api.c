/* SPDX-License-Identifier: MIT */
/* The functions of stormlog/record.h. */
#include <stdio.h>
#include <string.h>

#include "record/core/control_lock.h"
#include "record/core/py_exit.h"
#include "record/core/recorder.h"
#include "record/core/sampler.h"
#include "record/hooks/got_patch.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/stack_cache.h"
#include "record/training/phase_watch.h"
#include "stormlog/record.h"

#define DEFAULT_DIR "stormlog-runs"

int sl_record_start(const sl_record_options *options) {
    sl_record_settings settings;
    sl_record_options given = {.struct_size = sizeof given};
    /* A caller built against an older header has a shorter struct; the rest stays zero. */
    if (options)
        memcpy(&given, options,
               options->struct_size < sizeof given ? options->struct_size : sizeof given);
    if (sl_record_settings_load(&settings, NULL) < 0 ||
        !sl_record_settings_apply(&settings, &given))
        return -2;
    if (!settings.dir[0])
        strcpy(settings.dir, DEFAULT_DIR);
    settings.is_patching = true;
    if (!sl_recorder_arm(&settings))
        return -1;
    sl_recorder_patch();
    return 0;
}

/* The helper patches too, so it must be gone before the slots are restored. */
void sl_record_stop(void) {
    sl_control before;
    sl_control_take(&before);
    sl_recorder_close();
    sl_got_restore();
    sl_control_give(&before);
}

void sl_record_enter_python(void) {
    sl_py_exit_register();
}

int sl_record_is_on(void) {
    return sl_recorder_is_armed();
}

const char *sl_record_path(void) {
    return sl_recorder_path();
}

/* A log that is not there yet must not be made by asking. */
uint64_t sl_record_oom_count(void) {
    sl_capture capture;
    if (!*sl_recorder_path() || !sl_capture_begin(&capture))
        return 0;
    uint64_t cnt = sl_log_oom_count(capture.log);
    sl_capture_end(&capture);
    return cnt;
}

void sl_record_step(uint64_t number) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return;
    sl_phase_count_no_steps();
    /* The name says that the number is the program's (docs/format.md, lists). */
    sl_log_step(capture.log, number, sl_log_string(capture.log, "step", 4));
    sl_capture_end(&capture);
}

void sl_record_own_steps(void) {
    sl_phase_count_no_steps();
}

static void mark(sl_event_kind kind, const char *name) {
    sl_capture capture;
    if (!name || !sl_capture_begin(&capture))
        return;
    sl_log_mark(capture.log, kind, sl_log_string(capture.log, name, strlen(name)));
    sl_capture_end(&capture);
}

void sl_record_mark_begin(const char *name) {
    mark(SL_EV_MARK_BEGIN, name);
}

void sl_record_mark_end(const char *name) {
    mark(SL_EV_MARK_END, name);
}

void sl_record_mark(const char *name) {
    mark(SL_EV_ANNOTATE, name);
}

/* --- An allocator of the program's own ------------------------------------------------------------ */

static uint32_t stack_of(const sl_capture *capture, const void *caller) {
    uint32_t python = sl_stack_cache_get(capture->log).id;
    return sl_native_add_from(capture->log, python, (uintptr_t)caller);
}

static bool begin_block(sl_capture *capture, int device) {
    if (device < -1 || device > INT8_MAX || !sl_capture_begin(capture))
        return false;
    if (device >= 0)
        sl_sampler_note_device(device);
    return true;
}

void sl_record_alloc(int device, const void *address, uint64_t bytes, const void *caller) {
    sl_capture capture;
    if (!address || !begin_block(&capture, device))
        return;
    sl_log_event event = {.kind = SL_EV_ALLOC,
                          .device = (int8_t)device,
                          .addr = (uint64_t)(uintptr_t)address,
                          .size = bytes,
                          .stack = stack_of(&capture, caller),
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

void sl_record_free(int device, const void *address) {
    sl_capture capture;
    if (!address || !begin_block(&capture, device))
        return;
    sl_log_event event = {.kind = SL_EV_FREE,
                          .device = (int8_t)device,
                          .addr = (uint64_t)(uintptr_t)address,
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

void sl_record_oom(int device, uint64_t requested_bytes, const void *caller) {
    sl_capture capture;
    if (!begin_block(&capture, device))
        return;
    sl_log_oom oom = {.device = (int8_t)device,
                      .stack = stack_of(&capture, caller),
                      .requested = requested_bytes,
                      .allocated = SL_LOG_UNKNOWN,
                      .reserved = SL_LOG_UNKNOWN,
                      .device_free = SL_LOG_UNKNOWN,
                      .device_total = SL_LOG_UNKNOWN};
    sl_log_oom_add(capture.log, &oom);
    sl_capture_end(&capture);
}
