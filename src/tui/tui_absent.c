/* SPDX-License-Identifier: MIT */
/* In place of tui_run.c and tui_top.c in a build without ncurses. */
#include "tui/tui_run.h"
#include "tui/tui_top.h"

int sl_tui_run(const sl_tui_options *options, sl_error *err) {
    SL_UNUSED(options);
    return sl_fail(err, SL_E_UNSUPPORTED,
                   "this build has no full-screen program (it was built without ncursesw); use "
                   "'stormlog analyze PATH', 'stormlog top' or another command of 'stormlog "
                   "--help'");
}

sl_status sl_tui_top(const sl_tui_top_options *options, sl_error *err) {
    SL_UNUSED(options);
    return sl_fail(err, SL_E_UNSUPPORTED, "this build has no full-screen program");
}
