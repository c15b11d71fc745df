/* SPDX-License-Identifier: MIT */
/* Thresholds on the counters, with hysteresis: an alert is raised once, and again only after the value
 * fell below a lower threshold and a minute has passed. One thread: the recorder's own; thresholds are
 * set before it starts. */
#ifndef SL_ALERT_RULES_H
#define SL_ALERT_RULES_H

#include "log/write/log_writer.h"

/* enumerator, name, of what more than the threshold is used. */
#define SL_ALERT_RULE_MAP(X)                            \
    X(DEVICE_FULL, "device_nearly_full", "of the card") \
    X(HOST_FULL, "host_nearly_full", "of the host's memory")

typedef enum sl_alert_rule {
#define SL_ALERT_RULE_ENUM(id, name, whole) SL_ALERT_##id,
    SL_ALERT_RULE_MAP(SL_ALERT_RULE_ENUM)
#undef SL_ALERT_RULE_ENUM
        SL_ALERT_RULE_CNT
} sl_alert_rule;

#define SL_ALERT_DEFAULT_PCT 95
#define SL_ALERT_OFF         0

#define SL_ALERT_DEVICE_MAX 64

/* Percent from which on the rule raises; SL_ALERT_OFF = never. SL_ALERT_DEFAULT_PCT until it is set. */
void sl_alert_set_threshold(sl_alert_rule rule, unsigned percent);

/* A reading of `used` out of `total` bytes at this time of the log; device -1 is the host. Unknown
 * figures change nothing. */
void sl_alert_check(sl_log *log, sl_alert_rule rule, int device, sl_maybe_u64 used,
                    sl_maybe_u64 total);

/* A new log: no alert has been raised. Thresholds stay. */
void sl_alert_reset(void);

#endif
