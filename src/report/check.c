/* SPDX-License-Identifier: MIT */
#include "report/check.h"

void sl_check_result_free(sl_check_result *result) {
    if (!result)
        return;
    sl_vec_free(&result->rows);
    sl_arena_fini(&result->arena);
    free(result);
}
