/* SPDX-License-Identifier: MIT */
#include "base/text/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const char *const binary_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* Three significant digits without an exponent. */
static void print_scaled(char buf[SL_HUMAN_CAP], const char *sign, double value, const char *unit) {
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(buf, SL_HUMAN_CAP, "%s%.*f %s", sign, decimals, value, unit);
}

static char *print_bytes(char buf[SL_HUMAN_CAP], const char *sign, uint64_t bytes) {
    if (bytes < 1024) {
        snprintf(buf, SL_HUMAN_CAP, "%s%" PRIu64 " B", sign, bytes);
        return buf;
    }
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < SL_COUNT_OF(binary_units)) {
        value /= 1024;
        unit++;
    }
    print_scaled(buf, sign, value, binary_units[unit]);
    return buf;
}

char *sl_human_bytes(char buf[SL_HUMAN_CAP], uint64_t bytes) {
    return print_bytes(buf, "", bytes);
}

char *sl_human_bytes_delta(char buf[SL_HUMAN_CAP], int64_t bytes) {
    const char *sign = bytes > 0 ? "+" : bytes < 0 ? "-" : "";
    return print_bytes(buf, sign, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
}

double sl_human_tick_step(double top_bytes, double most) {
    /* In the unit of top. Ticks below 1 get the next smaller unit, where these fractions are whole numbers. */
    static const double steps[] = {0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500};
    double unit = 1;
    while (top_bytes >= 1024 * unit && unit < 0x1p60)
        unit *= 1024;
    for (size_t i = 0; i < SL_COUNT_OF(steps); i++)
        if (steps[i] * unit >= 1 && top_bytes <= steps[i] * unit * most)
            return steps[i] * unit;
    return top_bytes > 1 ? top_bytes : 1;
}

const char *sl_human_tick(char buf[SL_HUMAN_CAP], double bytes) {
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < SL_COUNT_OF(binary_units); unit++)
        bytes /= 1024;
    snprintf(buf, SL_HUMAN_CAP, "%.4g %s", bytes, binary_units[unit]);
    return buf;
}

char *sl_human_duration_us(char buf[SL_HUMAN_CAP], int64_t us) {
    const char *sign = us < 0 ? "-" : "";
    uint64_t left = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    uint64_t seconds = left / 1000000;
    if (left < 1000)
        snprintf(buf, SL_HUMAN_CAP, "%s%" PRIu64 " us", sign, left);
    else if (left < 1000000)
        print_scaled(buf, sign, (double)left / 1e3, "ms");
    else if (seconds < 120)
        print_scaled(buf, sign, (double)left / 1e6, "s");
    else if (seconds < 7200)
        snprintf(buf, SL_HUMAN_CAP, "%s%" PRIu64 " min %" PRIu64 " s", sign, seconds / 60,
                 seconds % 60);
    else if (seconds < 172800)
        snprintf(buf, SL_HUMAN_CAP, "%s%" PRIu64 " h %02" PRIu64 " min", sign, seconds / 3600,
                 seconds / 60 % 60);
    else
        snprintf(buf, SL_HUMAN_CAP, "%s%" PRIu64 " d %" PRIu64 " h", sign, seconds / 86400,
                 seconds / 3600 % 24);
    return buf;
}

char *sl_human_count(char buf[SL_HUMAN_CAP], uint64_t count) {
    char digits[SL_HUMAN_CAP];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *out = buf;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buf;
}

char *sl_human_times(char buf[SL_HUMAN_CAP], uint64_t count) {
    char number[SL_HUMAN_CAP];
    snprintf(buf, SL_HUMAN_CAP, count == 1 ? "once" : "%.25s times", sl_human_count(number, count));
    return buf;
}

typedef struct unit_row {
    const char *name;
    double factor;
} unit_row;

static const unit_row parse_units[] = {
    {"", 1},       {"b", 1},        {"k", 0x1p10},   {"kib", 0x1p10}, {"kb", 1e3},
    {"m", 0x1p20}, {"mib", 0x1p20}, {"mb", 1e6},     {"g", 0x1p30},   {"gib", 0x1p30},
    {"gb", 1e9},   {"t", 0x1p40},   {"tib", 0x1p40}, {"tb", 1e12},
};

sl_status sl_human_parse_bytes(const char *text, uint64_t *bytes, sl_error *err) {
    char *unit;
    double value = strtod(text, &unit);
    if (unit == text || !(value >= 0))
        return sl_fail(err, SL_E_USAGE, "'%s' is not a size; expected one such as 256MiB", text);
    while (*unit == ' ')
        unit++;
    for (size_t i = 0; i < SL_COUNT_OF(parse_units); i++) {
        if (strcasecmp(unit, parse_units[i].name) != 0)
            continue;
        double scaled = value * parse_units[i].factor;
        if (!(scaled < 0x1p63))
            return sl_fail(err, SL_E_USAGE, "'%s' is larger than any memory", text);
        *bytes = (uint64_t)scaled;
        return SL_OK;
    }
    return sl_fail(err, SL_E_USAGE,
                   "'%s' has the unknown unit '%s'; expected B, KiB, MiB, GiB or TiB", text, unit);
}
