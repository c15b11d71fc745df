/* SPDX-License-Identifier: MIT */
#include "record/alert_rules.h"

#include <string.h>

#define REPEAT_NS UINT64_C(60000000000)

typedef struct rule_row {
    const char *name;
    unsigned raise_pct, clear_pct;
    const char *text;
} rule_row;

static const rule_row rules[SL_ALERT_RULE_CNT] = {
#define SL_ALERT_RULE_ROW(id, name, raise_pct, clear_pct, text) {name, raise_pct, clear_pct, text},
    SL_ALERT_RULE_MAP(SL_ALERT_RULE_ROW)
#undef SL_ALERT_RULE_ROW
};

typedef struct rule_state {
    bool is_raised;
    bool was_raised; /* ever */
    uint64_t raised_ns;
} rule_state;

static rule_state states[SL_ALERT_RULE_CNT][SL_ALERT_DEVICE_MAX + 1]; /* by device + 1 */

static void raise_alert(sl_log *log, const rule_row *rule, int device, uint64_t used,
                        uint64_t threshold) {
    sl_log_alert alert = {
        .rule = sl_log_string(log, rule->name, strlen(rule->name)),
        .text = sl_log_string(log, rule->text, strlen(rule->text)),
        .device = device,
        .severity = 1,
        .value = used,
        .threshold = threshold,
    };
    sl_log_alert_add(log, &alert);
}

void sl_alert_check(sl_log *log, sl_alert_rule id, int device, sl_maybe_u64 used,
                    sl_maybe_u64 total) {
    const rule_row *rule = &rules[id];
    if (!used.known || !total.known || !total.value || device >= SL_ALERT_DEVICE_MAX || device < -1)
        return;
    rule_state *state = &states[id][device + 1];
    uint64_t threshold = total.value / 100 * rule->raise_pct, now = sl_log_now_ns(log);
    if (used.value < total.value / 100 * rule->clear_pct)
        state->is_raised = false;
    if (used.value < threshold || state->is_raised)
        return;
    state->is_raised = true;
    if (state->was_raised && now - state->raised_ns < REPEAT_NS)
        return;
    state->was_raised = true;
    state->raised_ns = now;
    raise_alert(log, rule, device, used.value, threshold);
}

void sl_alert_reset(void) {
    memset(states, 0, sizeof states);
}
