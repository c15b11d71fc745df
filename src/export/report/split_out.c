/* SPDX-License-Identifier: MIT */
#include "export/report/split_out.h"

#include "base/text/human.h"

static int64_t delta_of(const sl_split *before, const sl_split *after, unsigned i) {
    return (int64_t)(after->shares[i].bytes - before->shares[i].bytes);
}

static uint64_t weight_of(const sl_split *before, const sl_split *after, unsigned i) {
    int64_t delta = before ? delta_of(before, after, i) : (int64_t)after->shares[i].bytes;
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

/* Class numbers by descending bytes, or by descending change when there is a `before`. */
static void sort_classes(unsigned order[SL_SPLIT_MAX], const sl_split *before,
                         const sl_split *after) {
    for (unsigned i = 0; i < after->cnt; i++) {
        unsigned at = i;
        for (; at > 0 && weight_of(before, after, order[at - 1]) < weight_of(before, after, i);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

void sl_split_words(char buf[SL_WORDS_CAP], const sl_split *split) {
    char bytes[SL_HUMAN_CAP];
    unsigned order[SL_SPLIT_MAX];
    buf[0] = '\0';
    if (!split->is_known)
        return;
    sort_classes(order, NULL, split);
    for (unsigned i = 0; i < split->cnt; i++) {
        const sl_share *share = &split->shares[order[i]];
        if (share->blocks)
            sl_words_append(buf, "%s%s %s", *buf ? ", " : "", split->names[order[i]],
                            sl_human_bytes(bytes, share->bytes));
    }
}

void sl_split_json(sl_json_out *json, const char *key, const char *class_key,
                   const sl_split *split) {
    sl_json_key(json, key);
    if (!split->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_array(json);
    for (unsigned i = 0; i < split->cnt; i++) {
        if (!split->shares[i].blocks)
            continue;
        sl_json_begin_object(json);
        sl_json_key(json, class_key);
        sl_json_cstr(json, split->names[i]);
        sl_json_key_u64(json, "bytes", split->shares[i].bytes);
        sl_json_key_u64(json, "blocks", split->shares[i].blocks);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

void sl_split_diff_words(char buf[SL_WORDS_CAP], const sl_split *before, const sl_split *after) {
    char change[SL_HUMAN_CAP], bytes[SL_HUMAN_CAP];
    unsigned order[SL_SPLIT_MAX];
    buf[0] = '\0';
    if (!before->is_known || !after->is_known)
        return;
    sort_classes(order, before, after);
    for (unsigned i = 0; i < after->cnt && weight_of(before, after, order[i]); i++)
        sl_words_append(buf, "%s%s %s (now %s)", *buf ? ", " : "", after->names[order[i]],
                        sl_human_bytes_delta(change, delta_of(before, after, order[i])),
                        sl_human_bytes(bytes, after->shares[order[i]].bytes));
}

void sl_split_diff_json(sl_json_out *json, const char *key, const char *class_key,
                        const sl_split *before, const sl_split *after) {
    sl_json_key(json, key);
    if (!before->is_known || !after->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_array(json);
    for (unsigned i = 0; i < after->cnt; i++) {
        if (!before->shares[i].blocks && !after->shares[i].blocks)
            continue;
        sl_json_begin_object(json);
        sl_json_key(json, class_key);
        sl_json_cstr(json, after->names[i]);
        sl_json_key_i64(json, "delta_bytes", delta_of(before, after, i));
        sl_json_key_u64(json, "before_bytes", before->shares[i].bytes);
        sl_json_key_u64(json, "after_bytes", after->shares[i].bytes);
        sl_json_key_u64(json, "before_blocks", before->shares[i].blocks);
        sl_json_key_u64(json, "after_blocks", after->shares[i].blocks);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}
