/* SPDX-License-Identifier: MIT */
#include "whatif/alloc/alloc_settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/nearest.h"
#include "base/core/str.h"

#define MIB           ((uint64_t)1 << 20)
#define SPLIT_MIN_MIB 20
#define MIB_MAX       (UINT64_MAX / MIB)

typedef struct parser {
    sl_str text;
    size_t at;
    sl_str key;
    sl_alloc_settings *settings;
    sl_error *err;
} parser;

void sl_alloc_settings_init(sl_alloc_settings *settings) {
    memset(settings, 0, sizeof *settings);
    settings->rounding.max_split_bytes = UINT64_MAX;
    settings->max_non_split_bytes = SL_ALLOC_LARGE_SEGMENT;
    settings->large_segment_bytes = SL_ALLOC_LARGE_SEGMENT;
}

/* ---- words ---- */

static void skip_spaces(parser *in) {
    while (in->at < in->text.len && (in->text.ptr[in->at] == ' ' || in->text.ptr[in->at] == '\t'))
        in->at++;
}

static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+';
}

static sl_str take_word(parser *in) {
    skip_spaces(in);
    size_t from = in->at;
    while (in->at < in->text.len && is_word_char(in->text.ptr[in->at]))
        in->at++;
    return (sl_str){in->text.ptr + from, in->at - from};
}

static bool take_char(parser *in, char c) {
    skip_spaces(in);
    if (in->at >= in->text.len || in->text.ptr[in->at] != c)
        return false;
    in->at++;
    return true;
}

/* "expected a, found b at position n"; the position counts from 1, `at` from 0. */
static sl_status refuse(parser *in, size_t at, const char *expected) {
    char found[24] = "the end";
    if (at < in->text.len)
        snprintf(found, sizeof found, "'%.*s'",
                 (int)(in->text.len - at < 20 ? in->text.len - at : 20), in->text.ptr + at);
    return sl_fail_at(
        in->err, SL_E_USAGE, at, "allocator setting '%.*s': expected %s at position %zu, found %s",
        (int)(in->key.len < 60 ? in->key.len : 60), in->key.ptr, expected, at + 1, found);
}

/* A decimal number; false when there is none or it does not fit. */
static bool word_number(sl_str word, uint64_t *number) {
    uint64_t n = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9' || __builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(word.ptr[i] - '0'), &n))
            return false;
    }
    *number = n;
    return word.len > 0;
}

static sl_status take_number(parser *in, const char *expected, uint64_t min, uint64_t max,
                             uint64_t *number) {
    skip_spaces(in);
    size_t from = in->at;
    if (!word_number(take_word(in), number) || *number < min || *number > max)
        return refuse(in, from, expected);
    return SL_OK;
}

static sl_status take_flag(parser *in, bool *flag) {
    skip_spaces(in);
    size_t from = in->at;
    sl_str word = take_word(in);
    *flag = sl_str_is(word, "True") || sl_str_is(word, "true") || sl_str_is(word, "1");
    if (!*flag && !sl_str_is(word, "False") && !sl_str_is(word, "false") && !sl_str_is(word, "0"))
        return refuse(in, from, "True or False");
    return SL_OK;
}

static sl_status take_share(parser *in, bool with_ends, double *share) {
    skip_spaces(in);
    size_t from = in->at;
    char copy[32] = "", *end = copy;
    sl_str word = take_word(in);
    if (word.len && word.len < sizeof copy) {
        memcpy(copy, word.ptr, word.len);
        *share = strtod(copy, &end);
    }
    bool is_share = end != copy && *end == '\0' && copy[0] != '-' && copy[0] != '+' &&
                    (with_ends ? *share >= 0 && *share <= 1 : *share > 0 && *share < 1);
    return is_share
               ? SL_OK
               : refuse(in, from, with_ends ? "a number from 0 to 1" : "a number between 0 and 1");
}

/* ---- one function for each kind of value ---- */

static sl_status take_max_split(parser *in) {
    uint64_t mib;
    SL_TRY(take_number(in, "MiB, at least 20", SPLIT_MIN_MIB, UINT64_MAX, &mib));
    in->settings->rounding.max_split_bytes = mib < MIB_MAX ? mib * MIB : UINT64_MAX;
    return SL_OK;
}

static sl_status take_non_split(parser *in) {
    uint64_t mib;
    SL_TRY(take_number(in, "MiB, at least 20", SPLIT_MIN_MIB, UINT64_MAX, &mib));
    in->settings->max_non_split_bytes = mib < MIB_MAX ? mib * MIB : UINT64_MAX;
    return SL_OK;
}

static sl_status take_large_segment(parser *in) {
    uint64_t mib;
    SL_TRY(take_number(in, "MiB, from 2 to 1048576", 2, 1 << 20, &mib));
    in->settings->large_segment_bytes = mib * MIB;
    return SL_OK;
}

