/* SPDX-License-Identifier: MIT */
/* The heading of a page: the command and the run, or the names of the files. */
#include <stdio.h>
#include <string.h>

#include "base/core/str.h"
#include "page/page_meta.h"

static void append(char buf[SL_PAGE_TITLE_CAP], sl_str text) {
    size_t used = strlen(buf);
    snprintf(buf + used, SL_PAGE_TITLE_CAP - used, "%.*s", (int)text.len, text.ptr);
}

/* The last part of a path, without a "/" at its end. */
static sl_str last_part(sl_str path) {
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/' && i < path.len)
            return (sl_str){path.ptr + i, path.len - i};
    return path;
}

static sl_str folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? last_part((sl_str){path, (size_t)(slash - path)}) : SL_STR("");
}

/* The command line, with paths shortened to their last part: /usr/bin/python3 becomes python3. */
static void add_command(char buf[SL_PAGE_TITLE_CAP], const char *command) {
    for (const char *at = command; *at;) {
        sl_str word = {at, strcspn(at, " ")};
        append(buf, *at == '/' ? last_part(word) : word);
        at += word.len;
        sl_str blanks = {at, strspn(at, " ")};
        append(buf, blanks);
        at += blanks.len;
    }
}

/* The process that was started; all others of the run are its children. */
static const sl_run_input *main_input(const sl_run *run) {
    for (size_t i = 0; i < run->input_cnt; i++)
        if (run->inputs[i].place.role == SL_PROCESS_MAIN)
            return &run->inputs[i];
    return &run->inputs[0];
}

static void name_run(char buf[SL_PAGE_TITLE_CAP], const sl_run_input *input) {
    const sl_trace *trace = input->trace;
    if (!trace->process.is_known || !*trace->process.command) {
        append(buf, last_part(sl_str_of(trace->path)));
        return;
    }
    add_command(buf, trace->process.command);
    sl_str folder = folder_of(trace->path);
    if (folder.len > 0 && folder.ptr[0] != '.') {
        append(buf, SL_STR(", run "));
        append(buf, folder);
    }
}

const char *sl_page_title(char buf[SL_PAGE_TITLE_CAP], const sl_run *run, bool is_diff) {
    buf[0] = '\0';
    if (run->input_cnt == 0)
        return strcpy(buf, "stormlog");
    if (run->input_cnt == 1 || sl_run_has_one_clock(run)) {
        name_run(buf, main_input(run));
    } else {
        if (!is_diff)
            snprintf(buf, SL_PAGE_TITLE_CAP, "%zu inputs: ", run->input_cnt);
        name_run(buf, &run->inputs[0]);
        append(buf, SL_STR(" to "));
        name_run(buf, &run->inputs[run->input_cnt - 1]);
    }
    return buf;
}
