/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/samples/an_collective.h"

#define MIB 1048576

static const struct {
    const char *name;
    sl_collective_config config;
} presets[] = {
    {"low", {8, 256 * MIB, 0.06, 3.0, 120000000, 100000000, 100000000, 0.6, 0.7}},
    {"medium", {6, 128 * MIB, 0.04, 2.5, 150000000, 120000000, 120000000, 0.5, 0.5}},
    {"high", {5, 64 * MIB, 0.025, 1.8, 180000000, 160000000, 180000000, 0.34, 0.35}},
};

/* least and most are allowed, except that a least of `above` is not. */
static const struct {
    const char *name;
    size_t offset;
    bool is_integer;
    double least, most;
    bool is_above; /* the value must be larger than least */
} fields[] = {
#define FIELD(name) #name, offsetof(sl_collective_config, name)
    {FIELD(min_samples_per_rank), true, 3, 1e18, false},
    {FIELD(min_gap_bytes), true, 0, 9e18, false},
    {FIELD(min_gap_ratio), false, 0, 1e300, false},
    {FIELD(robust_zscore_threshold), false, 0, 1e300, true},
    {FIELD(marker_window_ns), true, 0, 1e18, false},
    {FIELD(interval_padding_ns), true, 0, 1e18, false},
    {FIELD(synchrony_window_ns), true, 0, 1e18, false},
    {FIELD(min_synchrony_ratio), false, 0, 1, false},
    {FIELD(min_confidence), false, 0, 1, false},
#undef FIELD
};

static double get(const sl_collective_config *config, size_t i) {
    const char *at = (const char *)config + fields[i].offset;
    int64_t integer;
    double real;
    memcpy(&integer, at, sizeof integer);
    memcpy(&real, at, sizeof real);
    return fields[i].is_integer ? (double)integer : real;
}

bool sl_collective_field(const sl_collective_config *config, size_t idx, const char **name,
                         double *value, bool *is_integer) {
    if (idx >= SL_COUNT_OF(fields))
        return false;
    *name = fields[idx].name;
    *value = get(config, idx);
    *is_integer = fields[idx].is_integer;
    return true;
}

sl_status sl_collective_preset(const char *name, sl_collective_config *out, sl_error *err) {
    const char *begin = name + strspn(name, " \t\r\n");
    size_t len = strcspn(begin, " \t\r\n");
    for (size_t i = 0; i < SL_COUNT_OF(presets); i++) {
        if (strlen(presets[i].name) == len && strncasecmp(presets[i].name, begin, len) == 0) {
            *out = presets[i].config;
            return SL_OK;
        }
    }
    return sl_fail(err, SL_E_USAGE,
                   "Unknown collective attribution preset '%s': expected low, medium or high",
                   name);
}

sl_status sl_collective_override(sl_collective_config *config, const char *field, double value,
                                 sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(fields); i++) {
        if (strcmp(fields[i].name, field) != 0)
            continue;
        char *at = (char *)config + fields[i].offset;
        if (!fields[i].is_integer) {
            memcpy(at, &value, sizeof value);
            return SL_OK;
        }
        if (!(value > -9.2e18 && value < 9.2e18))
            return sl_fail(err, SL_E_USAGE, "%s is out of range", field);
        int64_t integer = (int64_t)value;
        memcpy(at, &integer, sizeof integer);
        return SL_OK;
    }
    return sl_fail(err, SL_E_USAGE, "Unknown collective attribution override: %s", field);
}

sl_status sl_collective_validate(const sl_collective_config *config, sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(fields); i++) {
        double value = get(config, i);
        bool is_low = fields[i].is_above ? !(value > fields[i].least) : !(value >= fields[i].least);
        if (is_low)
            return sl_fail(err, SL_E_USAGE, "%s must be %s %g, found %g", fields[i].name,
                           fields[i].is_above ? ">" : ">=", fields[i].least, value);
        if (value > fields[i].most)
            return sl_fail(err, SL_E_USAGE, "%s must be <= %g, found %g", fields[i].name,
                           fields[i].most, value);
    }
    return SL_OK;
}
