/* SPDX-License-Identifier: MIT */
/* The functions of stormlog/record.h. */
#include <stdio.h>
#include <string.h>

#include "record/core/control_lock.h"
#include "record/core/py_exit.h"
#include "record/core/recorder.h"
#include "record/hooks/got_patch.h"
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
    sl_log_step(capture.log, number, 0);
    sl_capture_end(&capture);
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
