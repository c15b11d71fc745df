/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

static const char *const change_names[] = {"appeared", "gone", "grown", "shrunk", "same"};

void sl_diff_free(sl_diff *diff) {
    if (!diff)
        return;
    sl_vec_free(&diff->rows);
    free(diff);
}

const char *sl_change_name(sl_change change) {
    return change_names[change];
}
