/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "export/formats/exporter.h"
#include "export/whatif/batch_words.h"
#include "export/whatif/whatif_format.h"
#include "export/whatif/whatif_words.h"

static sl_term_style style_of(const sl_batch_row *row) {
    return row->is_poor                     ? SL_STYLE_PLAIN
           : row->verdict == SL_BATCH_FITS  ? SL_STYLE_GOOD
           : row->verdict == SL_BATCH_FAILS ? SL_STYLE_BAD
                                            : SL_STYLE_PLAIN;
}

static void put_row(FILE *to, const sl_batch_row *row, bool has_color) {
    char peak[SL_HUMAN_CAP], low[SL_HUMAN_CAP], high[SL_HUMAN_CAP], active[SL_HUMAN_CAP];
    char settings[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(settings, &row->settings);
    fprintf(to, "%s%8" PRIu64 " %10s %9s %9s %9s  %-12s  %s", sl_term_sgr(has_color, style_of(row)),
            row->size, sl_batch_peak_text(peak, row), sl_whatif_mib(low, row->low),
            sl_whatif_mib(high, row->high), sl_whatif_mib(active, row->active_peak),
            sl_batch_verdict_text(row), sl_term_sgr(has_color, SL_STYLE_PLAIN));
    sl_term_printf(to, "%s\n", *settings ? settings : "defaults");
}

static void put_rows(FILE *to, const sl_batch *batch, bool has_color) {
    if (batch->rows.cnt == 0)
        return;
    fputs("\n           reserved                        in use\n"
          "    size   peak MiB   low MiB  high MiB  peak MiB                setting\n",
          to);
    for (size_t i = 0; i < batch->rows.cnt; i++)
        put_row(to, &batch->rows.at[i], has_color);
    putc('\n', to);
}

sl_status sl_batch_write_text(const sl_batch *batch, bool has_color, FILE *to, sl_error *err) {
    char text[SL_WORDS_CAP];
    sl_batch_say_recordings(text, batch);
    sl__whatif_put_line(to, text);
    if (batch->refusal[0]) {
        snprintf(text, sizeof text, "No answer: %s", batch->refusal);
        sl__whatif_put_line(to, text);
        return sl_export_finish(to, err);
    }
    sl_batch_say_laws(text, batch);
    sl__whatif_put_line(to, text);
    sl_batch_say_check(text, batch);
    sl__whatif_put_line(to, text);
    put_rows(to, batch, has_color);
    for (size_t i = 0; i < batch->largest.cnt; i++) {
        sl_batch_say_largest(text, batch, &batch->largest.at[i]);
        sl__whatif_put_line(to, text);
    }
    sl_batch_say_caveat(text, batch);
    sl__whatif_put_line(to, text);
    return sl_export_finish(to, err);
}
