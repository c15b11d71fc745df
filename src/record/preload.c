/* SPDX-License-Identifier: MIT */
/* The way in of `stormlog run`: the library is preloaded, its exported names take the place of
 * torch's, and this constructor reads what the command line asked for. Loaded in any other way,
 * without STORMLOG_DIR, it does nothing until sl_record_start. */
#include "base/diag.h"
#include "record/recorder.h"

static sl_diag_once bad_setting;

__attribute__((constructor)) static void start(void) {
    sl_record_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_status status = sl_record_settings_load(&settings, &err);
    if (settings.is_disabled)
        return;
    if (status < 0 && !settings.is_quiet)
        sl_diag_say(&bad_setting, "%s; the default is used", err.text);
    sl_recorder_arm(&settings);
}

__attribute__((destructor)) static void end(void) {
    sl_recorder_close();
}
