/* SPDX-License-Identifier: MIT */
/* Settings of PyTorch's allocator that are not in effect although somebody set them: reset by a
 * later change that does not name them, or never taken over. Of recordings, which have every
 * change. */
#include <string.h>

#include "analyze/an_context.h"
#include "base/text/human.h"
#include "model/torch/conf_text.h"

static sl_str text_of(const sl_an *an, size_t i) {
    return sl_strtab_get(&an->trace->strings, an->trace->settings_changes.at[i].text);
}

static bool add(sl_an *an, const char *subkind, int64_t time_us, const sl_evidence *evidence,
                const char *title, const char *explanation, const char *advice) {
    sl_finding *f = sl_an_finding(an, SL_FINDING_SETTINGS, SL_SEV_WARNING, evidence, 1);
    if (!f)
        return false;
    f->subkind = subkind;
    f->confidence = 1;
    f->first_time_us = f->last_time_us = time_us;
    f->title = title;
    f->explanation = explanation;
    f->advice = advice;
    return true;
}

/* The items that change i gives their default again, joined by commas; "" = none. What the text
 * before it did not name was reset by that one. */
static const char *lost_by(sl_an *an, size_t i, double *cnt) {
    const char *lost = "";
    sl_str before = text_of(an, i - 1), now = text_of(an, i);
    sl_conf_item item, other;
    *cnt = 0;
    while (sl_conf_next(&before, &item)) {
        if (!sl_conf_is_reset(item.key) || sl_conf_find(now, item.key, &other))
            continue;
        lost =
            sl_an_text(an, "%s%s%.*s", lost, *lost ? "," : "", (int)item.whole.len, item.whole.ptr);
        *cnt += 1;
    }
    return lost;
}

static bool report_reset(sl_an *an, size_t i) {
    const sl_settings_change *change = &an->trace->settings_changes.at[i];
    sl_str now = text_of(an, i);
    sl_evidence evidence = {"settings reset", 0, "settings", 0, ">"};
    const char *lost = lost_by(an, i, &evidence.value);
    if (!*lost)
        return true;
    return add(an, "reset", change->time_us, &evidence,
               sl_an_text(an, "%s was reset when the program changed another setting", lost),
               sl_an_text(an,
                          "The program set \"%.*s\" while it ran. PyTorch then gives %s its "
                          "default again, because the new text does not name it.",
                          (int)now.len, now.ptr, lost),
               sl_an_text(an, "Name all settings in one text: %.*s%s%s", (int)now.len, now.ptr,
                          now.len ? "," : "", lost));
}

/* Whether the text asks for expandable segments. */
static bool asks_expandable(sl_str text) {
    sl_conf_item item;
    return sl_conf_find(text, SL_STR("expandable_segments"), &item) && item.whole.len >= 4 &&
           memcmp(item.whole.ptr + item.whole.len - 4, "True", 4) == 0;
}

static double count_kind(const sl_an *an, sl_event_kind kind) {
    double cnt = 0;
    for (uint32_t i = an->from; i < an->to; i++)
        cnt += an->device->events.kind[i] == kind;
    return cnt;
}

static bool report_no_effect(sl_an *an) {
    const sl_allocator_settings *settings = &an->trace->settings;
    sl_evidence evidence = {"segments that are not expandable", count_kind(an, SL_EV_SEGMENT_ALLOC),
                            "segments", 0, ">"};
    if (!asks_expandable(sl_strtab_get(&an->trace->strings, settings->conf)) ||
        !settings->expandable_known || settings->is_expandable || evidence.value == 0)
        return true;
    return add(an, "no effect", an->trace->settings_changes.at[0].time_us, &evidence,
               "expandable_segments:True has no effect",
               "It is set, but every segment was taken with cudaMalloc. PyTorch 2.9 reads it from "
               "PYTORCH_CUDA_ALLOC_CONF only, not from PYTORCH_ALLOC_CONF; elsewhere a platform "
               "without the driver's functions for it ignores it.",
               "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts.");
}

/* Settings are those of the process: said once, with its first card. */
static bool is_first_card(const sl_an *an) {
    for (size_t i = 0; i < an->trace->devices.cnt; i++)
        if (an->trace->devices.at[i]->device >= 0)
            return an->trace->devices.at[i]->device == an->device->device;
    return false;
}

bool sl_find_settings(sl_an *an) {
    char times[SL_HUMAN_CAP];
    size_t cnt = an->trace->settings_changes.cnt;
    if (!cnt || !is_first_card(an))
        return true;
    sl_an_reason(an, "settings: the allocator's settings were set %s", sl_human_times(times, cnt));
    for (size_t i = 1; i < cnt; i++)
        if (!report_reset(an, i))
            return false;
    return report_no_effect(an);
}
