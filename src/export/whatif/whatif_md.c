/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/text/human.h"
#include "export/formats/exporter.h"
#include "export/report/md_out.h"
#include "export/whatif/whatif_format.h"
#include "export/whatif/whatif_words.h"

static void put_paragraph(FILE *to, const char *text) {
    if (!*text)
        return;
    sl_md_text(to, text);
    fputs(".\n\n", to);
}

static void put_row(FILE *to, const sl_whatif *whatif, const sl_whatif_row *row) {
    const sl_alloc_stats *stats = &row->pass.stats;
    char peak[SL_HUMAN_CAP], waste[SL_HUMAN_CAP], calls[SL_HUMAN_CAP], card[SL_HUMAN_CAP] = "";
    char text[SL_WORDS_CAP];
    if (row->card_bytes.known)
        sl_whatif_mib(card, row->card_bytes.value);
    fputs("| ", to);
    sl_whatif_say_settings(text, row);
    sl_md_code(to, text);
    fprintf(to, " | %s | %s | %" PRIu64 " | %s | %s | ",
            row->pass.has_failed ? "fails" : sl_whatif_mib(peak, stats->reserved_peak),
            sl_whatif_mib(waste, stats->waste_peak), stats->retries,
            sl_human_count(calls, stats->driver_allocs + stats->driver_frees), card);
    sl_whatif_say_spread(text, row);
    sl_md_text(to, text);
    if (row->pass.has_failed) {
        fputs(*text ? "; " : "", to);
        sl_whatif_say_first_failure(text, whatif, row);
        sl_md_text(to, text);
    }
    fputs(" |\n", to);
}

static void put_failure(FILE *to, const sl_whatif *whatif) {
    const sl_holdings *holdings = &whatif->failure.holdings;
    char text[SL_WORDS_CAP], bytes[SL_HUMAN_CAP];
    sl_whatif_say_failure(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_remedy(text, whatif);
    put_paragraph(to, text);
    for (size_t i = 0; i < holdings->cnt; i++) {
        fprintf(to, "- %s: ", sl_human_bytes(bytes, holdings->at[i].bytes));
        sl_words_site(text, holdings->at[i].site, 0);
        sl_md_code(to, text);
        putc('\n', to);
    }
    if (holdings->cnt)
        putc('\n', to);
}

static void put_line_row(FILE *to, const sl_whatif *whatif, const sl_whatif_line *line) {
    char text[SL_WORDS_CAP], saves[SL_HUMAN_CAP];
    fprintf(to, "| %s | %s | ", sl_whatif_mib(saves, line->saves),
            sl_whatif_repair_title(line->kind));
    sl_words_site(text, line->site, 0);
    sl_md_code(to, text);
    fputs(" | ", to);
    sl_whatif_say_line(text, whatif, line);
    sl_md_text(to, text);
    fputs(" |\n", to);
}

static void put_lines(FILE *to, const sl_whatif *whatif) {
    const sl_whatif_lines *lines = &whatif->lines;
    char text[SL_WORDS_CAP];
    sl_whatif_say_lines(text, whatif);
    put_paragraph(to, text);
    if (lines->at.cnt)
        fputs("| saves MiB | repair | line | |\n| ---: | --- | --- | --- |\n", to);
    for (size_t i = 0; i < lines->at.cnt; i++)
        put_line_row(to, whatif, &lines->at.at[i]);
    if (lines->at.cnt)
        putc('\n', to);
    sl_whatif_say_all_lines(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_need(text, whatif);
    put_paragraph(to, text);
}

static void put_answer(FILE *to, const sl_whatif *whatif) {
    char text[SL_WORDS_CAP];
    sl_whatif_say_proof(text, whatif);
    put_paragraph(to, text);
    if (whatif->refusal[0]) {
        put_paragraph(to, whatif->refusal);
        return;
    }
    sl_whatif_say_program(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_limit(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_card(text, whatif);
    put_paragraph(to, text);
    fputs("| setting | reserved peak MiB | waste peak MiB | retries | driver calls | smallest card "
          "MiB "
          "| |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
          to);
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        put_row(to, whatif, &whatif->rows.at[i]);
    putc('\n', to);
    sl_whatif_say_best(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_paste(text, whatif);
    if (*text)
        fprintf(to, "    %s\n\n", text);
    sl_whatif_say_floor(text, whatif);
    put_paragraph(to, text);
    sl_whatif_say_caveat(text, whatif);
    put_paragraph(to, text);
    put_failure(to, whatif);
    put_lines(to, whatif);
}

sl_status sl_whatif_write_markdown(const sl_whatif_list *list, FILE *to, sl_error *err) {
    for (size_t i = 0; i < list->cnt; i++) {
        fputs("## ", to);
        sl_md_text(to, list->at[i]->calls->replay->trace->path);
        fputs("\n\n", to);
        put_answer(to, list->at[i]);
    }
    return sl_export_finish(to, err);
}
