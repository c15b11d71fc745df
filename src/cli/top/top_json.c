/* SPDX-License-Identifier: MIT */
#include "cli/top/top_json.h"

#include "api/live/live_json.h"
#include "cli/top/top_host.h"
#include "run/lines/live_split.h"

typedef struct contents {
    sl_log_tables tables;
    sl_log_counters counters;
    sl_log_ooms ooms;
    sl_slog_facts *facts; /* owned */
    sl_top_end end;       /* of a finished recording */
} contents;

/* The rows of one kind that have a name of their own: tags, libraries. */
static void write_named(sl_json_out *json, const char *key, const sl_ledger_rows *rows,
                        sl_ledger_kind kind) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; i < rows->cnt; i++) {
        const sl_ledger_row *row = &rows->at[i];
        if (row->kind != kind || (kind == SL_LEDGER_TENSORS && !row->has_tag) ||
            (row->bytes.known && row->bytes.value == 0))
            continue;
        sl_json_begin_object(json);
        sl_json_key(json, "name");
        if (row->has_tag)
            sl_json_cstr(json, sl_tag_name(row->tag));
        else
            sl_json_str(json, row->library);
        sl_json_key_maybe_u64(json, "bytes", row->bytes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

/* Of all rows of a kind together; unknown when one of them is. */
static sl_maybe_u64 sum_of(const sl_ledger_rows *rows, sl_ledger_kind kind) {
    sl_maybe_u64 sum = sl_known_u64(0);
    for (size_t i = 0; i < rows->cnt; i++)
        if (rows->at[i].kind == kind) {
            sum.value += rows->at[i].bytes.value;
            sum.known &= rows->at[i].bytes.known;
        }
    return sum;
}

/* The keys that every device has; those of the host are null for a card, and the other way round. */
static void write_figures(sl_json_out *json, int device, const sl_live_ledger *ledger,
                          const sl_top_host_row host[SL_TOP_HOST_LIMIT]) {
    static const struct {
        const char *key;
        sl_ledger_kind kind;
    } rows[] = {
        {"cache_bytes", SL_LEDGER_CACHE},     {"libraries_bytes", SL_LEDGER_LIBRARY},
        {"context_bytes", SL_LEDGER_CONTEXT}, {"other_processes_bytes", SL_LEDGER_OTHERS},
        {"driver_bytes", SL_LEDGER_DRIVER},   {"rest_bytes", SL_LEDGER_REST},
    };
    bool is_card = device != SL_DEVICE_HOST;
    sl_json_key_i64(json, "device", device);
    sl_json_key_maybe_u64(json, "card_total_bytes", ledger->figures.card_total);
    sl_json_key_maybe_u64(json, "card_used_bytes", ledger->figures.card_used);
    sl_json_key_maybe_u64(json, "tensors_bytes",
                          is_card ? sum_of(&ledger->rows, SL_LEDGER_TENSORS)
                                  : host[SL_TOP_HOST_TENSORS].bytes);
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        sl_json_key_maybe_u64(json, rows[i].key,
                              is_card ? sum_of(&ledger->rows, rows[i].kind) : (sl_maybe_u64){0});
    sl_json_key_maybe_u64(json, "host_resident_bytes", host[SL_TOP_HOST_RESIDENT].bytes);
    sl_json_key_maybe_u64(json, "host_available_bytes", host[SL_TOP_HOST_AVAILABLE].bytes);
}

/* What will be; null for a finished recording. False when it could not be read. */
static bool write_outlook(sl_json_out *json, int device, const contents *c, sl_log_reader *reader) {
    sl_live_forecast forecast = {0};
    sl_live_failure failure = {0};
    bool is_live = sl_log_get_ending(reader) == SL_LOG_LIVE;
    bool is_read =
        !is_live ||
        (sl_live_forecast_read(reader, &c->counters, &c->tables, device, &forecast, NULL) >= 0 &&
         sl_live_failure_find(reader, &c->counters, &c->tables, device, &failure, NULL) >= 0);
    sl_json_key_maybe_u64(json, "process_limit_bytes", forecast.process_limit);
    sl_json_key(json, "forecast");
    sl_live_forecast_write(json, &forecast);
    sl_json_key(json, "failure");
    sl_live_failure_write(json, &failure);
    return is_read;
}

static bool write_card(sl_json_out *json, int device, const contents *c, sl_log_reader *reader,
                       const sl_live_ledger *ledger) {
    const sl_top_host_row none[SL_TOP_HOST_LIMIT] = {{0}};
    sl_json_begin_object(json);
    write_figures(json, device, ledger, none);
    bool is_read = write_outlook(json, device, c, reader);
    write_named(json, "tags", &ledger->rows, SL_LEDGER_TENSORS);
    write_named(json, "libraries", &ledger->rows, SL_LEDGER_LIBRARY);
    sl_json_end_object(json);
    return is_read;
}

/* The ledger of a device, which the caller frees; false when memory ran out. */
static bool fill_ledger(sl_live_ledger *ledger, int device, const contents *c,
                        const sl_log_reader *reader) {
    const sl_run_device *finished = sl_top_end_device(&c->end, device);
    if (finished && sl_top_end_ledger(finished, ledger))
        return true;
    if (finished)
        sl_live_ledger_fini(ledger);
    return sl_live_ledger_fill(ledger, device, &c->tables, &c->counters, reader, c->facts);
}

/* By tag at the end of the work; false when memory ran out. */
static bool write_end_tags(sl_json_out *json, const sl_run_device *host) {
    const sl_replay *replay;
    sl_split split = {0};
    bool has_room = sl_run_replay(host, &replay, NULL) == SL_OK &&
                    sl_live_split_by_tag(replay, NULL, sl_replay_end(replay), &split);
    sl_json_key(json, "tags");
    sl_json_begin_array(json);
    for (unsigned i = 0; has_room && split.is_known && i < split.cnt; i++) {
        if (split.shares[i].bytes == 0)
            continue;
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "name", split.names[i]);
        sl_json_key_u64(json, "bytes", split.shares[i].bytes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    return has_room;
}

/* Memory of the host is device -1, as in the report; it has no card to account for. */
static bool write_host(sl_json_out *json, const contents *c, sl_log_reader *reader) {
    const sl_run_device *finished = sl_top_end_device(&c->end, SL_DEVICE_HOST);
    sl_top_host_row host[SL_TOP_HOST_LIMIT];
    sl_live_ledger ledger = {0};
    bool has_room = finished || fill_ledger(&ledger, SL_DEVICE_HOST, c, reader);
    sl_top_host_fill(host, &c->counters, &c->end);
    sl_json_begin_object(json);
    write_figures(json, SL_DEVICE_HOST, &(sl_live_ledger){0}, host);
    has_room &= write_outlook(json, SL_DEVICE_HOST, c, reader);
    if (finished)
        has_room &= write_end_tags(json, finished);
    else
        write_named(json, "tags", &ledger.rows, SL_LEDGER_TENSORS);
    write_named(json, "libraries", &(sl_ledger_rows){0}, SL_LEDGER_LIBRARY);
    sl_json_end_object(json);
    sl_live_ledger_fini(&ledger);
    return has_room;
}

/* The cards, then the host; false when memory ran out. */
static bool write_devices(sl_json_out *json, const contents *c, sl_log_reader *reader) {
    bool is_seen[128] = {false}, has_host = false, has_room = true;
    sl_json_key(json, "devices");
    sl_json_begin_array(json);
    for (size_t i = 0; i < c->tables.sites.cnt; i++) {
        int device = c->tables.sites.at[i].device;
        has_host |= device == SL_DEVICE_HOST;
        if (device >= 0)
            is_seen[device] = true;
    }
    for (int device = 0; device < (int)SL_COUNT_OF(is_seen); device++)
        if (is_seen[device]) {
            sl_live_ledger ledger;
            has_room &= fill_ledger(&ledger, device, c, reader);
            has_room &= write_card(json, device, c, reader, &ledger);
            sl_live_ledger_fini(&ledger);
        }
    if (has_host)
        has_room &= write_host(json, c, reader);
    sl_json_end_array(json);
    return has_room;
}

/* The host's memory, also of a process without host tensors. */
static void write_machine(sl_json_out *json, const contents *c) {
    static const struct {
        const char *key;
        uint32_t counter;
    } rows[] = {
        {"total_bytes", SL_COUNTER_DEVICE_TOTAL},
        {"available_bytes", SL_COUNTER_HOST_AVAILABLE},
        {"resident_bytes", SL_COUNTER_HOST_RSS},
        {"control_group_bytes", SL_COUNTER_HOST_CGROUP},
    };
    sl_top_host_row host[SL_TOP_HOST_LIMIT];
    sl_top_host_fill(host, &c->counters, &c->end);
    sl_json_key(json, "host");
    sl_json_begin_object(json);
    for (size_t r = 0; r < SL_COUNT_OF(rows); r++) {
        sl_maybe_u64 value = {0};
        for (size_t i = 0; i < c->counters.cnt; i++) {
            const sl_log_counter_info *info = &c->counters.at[i];
            if (info->device == SL_DEVICE_HOST && info->kind == rows[r].counter && !info->name)
                value = (sl_maybe_u64){info->last, info->is_available};
        }
        sl_json_key_maybe_u64(json, rows[r].key, value);
    }
    sl_json_key_maybe_u64(json, "tensors_bytes", host[SL_TOP_HOST_TENSORS].bytes);
    sl_json_end_object(json);
}

static void write_process(sl_json_out *json, const sl_log_reader *reader,
                          const sl_top_process *process) {
    const sl_fmt_header *header = sl_log_header(reader);
    sl_json_key(json, "path");
    sl_json_cstr(json, process->path);
    sl_json_key(json, "command");
    sl_json_cstr(json, header->cmdline);
    sl_json_key(json, "pid");
    sl_json_u64(json, header->pid);
    sl_json_key_cstr(json, "role", sl_process_role_name(process->place.role));
    sl_json_key_maybe_u64(json, "parent_pid",
                          (sl_maybe_u64){header->parent_pid, header->parent_pid != 0});
    sl_json_key(json, "rank");
    if (sl_log_rank(reader) >= 0)
        sl_json_i64(json, sl_log_rank(reader));
    else
        sl_json_null(json);
    sl_json_key(json, "ending");
    sl_json_cstr(json, sl_log_ending_name(sl_log_get_ending(reader)));
}

static sl_status load(contents *c, sl_log_reader *reader, sl_error *err) {
    SL_TRY(sl_log_load_names(reader, err));
    SL_TRY(sl_log_load_tables(reader, &c->tables, err));
    SL_TRY(sl_log_load_counters(reader, &c->counters, err));
    SL_TRY(sl_slog_facts_new(reader, &c->facts, err));
    sl_slog_see_tables(c->facts, &c->tables);
    return sl_log_load_ooms(reader, &c->ooms, err);
}

sl_status sl_top_write_json(sl_json_out *json, sl_log_reader *reader, const sl_top_process *process,
                            sl_error *err) {
    contents c = {0};
    sl_status status = load(&c, reader, err);
    if (status == SL_OK)
        status = sl_top_end_open(&c.end, process->path, reader, err);
    if (status == SL_OK) {
        sl_json_begin_object(json);
        write_process(json, reader, process);
        sl_json_key(json, "out_of_memory_count");
        sl_json_u64(json, c.ooms.cnt);
        write_machine(json, &c);
        if (!write_devices(json, &c, reader))
            status = sl_fail_no_memory(err, "the ledger");
        sl_json_end_object(json);
    }
    sl_log_tables_fini(&c.tables);
    sl_vec_free(&c.counters);
    sl_vec_free(&c.ooms);
    sl_slog_facts_free(c.facts);
    sl_top_end_close(&c.end);
    return status;
}
