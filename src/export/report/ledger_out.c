/* SPDX-License-Identifier: MIT */
#include "export/report/ledger_out.h"

#include <stdio.h>

#include "base/text/human.h"

void sl_ledger_words(char buf[SL_WORDS_CAP], const sl_ledger_state *state) {
    char human[SL_HUMAN_CAP], label[SL_LEDGER_LABEL_CAP];
    const char *before = ": ";
    buf[0] = '\0';
    if (state->row_cnt == 0)
        return;
    sl_words_append(buf, "%s",
                    state->card_used.known ? sl_human_bytes(human, state->card_used.value)
                                           : "an unknown amount");
    if (state->card_total.known)
        sl_words_append(buf, " of %s", sl_human_bytes(human, state->card_total.value));
    sl_words_append(buf, " in use");
    for (size_t i = 0; i < state->row_cnt; i++) {
        sl_maybe_u64 bytes = state->rows[i].bytes;
        if (bytes.known && bytes.value == 0)
            continue;
        sl_words_append(buf, "%s%s %s", before, sl_ledger_label(label, &state->rows[i]),
                        bytes.known ? sl_human_bytes(human, bytes.value) : "unknown");
        before = ", ";
    }
}

static void row_json(sl_json_out *json, const sl_ledger_row *row) {
    char label[SL_LEDGER_LABEL_CAP];
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "kind", sl_ledger_kind_name(row->kind));
    sl_json_key_cstr(json, "name", sl_ledger_label(label, row));
    sl_json_key_cstr(json, "tag", row->has_tag ? sl_tag_name(row->tag) : NULL);
    sl_json_key_maybe_u64(json, "bytes", row->bytes);
    sl_json_end_object(json);
}

static double tensor_bytes(const sl_ledger_state *state) {
    double sum = 0;
    for (size_t i = 0; i < state->row_cnt; i++)
        if (state->rows[i].kind == SL_LEDGER_TENSORS && state->rows[i].bytes.known)
            sum += (double)state->rows[i].bytes.value;
    return sum;
}

bool sl_ledger_is_fuller(const sl_ledger_state *full, const sl_ledger_state *end) {
    double least = (double)end->card_total.value / 100;
    return full->card_used.known && end->card_used.known &&
           ((double)full->card_used.value - (double)end->card_used.value > least ||
            tensor_bytes(full) - tensor_bytes(end) > least);
}

void sl_ledger_json(sl_json_out *json, const sl_ledger_state *state, int64_t first_us) {
    if (state->row_cnt == 0) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_i64(json, "time_us", state->time_us - first_us);
    sl_json_key_maybe_u64(json, "card_total_bytes", state->card_total);
    sl_json_key_maybe_u64(json, "card_used_bytes", state->card_used);
    sl_json_key(json, "rows");
    sl_json_begin_array(json);
    for (size_t i = 0; i < state->row_cnt; i++)
        row_json(json, &state->rows[i]);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

void sl_alert_words(char buf[SL_WORDS_CAP], const sl_trace *trace, const sl_alert *alert) {
    char value[SL_HUMAN_CAP], threshold[SL_HUMAN_CAP];
    sl_str text = sl_strtab_get(&trace->strings, alert->text);
    snprintf(buf, SL_WORDS_CAP, "%.*s: %s, threshold %s", (int)(text.len < 300 ? text.len : 300),
             text.ptr, sl_human_bytes(value, alert->value),
             sl_human_bytes(threshold, alert->threshold));
}

void sl_alert_json(sl_json_out *json, const sl_trace *trace, const sl_alert *alert,
                   int64_t first_us) {
    sl_json_key_i64(json, "device", alert->device);
    sl_json_key_i64(json, "time_us", alert->time_us - first_us);
    sl_json_key(json, "severity");
    sl_json_str(json, sl_strtab_get(&trace->strings, alert->severity));
    sl_json_key(json, "text");
    sl_json_str(json, sl_strtab_get(&trace->strings, alert->text));
    sl_json_key_u64(json, "value_bytes", alert->value);
    sl_json_key_u64(json, "threshold_bytes", alert->threshold);
}
