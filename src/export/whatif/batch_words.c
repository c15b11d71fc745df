/* SPDX-License-Identifier: MIT */
#include "export/whatif/batch_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/str.h"
#include "export/whatif/whatif_words.h"

void sl_batch_say_recordings(char buf[SL_WORDS_CAP], const sl_batch *batch) {
    char same[SL_HUMAN_CAP], all[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_words_append(buf, "Recorded with");
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        const sl_batch_recording *recording = &batch->recordings[i];
        sl_words_append(buf, "%s %" PRIu64 " (%.60s)",
                        i == 0                         ? ""
                        : i + 1 < batch->recording_cnt ? ","
                                                       : " and",
                        recording->size,
                        sl_base_name(recording->whatif->calls->replay->trace->path));
    }
    if (!batch->refusal[0] || batch->request_cnt)
        sl_words_append(buf, ": %s of %s allocations are the same in all of them",
                        sl_human_count(same, batch->aligned_cnt),
                        sl_human_count(all, batch->request_cnt));
}

void sl_batch_say_laws(char buf[SL_WORDS_CAP], const sl_batch *batch) {
    static const char *const texts[] = {
#define SL_BATCH_LAW_TEXT(name, json, text) text,
        SL_BATCH_LAW_MAP(SL_BATCH_LAW_TEXT)
#undef SL_BATCH_LAW_TEXT
    };
    double all = 0;
    const char *between = "";
    buf[0] = '\0';
    for (size_t i = 0; i < SL_BATCH_LAW_CNT; i++)
        all += (double)batch->law_bytes[i];
    sl_words_append(buf, "Of the bytes ");
    for (size_t i = 0; i < SL_BATCH_LAW_CNT; i++) {
        if (batch->law_cnt[i] == 0 || all == 0)
            continue;
        sl_words_append(buf, "%s%.3g %% %s", between, 100 * (double)batch->law_bytes[i] / all,
                        texts[i]);
        between = ", ";
    }
}

void sl_batch_say_check(char buf[SL_WORDS_CAP], const sl_batch *batch) {
    char was[SL_HUMAN_CAP], is[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_words_append(buf, "Check: ");
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        const sl_batch_recording *recording = &batch->recordings[i];
        sl_words_append(buf, "%s%" PRIu64 " reserved %s and comes out of the others as %s",
                        i ? ", " : "", recording->size,
                        sl_human_bytes(was, recording->recorded_peak),
                        sl_human_bytes(is, recording->check_peak));
    }
}

const char *sl_batch_verdict_text(const sl_batch_row *row) {
    static const char *const texts[] = {"", "fits", "may fit", "does not fit"};
    return row->is_poor ? "poor fit" : texts[row->verdict];
}

char *sl_batch_peak_text(char buf[SL_HUMAN_CAP], const sl_batch_row *row) {
    if (row->is_poor)
        snprintf(buf, SL_HUMAN_CAP, "-");
    else
        sl_whatif_mib(buf, row->peak);
    return buf;
}

static void append_settings(char buf[SL_WORDS_CAP], const sl_alloc_settings *settings) {
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(text, settings);
    if (*text)
        sl_words_append(buf, " with %s", text);
}

void sl_batch_say_largest(char buf[SL_WORDS_CAP], const sl_batch *batch,
                          const sl_batch_largest *largest) {
    char card[SL_HUMAN_CAP], high[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_human_bytes(card, batch->card_bytes.value);
    if (largest->size == 0)
        sl_words_append(buf, "Not even 1 surely fits in %s", card);
    else if (largest->is_capped)
        sl_words_append(buf,
                        "%" PRIu64 " fits in %s, with at most %s; larger ones are too far "
                        "from those recorded to say",
                        largest->size, card, sl_human_bytes(high, largest->high));
    else
        sl_words_append(buf, "The largest that fits in %s is %" PRIu64 ", with at most %s", card,
                        largest->size, sl_human_bytes(high, largest->high));
    append_settings(buf, &largest->settings);
}

void sl_batch_say_caveat(char buf[SL_WORDS_CAP], const sl_batch *batch) {
    buf[0] = '\0';
    sl_words_append(buf, "Reserved by PyTorch's allocator; the CUDA context and other libraries "
                         "come on top");
    if (batch->recordings[0].side.is_rounded)
        sl_words_append(buf,
                        ". Recordings have rounded sizes, so small allocations are approximate");
}
