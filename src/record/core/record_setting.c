/* SPDX-License-Identifier: MIT */
#include "record/core/record_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"

#define IN_API(member)                                 \
    .api_offset = offsetof(sl_record_options, member), \
    .api_bytes = sizeof(((sl_record_options *)0)->member)
#define IN_NO_API(member) .api_bytes = 0
#define IS_RESET          false
#define IS_KEEP           true

const sl_setting sl_settings[SL_SETTING_CNT] = {
#define SETTING_ROW(id, member, type_name, variable, first, lowest, highest, list, api, argument, \
                    unset, text, ...)                                                             \
    [SL_SETTING_ID_##id] = {.name = #member,                                                      \
                            .env = (variable),                                                    \
                            .meaning = (text),                                                    \
                            .type = SL_SETTING_##type_name,                                       \
                            .initial = (first),                                                   \
                            .least = (lowest),                                                    \
                            .most = (highest),                                                    \
                            .words = (list),                                                      \
                            .python = (argument),                                                 \
                            .offset = offsetof(sl_record_settings, member),                       \
                            .bytes = sizeof(((sl_record_settings *)0)->member),                   \
                            .option_cnt = 0 __VA_ARGS__,                                          \
                            .is_inherited = IS_##unset,                                           \
                            IN_##api(member)},
#define COUNT_OPTION(...) +1
    SL_SETTING_MAP(SETTING_ROW, COUNT_OPTION)
#undef COUNT_OPTION
#undef SETTING_ROW
};

/* The index of a word among "a|b|c", -1 = none. */
static int find_word(const char *words, const char *text) {
    size_t len = strlen(text);
    int idx = 0;
    for (const char *at = words;; at++, idx++) {
        size_t word_len = strcspn(at, "|");
        if (word_len == len && memcmp(at, text, len) == 0)
            return idx;
        at += word_len;
        if (!*at)
            return -1;
    }
}

bool sl_setting_allows(const sl_setting *setting, uint64_t number) {
    return number >= setting->least && number <= setting->most;
}

static bool parse_number(const char *text, const char *unit, uint64_t *number) {
    char *end;
    *number = strtoul(text, &end, 10); /* too many digits give more than any limit */
    return *text >= '0' && *text <= '9' && (*end == '\0' || strcmp(end, unit) == 0);
}

bool sl_setting_parse(const sl_setting *setting, const char *text, uint64_t *number) {
    int word;
    switch (setting->type) {
    case SL_SETTING_SWITCH: *number = strcmp(text, "0") != 0; return true;
    case SL_SETTING_CHOICE:
        word = find_word(setting->words, text);
        *number = word < 0 ? 0 : (uint64_t)word;
        return word >= 0;
    case SL_SETTING_SIZE:
        return sl_human_parse_bytes(text, number, NULL) == SL_OK &&
               sl_setting_allows(setting, *number);
    case SL_SETTING_MS:
        return parse_number(text, "", number) && sl_setting_allows(setting, *number);
    case SL_SETTING_PERCENT:
        *number = 0;
        return strcmp(text, "off") == 0 ||
               (parse_number(text, "%", number) && sl_setting_allows(setting, *number));
    case SL_SETTING_PATH: break;
    }
    return false;
}

/* "a|b|c" as "a, b or c". */
static void say_words(const char *words, char buf[SL_SETTING_EXPECTED_CAP]) {
    size_t len = 0;
    for (const char *at = words; *at && len + 5 < SL_SETTING_EXPECTED_CAP; at++) {
        if (*at != '|')
            buf[len++] = *at;
        else
            len = (size_t)(stpcpy(buf + len, strchr(at + 1, '|') ? ", " : " or ") - buf);
    }
    buf[len] = '\0';
}

char *sl_setting_expected(const sl_setting *setting, char buf[SL_SETTING_EXPECTED_CAP]) {
    char size[SL_HUMAN_CAP];
    switch (setting->type) {
    case SL_SETTING_CHOICE: say_words(setting->words, buf); break;
    case SL_SETTING_SIZE:
        snprintf(buf, SL_SETTING_EXPECTED_CAP, "at most %s, such as 256MiB",
                 sl_human_bytes(size, setting->most));
        break;
    case SL_SETTING_PERCENT:
        snprintf(buf, SL_SETTING_EXPECTED_CAP, "%" PRIu64 "%% to %" PRIu64 "%%, or off",
                 setting->least, setting->most);
        break;
    case SL_SETTING_MS:
        snprintf(buf, SL_SETTING_EXPECTED_CAP, "%" PRIu64 " to %" PRIu64 " milliseconds",
                 setting->least, setting->most);
        break;
    case SL_SETTING_SWITCH: strcpy(buf, "0 or 1"); break;
    case SL_SETTING_PATH: strcpy(buf, "a folder"); break;
    }
    return buf;
}
