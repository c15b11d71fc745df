/* SPDX-License-Identifier: MIT */
/* Thresholds on the counters, with hysteresis: an alert is raised once, and again only after the value
 * fell below the lower threshold and a minute has passed. One thread: the recorder's own. */
#ifndef SL_ALERT_RULES_H
#define SL_ALERT_RULES_H

#include "log/log_writer.h"

/* enumerator, name, percent at which it is raised, percent below which it is over, what it says. */
#define SL_ALERT_RULE_MAP(X)                                                                  \
    X(DEVICE_FULL, "device_nearly_full", 95, 90, "less than a twentieth of the card is free") \
    X(HOST_FULL, "host_nearly_full", 95, 90,                                                  \
      "less than a twentieth of the host's memory is available")

typedef enum sl_alert_rule {
#define SL_ALERT_RULE_ENUM(id, name, raise_pct, clear_pct, text) SL_ALERT_##id,
    SL_ALERT_RULE_MAP(SL_ALERT_RULE_ENUM)
#undef SL_ALERT_RULE_ENUM
        SL_ALERT_RULE_CNT
} sl_alert_rule;

#define SL_ALERT_DEVICE_MAX 64

/* A reading of `used` out of `total` bytes at this time of the log; device -1 is the host. Unknown
 * figures change nothing. */
void sl_alert_check(sl_log *log, sl_alert_rule rule, int device, sl_maybe_u64 used,
                    sl_maybe_u64 total);

/* A new log: no alert has been raised. */
void sl_alert_reset(void);

#endif
