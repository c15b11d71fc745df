/* SPDX-License-Identifier: MIT */
/* What a build without ncurses says: prints it, and ends with its exit code. */
#include <stdio.h>

#include "tui/tui_run.h"

int main(void) {
    sl_error err = SL_ERROR_INIT;
    int status = sl_tui_run(&(sl_tui_options){.interval_us = 1000000}, &err);
    printf("%s\n", err.text);
    return status < 0 ? sl_status_exit_code((sl_status)status) : 0;
}
