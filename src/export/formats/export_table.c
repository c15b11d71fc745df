/* SPDX-License-Identifier: MIT */
/* One flat table for engines that read CSV or JSON lines as they are: a row for each step, rank, device
 * and line of code. Every figure of a row adds up over the rows of its step (run/step_sites.h), so no
 * query can count twice. What is not known is null: an empty cell, never 0. */
#include <inttypes.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/utf8.h"
#include "export/formats/exporter.h"
#include "run/step_sites.h"
#include "telemetry/telemetry_out.h"

/* enumerator, name. The order is that of the columns: append, never rename (docs/tables.md). */
#define TABLE_COLUMN_MAP(X)               \
    X(RUN, "run")                         \
    X(INPUT, "input")                     \
    X(JOB, "job")                         \
    X(HOST, "host")                       \
    X(PID, "pid")                         \
    X(RANK, "rank")                       \
    X(LOCAL_RANK, "local_rank")           \
    X(WORLD_SIZE, "world_size")           \
    X(ROLE, "role")                       \
    X(DEVICE, "device")                   \
    X(PART, "part")                       \
    X(STEP, "step")                       \
    X(START_US, "start_us")               \
    X(END_US, "end_us")                   \
    X(FILE, "file")                       \
    X(LINE, "line")                       \
    X(FUNCTION, "function")               \
    X(PEAK_BYTES, "peak_bytes")           \
    X(PEAK_BLOCKS, "peak_blocks")         \
    X(LIVE_BYTES, "live_bytes")           \
    X(LIVE_BLOCKS, "live_blocks")         \
    X(ALLOCATED_BYTES, "allocated_bytes") \
    X(ALLOCATIONS, "allocations")

enum {
#define COLUMN_ENUM(name, text) COLUMN_##name,
    TABLE_COLUMN_MAP(COLUMN_ENUM)
#undef COLUMN_ENUM
        COLUMN_CNT
};

static const char *const column_names[] = {
#define COLUMN_NAME(name, text) text,
    TABLE_COLUMN_MAP(COLUMN_NAME)
#undef COLUMN_NAME
};

typedef enum cell_type { CELL_NULL, CELL_TEXT, CELL_SIGNED, CELL_UNSIGNED } cell_type;

typedef struct cell {
    cell_type type;
    sl_str text;
    int64_t i;
    uint64_t u;
} cell;

typedef struct table_out {
    const sl_export_options *options;
    const sl_run_device *device;
    const sl_sites *sites;
    FILE *to;
    bool is_csv;
    sl_json_out json;
    cell row[COLUMN_CNT]; /* what belongs to the input and its device stays from row to row */
} table_out;

/* ---- cells ---- */

static cell text_cell(sl_str text) {
    return (cell){.type = CELL_TEXT, .text = text};
}

/* NULL and "" are null. */
static cell maybe_text(const char *text) {
    return text && *text ? text_cell(sl_str_of(text)) : (cell){0};
}

static cell signed_cell(int64_t value) {
    return (cell){.type = CELL_SIGNED, .i = value};
}

static cell unsigned_cell(uint64_t value) {
    return (cell){.type = CELL_UNSIGNED, .u = value};
}

static cell maybe_i32(sl_maybe_i32 value) {
    return value.known ? signed_cell(value.value) : (cell){0};
}

/* Control characters and bytes that are not UTF-8 as U+FFFD, as the JSON writer puts them: engines that
 * read a file in parts cut it at line ends, also inside quotes. */
#define CLEAN_CAP 4096
static sl_str clean(sl_str text, char buf[CLEAN_CAP]) {
    size_t used = 0;
    for (size_t at = 0; at < text.len && used + 4 <= CLEAN_CAP;) {
        sl_utf8_char next = sl_utf8_next(text.ptr + at, text.len - at);
        sl_str piece = next.is_safe ? (sl_str){text.ptr + at, next.len} : SL_STR("\xef\xbf\xbd");
        memcpy(buf + used, piece.ptr, piece.len);
        used += piece.len;
        at += next.len;
    }
    return (sl_str){buf, used};
}

static void put_csv_cell(FILE *to, const cell *value) {
    char buf[CLEAN_CAP];
    switch (value->type) {
    case CELL_NULL: break;
    case CELL_TEXT: sl_csv_put_text(to, clean(value->text, buf)); break;
    case CELL_SIGNED: fprintf(to, "%" PRId64, value->i); break;
    case CELL_UNSIGNED: fprintf(to, "%" PRIu64, value->u); break;
    }
}

static void put_json_cell(sl_json_out *json, const cell *value) {
    char buf[CLEAN_CAP];
    switch (value->type) {
    case CELL_NULL: sl_json_null(json); break;
    case CELL_TEXT: sl_json_str(json, clean(value->text, buf)); break;
    case CELL_SIGNED: sl_json_i64(json, value->i); break;
    case CELL_UNSIGNED: sl_json_u64(json, value->u); break;
    }
}

/* ---- rows ---- */

static void put_header(FILE *to) {
    for (size_t i = 0; i < COLUMN_CNT; i++)
        fprintf(to, "%s%s", i ? "," : "", column_names[i]);
    putc('\n', to);
}

static void put_row(table_out *table) {
    if (!table->is_csv)
        sl_json_begin_object(&table->json);
    for (size_t i = 0; i < COLUMN_CNT; i++) {
        if (table->is_csv) {
            if (i)
                putc(',', table->to);
            put_csv_cell(table->to, &table->row[i]);
        } else {
            sl_json_key(&table->json, column_names[i]);
            put_json_cell(&table->json, &table->row[i]);
        }
    }
    if (!table->is_csv)
        sl_json_end_object(&table->json);
    putc('\n', table->to);
}

