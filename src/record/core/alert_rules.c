/* SPDX-License-Identifier: MIT */
#include "record/core/alert_rules.h"

#include <stdio.h>
#include <string.h>

#define REPEAT_NS UINT64_C(60000000000)

/* Percentage points that the value must fall before the alert is over. */
#define GAP_PCT 5

typedef struct rule_row {
    const char *name;
    const char *whole;
} rule_row;

static const rule_row rules[SL_ALERT_RULE_CNT] = {
#define SL_ALERT_RULE_ROW(id, name, whole) {name, whole},
    SL_ALERT_RULE_MAP(SL_ALERT_RULE_ROW)
#undef SL_ALERT_RULE_ROW
};

static unsigned raise_pct[SL_ALERT_RULE_CNT] = {
#define SL_ALERT_RULE_DEFAULT(id, name, whole) SL_ALERT_DEFAULT_PCT,
    SL_ALERT_RULE_MAP(SL_ALERT_RULE_DEFAULT)
#undef SL_ALERT_RULE_DEFAULT
};

typedef struct rule_state {
    bool is_raised;
    bool was_raised; /* ever */
    uint64_t raised_ns;
} rule_state;

static rule_state states[SL_ALERT_RULE_CNT][SL_ALERT_DEVICE_MAX + 1]; /* by device + 1 */

static void raise_alert(sl_log *log, sl_alert_rule id, int device, uint64_t used,
                        uint64_t threshold) {
    const rule_row *rule = &rules[id];
    char text[80];
    int len = snprintf(text, sizeof text, "%u %% or more %s is used", raise_pct[id], rule->whole);
    sl_log_alert alert = {
        .rule = sl_log_string(log, rule->name, strlen(rule->name)),
        .text = sl_log_string(log, text, (size_t)len),
        .device = device,
        .severity = 1,
        .value = used,
        .threshold = threshold,
    };
    sl_log_alert_add(log, &alert);
}

void sl_alert_check(sl_log *log, sl_alert_rule id, int device, sl_maybe_u64 used,
                    sl_maybe_u64 total) {
    unsigned percent = raise_pct[id], over_pct = percent > GAP_PCT ? percent - GAP_PCT : 0;
    if (!used.known || !total.known || !total.value || device >= SL_ALERT_DEVICE_MAX ||
        device < -1 || percent == SL_ALERT_OFF)
        return;
    rule_state *state = &states[id][device + 1];
    uint64_t threshold = total.value / 100 * percent, now = sl_log_now_ns(log);
    if (used.value < total.value / 100 * over_pct)
        state->is_raised = false;
    if (used.value < threshold || state->is_raised)
        return;
    state->is_raised = true;
    if (state->was_raised && now - state->raised_ns < REPEAT_NS)
        return;
    state->was_raised = true;
    state->raised_ns = now;
    raise_alert(log, id, device, used.value, threshold);
}

void sl_alert_set_threshold(sl_alert_rule rule, unsigned percent) {
    raise_pct[rule] = percent;
}

void sl_alert_reset(void) {
    memset(states, 0, sizeof states);
}
