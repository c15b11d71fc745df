/* SPDX-License-Identifier: MIT */
#include "base/core/opt_value.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/nearest.h"
#include "base/core/str.h"
#include "base/text/human.h"

/* More choices than bits in the mask of a CHOICES value would be a bug of the table. */
#define CHOICES_MAX 62
#define CHOICE_CAP  64

bool sl_opt_choice(const char *choices, size_t idx, sl_str *word) {
    const char *at = choices;
    for (; idx > 0; idx--) {
        at = strchr(at, '|');
        if (!at)
            return false;
        at++;
    }
    *word = (sl_str){at, strcspn(at, "|")};
    return true;
}

static sl_status parse_text(const sl_opt *opt, const char *text, sl_opt_value *value,
                            sl_error *err) {
    SL_UNUSED(opt);
    SL_UNUSED(text);
    SL_UNUSED(value);
    SL_UNUSED(err);
    return SL_OK;
}

static sl_status parse_int(const sl_opt *opt, const char *text, sl_opt_value *value,
                           sl_error *err) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return sl_fail(err, SL_E_USAGE, "'%s' is not a whole number", text);
    bool is_bounded = opt->min != 0 || opt->max != 0;
    if (is_bounded && (number < opt->min || number > opt->max))
        return sl_fail(err, SL_E_USAGE, "%lld is outside %" PRId64 " to %" PRId64, number, opt->min,
                       opt->max);
    value->number = number;
    return SL_OK;
}

static sl_status parse_real(const sl_opt *opt, const char *text, sl_opt_value *value,
                            sl_error *err) {
    char *end;
    SL_UNUSED(opt);
    value->real = strtod(text, &end);
    /* C reads hexadecimal numbers, which Python does not. */
    if (end == text || *end || strpbrk(text, "xX"))
        return sl_fail(err, SL_E_USAGE, "'%s' is not a number", text);
    return SL_OK;
}

static sl_status parse_size(const sl_opt *opt, const char *text, sl_opt_value *value,
                            sl_error *err) {
    SL_UNUSED(opt);
    return sl_human_parse_bytes(text, &value->bytes, err);
}

static sl_status parse_limit(const sl_opt *opt, const char *text, sl_opt_value *value,
                             sl_error *err) {
    char *end;
    bool is_more = *text == '+';
    double number = strtod(text + is_more, &end);
    if (end != text && strcmp(end, "%") == 0) {
        if (!(number >= 0 && number <= 1e6))
            return sl_fail(err, SL_E_USAGE, "'%s' is not a percentage from 0%% up", text);
        value->limit = (sl_opt_limit){.is_share = true, .share = number / 100};
        return SL_OK;
    }
    if (parse_size(opt, text + is_more, value, err) < 0)
        return sl_fail(err, SL_E_USAGE, "'%s' is neither a percentage nor a size", text);
    value->limit = (sl_opt_limit){.is_more = is_more, .bytes = value->bytes};
    return SL_OK;
}

typedef struct time_unit {
    const char *name;
    double us;
} time_unit;

static const time_unit time_units[] = {
    {"us", 1},     {"ms", 1e3}, {"s", 1e6},   {"sec", 1e6},
    {"min", 60e6}, {"m", 60e6}, {"h", 3.6e9}, {"d", 86.4e9},
};

sl_status sl_opt_parse_duration(const char *text, int64_t *us, sl_error *err) {
    char *unit;
    double number = strtod(text, &unit);
    if (unit == text || !(number >= 0 && number < 1e12))
        return sl_fail(err, SL_E_USAGE, "'%s' is not a duration such as 90s", text);
    for (size_t i = 0; i < SL_COUNT_OF(time_units); i++) {
        if (strcmp(unit, time_units[i].name) != 0)
            continue;
        double scaled = number * time_units[i].us;
        if (!(scaled < 0x1p62))
            return sl_fail(err, SL_E_USAGE, "'%s' is longer than any recording", text);
        *us = (int64_t)scaled;
        return SL_OK;
    }
    return sl_fail(err, SL_E_USAGE, "'%s' has no unit; use us, ms, s, min, h or d", text);
}

static sl_status parse_duration(const sl_opt *opt, const char *text, sl_opt_value *value,
                                sl_error *err) {
    SL_UNUSED(opt);
    return sl_opt_parse_duration(text, &value->number, err);
}

static const struct {
    const char *word;
    sl_opt_anchor anchor;
} time_words[] = {
    {"start", SL_ANCHOR_START},
    {"end", SL_ANCHOR_END},
    {"peak", SL_ANCHOR_PEAK},
    {"exit", SL_ANCHOR_EXIT},
};

