/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_memo.h"

#include <string.h>

#include "base/core/vec.h"

bool sl_memo_reserve(sl_memo *memo, size_t more) {
    return sl_vec_grow((void **)&memo->at, &memo->cap, memo->cnt, more, sizeof *memo->at);
}

bool sl_memo_put(sl_memo *memo, size_t id, uint32_t entry) {
    if (id >= memo->cnt) {
        if (id >= memo->cap && !sl_memo_reserve(memo, id - memo->cnt + 1))
            return false;
        memset(memo->at + memo->cnt, 0, (id - memo->cnt) * sizeof *memo->at);
        memo->at[id] = 0;
        memo->cnt = id + 1;
    }
    memo->set_cnt += sl_memo_tag_of(memo->at[id]) == SL_MEMO_EMPTY;
    memo->at[id] = entry;
    return true;
}

void sl_memo_fini(sl_memo *memo) {
    free(memo->at);
    *memo = (sl_memo){0};
}
