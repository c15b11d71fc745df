/* SPDX-License-Identifier: MIT */
/* The raw events of a recording as lines, streamed: memory does not grow with the file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "log/read/log_reader.h"
#include "read/torch/native_name.h"

typedef struct cat {
    sl_log_reader *log;
    bool shows_stacks;
} cat;

static const char *kind_name(const sl_log_record *r) {
    return sl_event_kind_name((sl_event_kind)r->kind);
}

/* ---- text ---- */

static void print_text(sl_str text) {
    sl_term_put(stdout, text.ptr, text.len);
}

static void print_frame(const cat *c, const sl_fmt_frame *frame) {
    sl_str file = sl_log_get_string(c->log, frame->file);
    sl_str function = sl_log_get_string(c->log, frame->function);
    char name[SL_NATIVE_NAME_CAP];
    if (frame->kind == SL_FRAME_NATIVE) /* in words; JSON has the symbol as the library does */
        function = sl_native_name(function, name);
    print_text(file.len ? file : SL_STR("?"));
    if (frame->line)
        printf(":%" PRIu32, frame->line);
    putchar(' ');
    print_text(function.len ? function : SL_STR("?"));
}

static void print_stack(const cat *c, uint32_t stack) {
    sl_fmt_frame frame;
    for (int depth = 0; sl_log_get_frame(c->log, stack, &frame, &stack); depth++) {
        if (depth > 0 && !c->shows_stacks)
            return;
        fputs(c->shows_stacks ? "\n    " : "  ", stdout);
        print_frame(c, &frame);
    }
}

static void print_label(const char *name, sl_str label) {
    if (label.len == 0)
        return;
    printf("  %s ", name);
    print_text(label);
}

static sl_status print_line(const cat *c, const sl_log_record *r, sl_error *err) {
    printf("%" PRIu64 ".%09" PRIu64 "  %-14s dev %d  0x%012" PRIx64 "  %" PRIu64 " B  tid %" PRIu32,
           r->time_ns / 1000000000, r->time_ns % 1000000000, kind_name(r), r->device, r->addr,
           r->size, r->tid);
    print_label("from", sl_log_get_label(c->log, r->label));
    print_label("tag", sl_log_get_label(c->log, r->tag));
    if (r->flags & SL_RECORD_IMPLICIT)
        fputs("  (implied by the next alloc)", stdout);
    if (r->flags & SL_RECORD_UNTRACKED)
        fputs("  (not in the totals)", stdout);
    if (r->in_flight)
        fputs("  (in flight at the end)", stdout);
    print_stack(c, r->stack);
    putchar('\n');
    return ferror(stdout) ? sl_fail_errno(err, SL_E_WRITE, "cannot write standard output") : SL_OK;
}

/* ---- JSON ---- */

static void key_label(sl_json_out *json, const char *key, sl_str label) {
    sl_json_key(json, key);
    if (label.len)
        sl_json_str(json, label);
    else
        sl_json_null(json);
}

