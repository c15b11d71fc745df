/* SPDX-License-Identifier: MIT */
#include "api/live_ledger.h"

#include <string.h>

#include "base/core/str.h"
#include "model/counter_series.h"

static sl_maybe_u64 last_of(const sl_log_counters *counters, const sl_log_reader *reader,
                            int device, const char *name) {
    for (size_t i = 0; i < counters->cnt; i++) {
        const sl_log_counter_info *info = &counters->at[i];
        sl_str own = sl_log_get_string(reader, info->name);
        const char *kind = sl_counter_name(info->kind);
        if (info->device == device && (info->name ? sl_str_is(own, name) : strcmp(kind, name) == 0))
            return (sl_maybe_u64){info->last, info->is_available};
    }
    return (sl_maybe_u64){0};
}

static void read_figures(sl_ledger_figures *figures, const sl_log_counters *counters,
                         const sl_log_reader *reader, int device) {
    const struct {
        const char *name;
        sl_maybe_u64 *to;
    } rows[] = {
        {SL_SERIES_DEVICE_USED, &figures->card_used},
        {SL_SERIES_DEVICE_TOTAL, &figures->card_total},
        {SL_SERIES_PROCESS_USED, &figures->process},
        {SL_SERIES_OTHER_PROCESSES, &figures->others},
        {SL_SERIES_DRIVER_RESERVED, &figures->driver},
        {SL_SERIES_ALLOCATED, &figures->allocated},
        {SL_SERIES_RESERVED, &figures->reserved},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        *rows[i].to = last_of(counters, reader, device, rows[i].name);
    figures->libraries_known = true;
}

/* Live bytes by tag; those without one are what remains. */
static void sum_tags(uint64_t bytes[SL_TAG_LIMIT], const sl_log_tables *tables,
                     sl_slog_facts *facts, int device) {
    for (size_t i = 0; i < tables->blocks.cnt; i++) {
        const sl_log_block *block = &tables->blocks.at[i];
        if (block->device == device && block->domain == SL_DOMAIN_BLOCK)
            bytes[sl_slog_block_tag(facts, tables, block)] += block->size;
    }
    bytes[SL_TAG_UNKNOWN] = 0;
}

bool sl_live_ledger_fill(sl_live_ledger *ledger, int device, const sl_log_tables *tables,
                         const sl_log_counters *counters, const sl_log_reader *reader,
                         sl_slog_facts *facts) {
    uint64_t tagged[SL_TAG_LIMIT] = {0};
    *ledger = (sl_live_ledger){0};
    read_figures(&ledger->figures, counters, reader, device);
    sl_ledger_reconcile(&ledger->figures);
    if (!sl_ledger_make_rows(&ledger->rows, sl_slog_has_tags(facts)))
        return false;
    if (sl_slog_has_tags(facts))
        sum_tags(tagged, tables, facts, device);
    for (size_t i = 0; i < ledger->rows.cnt; i++)
        if (ledger->rows.at[i].has_tag)
            ledger->rows.at[i].bytes = sl_known_u64(tagged[ledger->rows.at[i].tag]);
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        if (site->domain == SL_DOMAIN_DRIVER && site->device == device && site->live_bytes &&
            !sl_ledger_add_library(&ledger->rows, sl_log_get_label(reader, site->label),
                                   site->live_bytes))
            return false;
    }
    sl_ledger_balance(&ledger->rows, &ledger->figures);
    return true;
}

void sl_live_ledger_fini(sl_live_ledger *ledger) {
    sl_vec_free(&ledger->rows);
}
