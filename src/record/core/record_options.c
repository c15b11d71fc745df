/* SPDX-License-Identifier: MIT */
#include "record/core/record_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/human.h"
#include "record/core/alert_rules.h"

static const char *text_of(sl_record_env var) {
    const char *text = getenv(sl_record_env_name(var));
    return text && *text ? text : NULL;
}

static bool is_set(sl_record_env var) {
    const char *text = text_of(var);
    return text && strcmp(text, "0") != 0;
}

static sl_status take_dir(sl_record_settings *settings, sl_error *err) {
    const char *dir = text_of(SL_RECORD_ENV_DIR);
    size_t len = dir ? strlen(dir) : 0;
    if (len >= sizeof settings->dir)
        return sl_fail(err, SL_E_USAGE, "STORMLOG_DIR has %zu bytes; at most %zu are possible", len,
                       sizeof settings->dir - 1);
    memcpy(settings->dir, dir ? dir : "", len + 1);
    return SL_OK;
}

static sl_status take_cpu(sl_record_settings *settings, sl_error *err) {
    static const struct {
        const char *text;
        sl_cpu_choice choice;
    } rows[] = {{"1", SL_CPU_ON}, {"0", SL_CPU_OFF}, {"auto", SL_CPU_AUTO}};
    const char *text = text_of(SL_RECORD_ENV_CPU);
    for (size_t i = 0; text && i < SL_COUNT_OF(rows); i++)
        if (strcmp(text, rows[i].text) == 0) {
            settings->cpu = rows[i].choice;
            return SL_OK;
        }
    return text ? sl_fail(err, SL_E_USAGE, "STORMLOG_CPU is '%s'; expected 1, 0 or auto", text)
                : SL_OK;
}

static sl_status take_stacks(sl_record_settings *settings, sl_error *err) {
    static const struct {
        const char *text;
        bool has_stacks, has_native_stacks;
    } rows[] = {{"python", true, false}, {"native", true, true}, {"none", false, false}};
    const char *text = text_of(SL_RECORD_ENV_STACKS);
    for (size_t i = 0; text && i < SL_COUNT_OF(rows); i++)
        if (strcmp(text, rows[i].text) == 0) {
            settings->has_stacks = rows[i].has_stacks;
            settings->has_native_stacks = rows[i].has_native_stacks;
            return SL_OK;
        }
    return text ? sl_fail(err, SL_E_USAGE,
                          "STORMLOG_STACKS is '%s'; expected python, native or none", text)
                : SL_OK;
}

static sl_status take_interval(sl_record_settings *settings, sl_error *err) {
    const char *text = text_of(SL_RECORD_ENV_INTERVAL);
    char *end;
    if (!text)
        return SL_OK;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < 10 || value > 60000)
        return sl_fail(err, SL_E_USAGE, "STORMLOG_INTERVAL_MS is '%s'; expected 10 to 60000", text);
    settings->interval_ms = value;
    return SL_OK;
}

static sl_status take_percent(sl_record_env var, unsigned *percent, sl_error *err) {
    const char *text = text_of(var);
    unsigned value;
    if (!text)
        return SL_OK;
    if (!sl_record_parse_percent(text, &value))
        return sl_fail(err, SL_E_USAGE, "%s is '%.40s'; expected %s", sl_record_env_name(var), text,
                       SL_RECORD_PERCENT_EXPECTED);
    *percent = value;
    return SL_OK;
}

static sl_status take_alert_device(sl_record_settings *settings, sl_error *err) {
    return take_percent(SL_RECORD_ENV_ALERT_DEVICE, &settings->alert_device_pct, err);
}

static sl_status take_alert_host(sl_record_settings *settings, sl_error *err) {
    return take_percent(SL_RECORD_ENV_ALERT_HOST, &settings->alert_host_pct, err);
}

static sl_status take_ring(sl_record_settings *settings, sl_error *err) {
    const char *text = text_of(SL_RECORD_ENV_RING);
    if (!text)
        return SL_OK;
    if (sl_human_parse_bytes(text, &settings->ring_bytes, err) < 0)
        return sl_error_prefix(err, "STORMLOG_RING");
    return SL_OK;
}

sl_status sl_record_settings_load(sl_record_settings *settings, sl_error *err) {
    static sl_status (*const takers[])(sl_record_settings *, sl_error *) = {
        take_dir,  take_cpu,          take_stacks,    take_interval,
        take_ring, take_alert_device, take_alert_host};
    *settings = (sl_record_settings){
        .has_stacks = true,
        .has_driver = !text_of(SL_RECORD_ENV_DRIVER) || is_set(SL_RECORD_ENV_DRIVER),
        .has_tags = !text_of(SL_RECORD_ENV_TAGS) || is_set(SL_RECORD_ENV_TAGS),
        .has_modules = is_set(SL_RECORD_ENV_MODULES),
        .interval_ms = 100,
        .alert_device_pct = SL_ALERT_DEFAULT_PCT,
        .alert_host_pct = SL_ALERT_DEFAULT_PCT,
        .is_disabled = is_set(SL_RECORD_ENV_DISABLE),
        .is_shared = is_set(SL_RECORD_ENV_SHARE),
        .is_quiet = is_set(SL_RECORD_ENV_QUIET),
    };
    sl_status first = SL_OK;
    for (size_t i = 0; i < SL_COUNT_OF(takers); i++) {
        sl_status status = takers[i](settings, first == SL_OK ? err : NULL);
        if (first == SL_OK)
            first = status;
    }
    return first;
}

bool sl_record_has_gpu(void) {
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/kfd", "/dev/dxg"};
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && (!*visible || strcmp(visible, "-1") == 0))
        return false;
    for (size_t i = 0; i < SL_COUNT_OF(nodes); i++)
        if (access(nodes[i], F_OK) == 0)
            return true;
    return false;
}
