/* SPDX-License-Identifier: MIT */
#include "cli/top_json.h"

#include "cli/top_ledger.h"

typedef struct contents {
    sl_log_tables tables;
    sl_log_counters counters;
    sl_log_ooms ooms;
} contents;

static void write_libraries(sl_json_out *json, const sl_ledger *ledger) {
    sl_json_key(json, "libraries");
    sl_json_begin_array(json);
    for (size_t i = 0; i < ledger->library_cnt; i++) {
        sl_json_begin_object(json);
        sl_json_key(json, "name");
        sl_json_str(json, ledger->libraries[i].name);
        sl_json_key(json, "bytes");
        sl_json_u64(json, ledger->libraries[i].bytes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void write_device(sl_json_out *json, int device, const sl_ledger *ledger) {
    const struct {
        const char *key;
        sl_maybe_u64 value;
    } rows[] = {
        {"card_total_bytes", ledger->card_total},
        {"card_used_bytes", ledger->card_used},
        {"tensors_bytes", ledger->tensors},
        {"cache_bytes", ledger->cache},
        {"libraries_bytes", sl_known_u64(ledger->library_bytes)},
        {"context_bytes", ledger->context},
        {"other_processes_bytes", ledger->others},
        {"driver_bytes", ledger->driver},
        {"rest_bytes", ledger->rest},
    };
    sl_json_begin_object(json);
    sl_json_key(json, "device");
    sl_json_i64(json, device);
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_json_key(json, rows[i].key);
        sl_json_maybe_u64(json, rows[i].value);
    }
    write_libraries(json, ledger);
    sl_json_end_object(json);
}

static void write_devices(sl_json_out *json, const contents *c, const sl_log_reader *reader) {
    bool is_seen[128] = {false};
    sl_json_key(json, "devices");
    sl_json_begin_array(json);
    for (size_t i = 0; i < c->tables.sites.cnt; i++)
        if (c->tables.sites.at[i].device >= 0)
            is_seen[c->tables.sites.at[i].device] = true;
    for (int device = 0; device < (int)SL_COUNT_OF(is_seen); device++)
        if (is_seen[device]) {
            sl_ledger ledger;
            sl_ledger_fill(&ledger, device, &c->tables, &c->counters, reader);
            write_device(json, device, &ledger);
        }
    sl_json_end_array(json);
}

static void write_process(sl_json_out *json, const sl_log_reader *reader, const char *path) {
    const sl_fmt_header *header = sl_log_header(reader);
    sl_json_key(json, "path");
    sl_json_cstr(json, path);
    sl_json_key(json, "command");
    sl_json_cstr(json, header->cmdline);
    sl_json_key(json, "pid");
    sl_json_u64(json, header->pid);
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
    return sl_log_load_ooms(reader, &c->ooms, err);
}

sl_status sl_top_write_json(sl_json_out *json, sl_log_reader *reader, const char *path,
                            sl_error *err) {
    contents c = {0};
    sl_status status = load(&c, reader, err);
    if (status == SL_OK) {
        sl_json_begin_object(json);
        write_process(json, reader, path);
        sl_json_key(json, "out_of_memory_count");
        sl_json_u64(json, c.ooms.cnt);
        write_devices(json, &c, reader);
        sl_json_end_object(json);
    }
    sl_log_tables_fini(&c.tables);
    sl_vec_free(&c.counters);
    sl_vec_free(&c.ooms);
    return status;
}
