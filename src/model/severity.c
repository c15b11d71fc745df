/* SPDX-License-Identifier: MIT */
#include "model/severity.h"

const char *sl_severity_name(sl_severity severity) {
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}