static sl_status take_gc(parser *in) {
    return take_share(in, false, &in->settings->gc_threshold);
}

static sl_status take_fraction(parser *in) {
    SL_TRY(take_share(in, true, &in->settings->fraction));
    in->settings->fraction = in->settings->fraction < 1 ? in->settings->fraction : 0;
    return SL_OK;
}

static sl_status take_expandable(parser *in) {
    return take_flag(in, &in->settings->is_expandable);
}

static sl_status take_uncached(parser *in) {
    return take_flag(in, &in->settings->is_uncached);
}

static sl_status take_one_stream(parser *in) {
    return take_flag(in, &in->settings->is_one_stream);
}

static sl_status take_early(parser *in) {
    return take_flag(in, &in->settings->frees_early);
}

static sl_status take_backend(parser *in) {
    skip_spaces(in);
    size_t from = in->at;
    sl_str word = take_word(in);
    in->settings->is_async =
        sl_str_is(word, "cudaMallocAsync") || sl_str_is(word, "hipMallocAsync");
    return in->settings->is_async || sl_str_is(word, "native")
               ? SL_OK
               : refuse(in, from, "native or cudaMallocAsync");
}

static bool is_power(uint64_t n) {
    return n && (n & (n - 1)) == 0;
}

static sl_status take_divisions(parser *in, uint64_t *divisions) {
    skip_spaces(in);
    size_t from = in->at;
    if (!word_number(take_word(in), divisions) || *divisions > UINT32_MAX ||
        (*divisions && !is_power(*divisions)))
        return refuse(in, from, "divisions, 0 or a power of two");
    return SL_OK;
}

static sl_status take_rounding_entry(parser *in, sl_rounding_list *list) {
    uint64_t mib = SL_ROUND_REST, divisions;
    skip_spaces(in);
    size_t from = in->at;
    if (!take_char(in, '>') && (!word_number(take_word(in), &mib) || !is_power(mib)))
        return refuse(in, from, "MiB as a power of two, or '>'");
    if (!take_char(in, ':'))
        return refuse(in, in->at, "':'");
    SL_TRY(take_divisions(in, &divisions));
    sl_rounding_add(&in->settings->rounding, list, mib, divisions);
    return SL_OK;
}

static sl_status take_roundup(parser *in) {
    uint64_t divisions;
    if (!take_char(in, '[')) {
        SL_TRY(take_divisions(in, &divisions));
        sl_rounding_set_all(&in->settings->rounding, divisions);
        return SL_OK;
    }
    sl_rounding_list list = {0};
    for (;;) {
        SL_TRY(take_rounding_entry(in, &list));
        if (take_char(in, ']'))
            return SL_OK;
        if (!take_char(in, ','))
            return refuse(in, in->at, "',' or ']'");
    }
}

/* (S2). */
static sl_status take_other_number(parser *in) {
    uint64_t number;
    return take_number(in, "a whole number", 0, UINT64_MAX, &number);
}

static sl_status take_other_flag(parser *in) {
    bool flag;
    return take_flag(in, &flag);
}

static const struct key_row {
    const char *name;
    sl_status (*take)(parser *in);
} keys[] = {
    {"max_split_size_mb", take_max_split},
    {"max_non_split_rounding_mb", take_non_split},
    {"roundup_power2_divisions", take_roundup},
    {"garbage_collection_threshold", take_gc},
    {"expandable_segments", take_expandable},
    {"per_process_memory_fraction", take_fraction},
    {"large_segment_size_mb", take_large_segment},
    {"backend", take_backend},
    {"no_caching", take_uncached},
    {"one_stream", take_one_stream},
    {"no_record_stream", take_early},
    {"roundup_bypass_threshold_mb", take_other_number},
    {"release_lock_on_cudamalloc", take_other_flag},
    {"release_lock_on_hipmalloc", take_other_flag},
    {"pinned_use_cuda_host_register", take_other_flag},
    {"pinned_use_hip_host_register", take_other_flag},
    {"pinned_num_register_threads", take_other_number},
    {"pinned_use_background_threads", take_other_flag},
    {"pinned_reserve_segment_size_mb", take_other_number},
    {"pinned_max_round_threshold_mb", take_other_number},
    {"pinned_max_cached_size_mb", take_other_number},
    {"graph_capture_record_stream_reuse", take_other_flag},
    {"throw_on_cudamalloc_oom", take_other_flag},
};

static sl_status refuse_key(parser *in, size_t from) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(in->key.len < 60 ? in->key.len : 60), in->key.ptr);
    sl_nearest nearest = {.word = word};
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++)
        sl_nearest_offer(&nearest, sl_str_of(keys[i].name));
    return sl_fail_at(in->err, SL_E_USAGE, from,
                      "allocator setting '%s' at position %zu is not known%s%s%s", word, from + 1,
                      nearest.best[0] ? "; did you mean '" : "", nearest.best,
                      nearest.best[0] ? "'?" : "");
}

