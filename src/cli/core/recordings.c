/* SPDX-License-Identifier: MIT */
#include "cli/core/recordings.h"

#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"

sl_status sl_recordings_find(sl_recordings *list, const char *path, sl_find_what what,
                             sl_error *err) {
    /* A file of that name is ./- */
    path = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    sl_status status = sl_recordings_list(list, path, what, err);
    for (size_t i = 0; i < list->irregular.cnt; i++)
        sl_cli_complain("'%s' is not a regular file; skipped", list->irregular.at[i]);
    if (status < 0)
        sl_recordings_fini(list);
    return status;
}

void sl_left_out_say(const sl_left_out *names, const char *folder) {
    char more[40] = "";
    if (names->more_cnt)
        snprintf(more, sizeof more, " and %zu more", names->more_cnt);
    if (names->used || names->more_cnt)
        sl_cli_complain(
            "'%s': skipped what is not a recording, snapshot, telemetry file or bundle: %s%s",
            folder, names->text, more);
}
