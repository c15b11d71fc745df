/* SPDX-License-Identifier: MIT */
#include "record/core/record_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The format of the file wants a little-endian machine, so a number's low bytes come first. */
static void store(sl_record_settings *settings, const sl_setting *setting, uint64_t number) {
    memcpy((char *)settings + setting->offset, &number, setting->bytes);
}

static bool store_path(sl_record_settings *settings, const sl_setting *setting, const char *path) {
    if (strlen(path) > setting->most)
        return false;
    strcpy((char *)settings + setting->offset, path);
    return true;
}

static sl_status take_variable(sl_record_settings *settings, const sl_setting *setting,
                               sl_error *err) {
    char expected[SL_SETTING_EXPECTED_CAP];
    uint64_t number;
    const char *text = getenv(setting->env);
    if (!text || !*text)
        return SL_OK;
    if (setting->type == SL_SETTING_PATH)
        return store_path(settings, setting, text)
                   ? SL_OK
                   : sl_fail(err, SL_E_USAGE, "%s has %zu bytes; at most %zu are possible",
                             setting->env, strlen(text), (size_t)setting->most);
    if (!sl_setting_parse(setting, text, &number))
        return sl_fail(err, SL_E_USAGE, "%s is '%.40s'; expected %s", setting->env, text,
                       sl_setting_expected(setting, expected));
    store(settings, setting, number);
    return SL_OK;
}

sl_status sl_record_settings_load(sl_record_settings *settings, sl_error *err) {
    sl_status first = SL_OK;
    *settings = (sl_record_settings){0};
    for (size_t i = 0; i < SL_SETTING_CNT; i++) {
        if (sl_settings[i].type != SL_SETTING_PATH)
            store(settings, &sl_settings[i], sl_settings[i].initial);
        sl_status status = take_variable(settings, &sl_settings[i], first == SL_OK ? err : NULL);
        if (first == SL_OK)
            first = status;
    }
    return first;
}

static bool apply_row(sl_record_settings *settings, const sl_setting *setting, const void *member) {
    if (setting->type == SL_SETTING_PATH) {
        const char *path = *(const char *const *)member;
        return !path || store_path(settings, setting, path);
    }
    uint64_t number = 0;
    memcpy(&number, member, setting->api_bytes);
    if (number == 0)
        return true;
    if (!sl_setting_allows(setting, number))
        return false;
    store(settings, setting, number);
    return true;
}

bool sl_record_settings_apply(sl_record_settings *settings, const sl_record_options *options) {
    for (size_t i = 0; i < SL_SETTING_CNT; i++)
        if (sl_settings[i].api_bytes &&
            !apply_row(settings, &sl_settings[i],
                       (const char *)options + sl_settings[i].api_offset))
            return false;
    return true;
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
