/* SPDX-License-Identifier: MIT */
/* The way in of `stormlog run`: the library is preloaded, its exported names take the place of
 * torch's, and this constructor reads what the command line asked for. Loaded in any other way it
 * does nothing until sl_record_start. */
#include <stdlib.h>
#include <string.h>

#include "base/core/diag.h"
#include "record/core/bus_guard.h"
#include "record/core/record_claim.h"
#include "record/core/recorder.h"
#include "record/hooks/hook_exit.h"
#include "record/hooks/torch_check.h"

static sl_diag_once bad_setting;

/* Names win only when this library is before torch's in the global scope. The loader has no
 * function for that; LD_PRELOAD, which loaded us, shows it. */
static bool is_preloaded(void) {
    const char *list = getenv("LD_PRELOAD");
    return list && strstr(list, "libstormlog_record.so");
}

__attribute__((constructor)) static void start(void) {
    sl_record_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_bus_guard_prepare();
    sl_hook_exit_prepare();
    if (!is_preloaded())
        return;
    sl_status status = sl_record_settings_load(&settings, &err);
    if (settings.is_disabled)
        return;
    if (!sl_record_claim_is_first()) /* the program's calls reach another copy, which records */
        return;
    if (status < 0 && !settings.is_quiet)
        sl_diag_say(&bad_setting, "%s; the default is used", err.text);
    sl_recorder_arm(&settings);
}

__attribute__((destructor)) static void end(void) {
    if (sl_recorder_is_armed() && !*sl_recorder_path())
        sl_torch_check_at_end();
    sl_recorder_close();
}
