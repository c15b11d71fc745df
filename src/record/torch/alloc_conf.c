/* SPDX-License-Identifier: MIT */
#include "record/torch/alloc_conf.h"

#include <stdlib.h>
#include <string.h>

#include "record/core/recorder.h"
#include "record/hooks/hook_table.h"

#define TEXT_CAP 1024
#define KEPT_MAX 8

typedef struct kept_text {
    char text[TEXT_CAP];
    size_t len;
    enum sl_settings_from from;
} kept_text;

/* All settings so far, for a log that is opened later; when there are too many, the first one and
 * the newest ones. Only the thread that holds `is_busy` reads or changes them; a thread that cannot
 * take it does not wait. */
static kept_text kept[KEPT_MAX];
static size_t kept_cnt;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;
atomic_bool sl_alloc_conf_is_said;

static void say(sl_log *log, const kept_text *row) {
    uint32_t name = row->len ? sl_log_string(log, row->text, row->len) : 0;
    sl_log_mark_number(log, SL_EV_SETTINGS, (uint64_t)row->from, name);
}

/* NULL when the text equals the last one kept: torch 2.9 passes one text through two functions. */
static const kept_text *keep(const char *text, size_t len, enum sl_settings_from from) {
    size_t cut = len < TEXT_CAP ? len : TEXT_CAP;
    if (kept_cnt && kept[kept_cnt - 1].len == cut &&
        memcmp(kept[kept_cnt - 1].text, text, cut) == 0)
        return NULL;
    if (kept_cnt == KEPT_MAX)
        memmove(&kept[1], &kept[2], (--kept_cnt - 1) * sizeof kept[0]);
    kept_text *row = &kept[kept_cnt++];
    memcpy(row->text, text, cut);
    row->len = cut;
    row->from = from;
    return row;
}

/* For a torch that called none of the functions below: it reads the environment during the request
 * that is being reported. */
static void keep_environment(void) {
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                        "PYTORCH_HIP_ALLOC_CONF"};
    const char *text = NULL;
    for (size_t i = 0; i < SL_COUNT_OF(names) && !text; i++)
        text = getenv(names[i]);
    keep(text ? text : "", text ? strlen(text) : 0, SL_SETTINGS_ENVIRONMENT);
}

/* Never opens a log: a change of settings is not a memory event. */
static void note(const char *text, size_t len, enum sl_settings_from from) {
    sl_capture capture;
    int saved_errno = errno;
    if (!sl_recorder_is_armed() || atomic_flag_test_and_set(&is_busy))
        return;
    if (!kept_cnt && from == SL_SETTINGS_PROGRAM)
        keep_environment();
    const kept_text *row = keep(text, len, from);
    if (row && atomic_load(&sl_alloc_conf_is_said) && atomic_load(&sl_recorder_page.current) &&
        sl_capture_begin(&capture)) {
        say(capture.log, row);
        sl_capture_end(&capture);
    }
    atomic_flag_clear(&is_busy);
    errno = saved_errno;
}

/* --- What torch calls --------------------------------------------------------------------------- */

/* The original is called last, because it may throw an exception to the program: no lock is held by
 * then. */

typedef struct new_string {
    const char *bytes;
    size_t len;
} new_string;

/* The length is three words before the bytes. */
typedef struct old_string {
    const char *bytes;
} old_string;

void sl_hook_torch_conf_20(const void *text) {
    const old_string *string = text;
    size_t len;
    void (*original)(const void *);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_CONF_20);
    memcpy(&len, string->bytes - 3 * sizeof len, sizeof len);
    note(string->bytes, len, SL_SETTINGS_PROGRAM);
    if (original)
        original(text);
}

void sl_hook_torch_conf_26(const void *text) {
    const new_string *string = text;
    void (*original)(const void *);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_CONF_26);
    note(string->bytes, string->len, SL_SETTINGS_PROGRAM);
    if (original)
        original(text);
}

/* Called by libc10 itself when it reads the environment. */
void sl_hook_torch_conf_29(void *config, const void *text) {
    const new_string *string = text;
    void (*original)(void *, const void *);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_CONF_29);
    bool is_torch = sl_hook_is_in_definer(SL_HOOK_TORCH_CONF_29, __builtin_return_address(0));
    note(string->bytes, string->len, is_torch ? SL_SETTINGS_ENVIRONMENT : SL_SETTINGS_PROGRAM);
    if (original)
        original(config, text);
}

/* --- The log -------------------------------------------------------------------------------------- */

void sl_alloc_conf_say(sl_log *log) {
    if (atomic_flag_test_and_set(&is_busy))
        return;
    if (!atomic_exchange(&sl_alloc_conf_is_said, true)) {
        if (!kept_cnt)
            keep_environment();
        for (size_t i = 0; i < kept_cnt; i++)
            say(log, &kept[i]);
    }
    atomic_flag_clear(&is_busy);
}

void sl_alloc_conf_start(sl_log *log) {
    SL_UNUSED(log);
    atomic_store(&sl_alloc_conf_is_said, false);
}
