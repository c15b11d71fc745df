/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/text/human.h"
#include "export/formats/exporter.h"
#include "export/report/md_out.h"
#include "export/whatif/batch_words.h"
#include "export/whatif/whatif_format.h"
#include "export/whatif/whatif_words.h"

static void put_paragraph(FILE *to, const char *text) {
    if (!*text)
        return;
    sl_md_text(to, text);
    fputs(".\n\n", to);
}

static void put_row(FILE *to, const sl_batch_row *row) {
    char peak[SL_HUMAN_CAP], low[SL_HUMAN_CAP], high[SL_HUMAN_CAP], active[SL_HUMAN_CAP];
    char settings[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(settings, &row->settings);
    fprintf(to, "| %" PRIu64 " | %s | %s | %s | %s | %s | ", row->size,
            sl_batch_peak_text(peak, row), sl_whatif_mib(low, row->low),
            sl_whatif_mib(high, row->high), sl_whatif_mib(active, row->active_peak),
            sl_batch_verdict_text(row));
    sl_md_code(to, *settings ? settings : "defaults");
    fputs(" |\n", to);
}

sl_status sl_batch_write_markdown(const sl_batch *batch, bool has_color, FILE *to, sl_error *err) {
    char text[SL_WORDS_CAP];
    (void)has_color;
    sl_batch_say_recordings(text, batch);
    put_paragraph(to, text);
    if (batch->refusal[0]) {
        put_paragraph(to, batch->refusal);
        return sl_export_finish(to, err);
    }
    sl_batch_say_laws(text, batch);
    put_paragraph(to, text);
    sl_batch_say_check(text, batch);
    put_paragraph(to, text);
    if (batch->rows.cnt)
        fputs("| size | reserved peak MiB | low MiB | high MiB | in use peak MiB | | setting |\n"
              "| ---: | ---: | ---: | ---: | ---: | --- | --- |\n",
              to);
    for (size_t i = 0; i < batch->rows.cnt; i++)
        put_row(to, &batch->rows.at[i]);
    if (batch->rows.cnt)
        putc('\n', to);
    for (size_t i = 0; i < batch->largest.cnt; i++) {
        sl_batch_say_largest(text, batch, &batch->largest.at[i]);
        put_paragraph(to, text);
    }
    sl_batch_say_caveat(text, batch);
    put_paragraph(to, text);
    return sl_export_finish(to, err);
}