/* "step:12" */
static bool parse_step(const char *text, sl_opt_time *time) {
    static const char prefix[] = "step:";
    char *end;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *digits = text + sizeof prefix - 1;
    errno = 0;
    long long number = strtoll(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end != '\0' || errno != 0)
        return false;
    *time = (sl_opt_time){SL_ANCHOR_STEP, number};
    return true;
}

sl_status sl_opt_parse_time(const char *text, sl_opt_time *time, sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(time_words); i++) {
        if (strcmp(text, time_words[i].word) == 0) {
            *time = (sl_opt_time){time_words[i].anchor, 0};
            return SL_OK;
        }
    }
    if (parse_step(text, time))
        return SL_OK;
    char *end;
    errno = 0;
    long long clock_us = strtoll(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0) {
        *time = (sl_opt_time){SL_ANCHOR_CLOCK, clock_us};
        return SL_OK;
    }
    bool is_from_end = *text == '-';
    int64_t us;
    if (sl_opt_parse_duration(text + (is_from_end || *text == '+'), &us, err) < 0)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' is not a moment; write 90s (after the start), -10s (before the end), "
                       "start, peak, end, exit, step:12, or microseconds of the input's clock",
                       text);
    *time = (sl_opt_time){is_from_end ? SL_ANCHOR_END : SL_ANCHOR_START, is_from_end ? -us : us};
    return SL_OK;
}

static sl_status parse_time(const sl_opt *opt, const char *text, sl_opt_value *value,
                            sl_error *err) {
    SL_UNUSED(opt);
    return sl_opt_parse_time(text, &value->time, err);
}

/* The index of a choice, or -1 and the failure described. */
static int64_t find_choice(const sl_opt *opt, sl_str given, sl_error *err) {
    char word[CHOICE_CAP];
    sl_str choice;
    snprintf(word, sizeof word, "%.*s", (int)given.len, given.ptr);
    sl_nearest nearest = {.word = word};
    for (size_t i = 0; sl_opt_choice(opt->choices, i, &choice); i++) {
        assert(i < CHOICES_MAX);
        if (sl_str_equals(choice, given))
            return (int64_t)i;
        sl_nearest_offer(&nearest, choice);
    }
    if (nearest.best[0])
        sl_fail(err, SL_E_USAGE, "'%s' is not one of %s; did you mean '%s'?", word, opt->choices,
                nearest.best);
    else
        sl_fail(err, SL_E_USAGE, "'%s' is not one of %s", word, opt->choices);
    return -1;
}

static sl_status parse_choice(const sl_opt *opt, const char *text, sl_opt_value *value,
                              sl_error *err) {
    value->number = find_choice(opt, (sl_str){text, strlen(text)}, err);
    return value->number < 0 ? SL_E_USAGE : SL_OK;
}

static sl_status parse_choices(const sl_opt *opt, const char *text, sl_opt_value *value,
                               sl_error *err) {
    value->number = 0;
    for (const char *at = text;; at++) {
        sl_str word = {at, strcspn(at, ",")};
        int64_t idx = find_choice(opt, word, err);
        if (idx < 0)
            return SL_E_USAGE;
        value->number |= (int64_t)1 << idx;
        at += word.len;
        if (!*at)
            return SL_OK;
    }
}

typedef sl_status parse_fn(const sl_opt *opt, const char *text, sl_opt_value *value, sl_error *err);

static parse_fn *const parsers[] = {
    [SL_OPT_FLAG] = parse_text,     [SL_OPT_STRING] = parse_text,       [SL_OPT_FILE] = parse_text,
    [SL_OPT_INT] = parse_int,       [SL_OPT_REAL] = parse_real,         [SL_OPT_SIZE] = parse_size,
    [SL_OPT_LIMIT] = parse_limit,   [SL_OPT_DURATION] = parse_duration, [SL_OPT_TIME] = parse_time,
    [SL_OPT_CHOICE] = parse_choice, [SL_OPT_CHOICES] = parse_choices,
};

sl_status sl_opt_value_parse(const sl_opt *opt, const char *text, sl_opt_value *value,
                             sl_error *err) {
    value->text = text;
    return parsers[opt->type](opt, text, value, err);
}

sl_opt_setter sl_opt_setter_of(const sl_opt *opt) {
    if (opt->is_repeated)
        return SL_SET_BY_NOBODY;
    if (opt->setter != SL_SET_BY_TYPE)
        return opt->setter;
    return opt->type == SL_OPT_FILE     ? SL_SET_BY_NOBODY
           : opt->type == SL_OPT_STRING ? SL_SET_BY_USER
                                        : SL_SET_BY_PROJECT;
}

const char *sl_opt_metavar(const sl_opt *opt) {
    static const char *const words[] = {
#define OPT_WORD(name, metavar) metavar,
        SL_OPT_TYPE_MAP(OPT_WORD)
#undef OPT_WORD
    };
    if (opt->metavar)
        return opt->metavar;
    return opt->choices ? opt->choices : words[opt->type];
}