static sl_status take_pair(parser *in) {
    skip_spaces(in);
    size_t from = in->at;
    in->key = take_word(in);
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++) {
        if (!sl_str_is(in->key, keys[i].name))
            continue;
        if (!take_char(in, ':') && !take_char(in, '='))
            return refuse(in, in->at, "':' and a value");
        return keys[i].take(in);
    }
    if (in->key.len == 0)
        return refuse(in, from, "KEY:VALUE");
    return refuse_key(in, from);
}

sl_status sl_alloc_settings_parse(sl_alloc_settings *settings, sl_str text, sl_error *err) {
    sl_alloc_settings changed = *settings;
    parser in = {.text = text, .settings = &changed, .err = err, .key = SL_STR("")};
    skip_spaces(&in);
    while (in.at < text.len) {
        SL_TRY(take_pair(&in));
        skip_spaces(&in);
        if (in.at < text.len && !take_char(&in, ','))
            return refuse(&in, in.at, "',' or the end");
        skip_spaces(&in);
    }
    *settings = changed;
    return SL_OK;
}

/* ---- back to text ---- */

static void append(char buf[SL_SETTINGS_TEXT_CAP], const char *fmt, ...) SL_PRINTF(2, 3);
static void append(char buf[SL_SETTINGS_TEXT_CAP], const char *fmt, ...) {
    size_t len = strlen(buf);
    va_list args;
    if (len && len + 1 < SL_SETTINGS_TEXT_CAP) {
        buf[len++] = ',';
        buf[len] = '\0';
    }
    va_start(args, fmt);
    vsnprintf(buf + len, SL_SETTINGS_TEXT_CAP - len, fmt, args);
    va_end(args);
}

static bool has_one_division(const sl_rounding *rounding) {
    for (size_t i = 1; i < SL_ROUND_BUCKETS; i++)
        if (rounding->divisions[i] != rounding->divisions[0])
            return false;
    return true;
}

/* The first entry covers all smaller sizes. The first size of ">" is written as well: in older
 * versions of torch, ">" begins with the last named size, and the text must mean the same in all
 * versions. */
static void append_roundup(char buf[SL_SETTINGS_TEXT_CAP], const sl_rounding *rounding) {
    const uint32_t *divisions = rounding->divisions;
    char list[SL_ROUND_BUCKETS * 20 + 20] = "";
    size_t len = 0, from = 0, to = SL_ROUND_BUCKETS - 1;
    if (has_one_division(rounding)) {
        if (divisions[0])
            append(buf, "roundup_power2_divisions:%" PRIu32, divisions[0]);
        return;
    }
    while (divisions[from + 1] == divisions[0])
        from++;
    while (divisions[to - 1] == divisions[SL_ROUND_BUCKETS - 1])
        to--;
    for (size_t i = from; i <= to; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%u:%" PRIu32 ",", 1u << i,
                                divisions[i]);
    append(buf, "roundup_power2_divisions:[%s>:%" PRIu32 "]", list, divisions[to]);
}

void sl_alloc_settings_text(char buf[SL_SETTINGS_TEXT_CAP], const sl_alloc_settings *settings) {
    const sl_rounding *rounding = &settings->rounding;
    buf[0] = '\0';
    if (settings->is_async)
        append(buf, "backend:cudaMallocAsync");
    if (settings->is_expandable)
        append(buf, "expandable_segments:True");
    if (rounding->max_split_bytes != UINT64_MAX)
        append(buf, "max_split_size_mb:%" PRIu64, rounding->max_split_bytes / MIB);
    if (settings->max_non_split_bytes != SL_ALLOC_LARGE_SEGMENT)
        append(buf, "max_non_split_rounding_mb:%" PRIu64, settings->max_non_split_bytes / MIB);
    append_roundup(buf, rounding);
    if (settings->gc_threshold > 0)
        append(buf, "garbage_collection_threshold:%g", settings->gc_threshold);
    if (settings->fraction > 0)
        append(buf, "per_process_memory_fraction:%g", settings->fraction);
    if (settings->large_segment_bytes != SL_ALLOC_LARGE_SEGMENT)
        append(buf, "large_segment_size_mb:%" PRIu64, settings->large_segment_bytes / MIB);
    if (settings->is_uncached)
        append(buf, "no_caching:True");
    if (settings->is_one_stream)
        append(buf, "one_stream:True");
    if (settings->frees_early)
        append(buf, "no_record_stream:True");
}

bool sl_alloc_settings_equal(const sl_alloc_settings *a, const sl_alloc_settings *b) {
    char texts[2][SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(texts[0], a);
    sl_alloc_settings_text(texts[1], b);
    return strcmp(texts[0], texts[1]) == 0;
}