static void set_site(table_out *table, uint32_t idx) {
    const sl_trace *trace = table->device->input->trace;
    sl_site site = table->sites->sites.at[idx].site;
    sl_frame frame;
    cell *row = table->row;
    row[COLUMN_FILE] = row[COLUMN_LINE] = row[COLUMN_FUNCTION] = (cell){0};
    if (!sl_site_frame(site, &frame)) {
        row[COLUMN_FILE] = maybe_text(sl_site_label(site));
        return;
    }
    row[COLUMN_FILE] = text_cell(sl_strtab_get(&trace->strings, frame.file));
    row[COLUMN_FUNCTION] = text_cell(sl_strtab_get(&trace->strings, frame.function));
    if (frame.line)
        row[COLUMN_LINE] = unsigned_cell(frame.line);
}

/* A state without history knows what is live and nothing else. */
static void set_figures(cell *row, const sl_step_site *site, bool has_history) {
    row[COLUMN_LIVE_BYTES] = unsigned_cell(site->live_bytes);
    row[COLUMN_LIVE_BLOCKS] = unsigned_cell(site->live_blocks);
    if (!has_history)
        return;
    row[COLUMN_PEAK_BYTES] = unsigned_cell(site->peak_bytes);
    row[COLUMN_PEAK_BLOCKS] = unsigned_cell(site->peak_blocks);
    row[COLUMN_ALLOCATED_BYTES] = unsigned_cell(site->allocated_bytes);
    row[COLUMN_ALLOCATIONS] = unsigned_cell(site->allocations);
}

static bool is_empty(const sl_step_site *site) {
    return !site->peak_blocks && !site->live_blocks && !site->allocations;
}

static void set_part(table_out *table, const sl_step_part *part) {
    bool has_time = table->device->input->trace->has_time && part->has_history;
    cell *row = table->row;
    row[COLUMN_PART] = maybe_text(sl_step_part_name(part->kind));
    row[COLUMN_STEP] = part->kind == SL_STEP_PART_STEP ? unsigned_cell(part->step) : (cell){0};
    row[COLUMN_START_US] = has_time ? signed_cell(part->start_us) : (cell){0};
    row[COLUMN_END_US] = has_time ? signed_cell(part->end_us) : (cell){0};
}

/* A step in which nothing was live has one row of zeros without a site: the step is not lost. */
static sl_status put_part(void *self, const sl_step_part *part, sl_error *err) {
    table_out *table = self;
    bool has_row = false;
    if (!sl_export_wants_time(table->options, part->start_us))
        return SL_OK;
    set_part(table, part);
    for (size_t i = 0; i < part->site_cnt; i++) {
        if (is_empty(&part->sites[i]))
            continue;
        set_site(table, (uint32_t)i);
        set_figures(table->row, &part->sites[i], part->has_history);
        put_row(table);
        has_row = true;
    }
    if (!has_row) {
        cell *row = table->row;
        row[COLUMN_FILE] = row[COLUMN_LINE] = row[COLUMN_FUNCTION] = (cell){0};
        set_figures(row, &(sl_step_site){0}, part->has_history);
        put_row(table);
    }
    return ferror(table->to) ? sl_export_finish(table->to, err) : SL_OK;
}

static void set_input(table_out *table, const sl_run_input *input) {
    const sl_process *process = &input->trace->process;
    const char *role = table->options->role;
    cell *row = table->row;
    row[COLUMN_RUN] = maybe_text(table->options->run);
    row[COLUMN_INPUT] = maybe_text(sl_base_name(input->trace->path));
    if (!process->is_known)
        return;
    row[COLUMN_JOB] = maybe_text(process->job);
    row[COLUMN_HOST] = maybe_text(process->host);
    row[COLUMN_PID] = unsigned_cell(process->pid);
    row[COLUMN_RANK] = maybe_i32(process->rank);
    row[COLUMN_LOCAL_RANK] = maybe_i32(process->local_rank);
    row[COLUMN_WORLD_SIZE] = maybe_i32(process->world_size);
    row[COLUMN_ROLE] = maybe_text(role ? role : sl_process_role_name(input->place.role));
}

static sl_status put_input(table_out *table, const sl_run_input *input, sl_error *err) {
    set_input(table, input);
    SL_TRY(sl_run_lines(input, &table->sites, err));
    for (size_t i = 0; i < input->device_cnt; i++) {
        table->device = &input->devices[i];
        int number = table->device->events->device;
        if (!sl_export_wants_device(table->options, number))
            continue;
        table->row[COLUMN_DEVICE] = signed_cell(number);
        SL_TRY(sl_step_sites_walk(table->device, table->sites, put_part, table, err));
    }
    return sl_export_finish(table->to, err);
}

sl_status sl_export_table_csv(const sl_run_input *input, const sl_export_options *options, FILE *to,
                              sl_error *err) {
    table_out table = {.options = options, .to = to, .is_csv = true};
    SL_TRY(sl_export_check_events(input, "a table", err));
    if (!options->is_continued)
        put_header(to);
    return put_input(&table, input, err);
}

sl_status sl_export_table_lines(const sl_run_input *input, const sl_export_options *options,
                                FILE *to, sl_error *err) {
    table_out table = {.options = options, .to = to};
    SL_TRY(sl_export_check_events(input, "a table", err));
    sl_json_init(&table.json, to, 0);
    return put_input(&table, input, err);
}