static void key_frames(const cat *c, sl_json_out *json, uint32_t stack) {
    sl_fmt_frame frame;
    sl_json_key(json, "frames");
    sl_json_begin_array(json);
    while (sl_log_get_frame(c->log, stack, &frame, &stack)) {
        sl_json_begin_object(json);
        key_label(json, "file", sl_log_get_string(c->log, frame.file));
        sl_json_key_u64(json, "line", frame.line);
        key_label(json, "function", sl_log_get_string(c->log, frame.function));
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static sl_status print_json(const cat *c, const sl_log_record *r, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, stdout, 0);
    sl_json_begin_object(&json);
    sl_json_key_u64(&json, "time_ns", r->time_ns);
    sl_json_key(&json, "kind");
    sl_json_cstr(&json, kind_name(r));
    sl_json_key(&json, "device");
    sl_json_i64(&json, r->device);
    sl_json_key_u64(&json, "addr", r->addr);
    sl_json_key_u64(&json, "size", r->size);
    sl_json_key_u64(&json, "stack", r->stack);
    sl_json_key_u64(&json, "tid", r->tid);
    key_label(&json, "label", sl_log_get_label(c->log, r->label));
    key_label(&json, "tag", sl_log_get_label(c->log, r->tag));
    sl_json_key_u64(&json, "flags", r->flags);
    sl_json_key(&json, "in_flight");
    sl_json_bool(&json, r->in_flight);
    if (c->shows_stacks)
        key_frames(c, &json, r->stack);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

/* ---- the command ---- */

typedef sl_status (*print_fn)(const cat *c, const sl_log_record *r, sl_error *err);

static sl_status print_events(const cat *c, sl_log_cursor *cursor, print_fn print, sl_error *err) {
    sl_log_record record;
    for (;;) {
        int got = sl_log_cursor_next(cursor, &record, err);
        if (got == 0)
            return SL_OK;
        if (got == SL_E_LAPPED)
            continue;
        if (got < 0)
            return (sl_status)got;
        SL_TRY(print(c, &record, err));
    }
}

/* On standard error, so that standard output has nothing but events. */
static void tell_missing(const sl_log_cursor *cursor) {
    char cnt[SL_HUMAN_CAP];
    uint64_t lost = sl_log_cursor_lost(cursor), torn = sl_log_cursor_torn(cursor);
    if (lost)
        sl_cli_complain("note: %s older event%s overwritten in the ring", sl_human_count(cnt, lost),
                        lost == 1 ? " was" : "s were");
    if (torn)
        sl_cli_complain("note: skipped %s damaged record%s", sl_human_count(cnt, torn),
                        sl_plural(torn));
}

static sl_status print_log(const cat *c, print_fn print, sl_error *err) {
    sl_log_cursor *cursor;
    SL_TRY(sl_log_cursor_new(c->log, &cursor, err));
    sl_status status = print_events(c, cursor, print, err);
    if (status >= 0)
        tell_missing(cursor);
    sl_log_cursor_free(cursor);
    return status;
}

static int print_file(const sl_opts *opts, const char *path, sl_error *err) {
    bool is_json = strcmp(sl_opts_text(opts, "format"), "json") == 0;
    cat c = {.shows_stacks = sl_opts_flag(opts, "stacks")};
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread; millions of small writes */
    sl_status status = sl_log_open(path, &c.log, err);
    if (status >= 0)
        status = print_log(&c, is_json ? print_json : print_line, err);
    sl_log_reader_close(c.log);
    return status < 0 && status != SL_E_WRITE ? sl_error_prefix(err, "cannot read '%s'", path)
                                              : status;
}

/* A line does not name its process, so the events of several recordings would be mixed. */
static int run(const sl_opts *opts, sl_error *err) {
    sl_recordings list;
    const char *path;
    SL_TRY(sl_recordings_find(&list, opts->operands.at[0], SL_FIND_RECORDINGS, err));
    int result = sl_recordings_one(&list, opts->operands.at[0], &path, err);
    if (result >= 0)
        result = print_file(opts, path, err);
    sl_recordings_fini(&list);
    return result;
}

static const sl_opt options[] = {
    SL_SHARED_FORMAT("output format: text, or one JSON object per line"),
    {.name = "stacks",
     .short_name = 's',
     .type = SL_OPT_FLAG,
     .help = "print the full stack of each event, not only its innermost frame"},
};

const sl_cmd sl_cmd_cat = {
    .name = "cat",
    .operands = "FILE|DIR",
    .operand_min = 1,
    .operand_max = 1,
    .summary = "print the raw events of a recording, one per line",
    .description =
        "Events are ordered by time, in nanoseconds since the recording began. A recording that is "
        "still being written is printed up to now. Events that were overwritten in the ring are "
        "counted on standard error. A run folder with one recording stands for that recording.",
    .examples = "stormlog cat run.slog | head\n  the oldest events\n"
                "stormlog cat run.slog --format json --stacks | jq .size\n  for other programs\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
