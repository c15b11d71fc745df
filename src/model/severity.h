/* SPDX-License-Identifier: MIT */
/* How serious a finding or an alert is. The names are in reports and files: append, never rename. */
#ifndef SL_SEVERITY_H
#define SL_SEVERITY_H

typedef enum sl_severity { SL_SEV_INFO, SL_SEV_WARNING, SL_SEV_CRITICAL } sl_severity;

const char *sl_severity_name(sl_severity severity);

#endif
