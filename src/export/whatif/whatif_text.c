/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "export/formats/exporter.h"
#include "export/whatif/whatif_format.h"
#include "export/whatif/whatif_words.h"

/* Where the last column begins, and how wide it is. */
#define INDENT          "                                               "
#define LINE_COLUMNS    (SL_TERM_COLUMNS - 30)
#define SETTING_COLUMNS (SL_TERM_COLUMNS - sizeof INDENT + 1)

/* A text of settings in the last column, wrapped after commas and spaces. */
static void put_settings(FILE *to, const char *text) {
    size_t column = 0;
    while (*text) {
        const char *comma = strpbrk(text, ", ");
        size_t len = comma ? (size_t)(comma + 1 - text) : strlen(text);
        size_t shown = len - (text[len - 1] == ' ');
        if (column && column + shown > SETTING_COLUMNS) {
            fputs("\n" INDENT, to);
            column = 0;
        }
        if (column && text[-1] == ' ')
            putc(' ', to);
        sl_term_put(to, text, shown);
        column += len;
        text += len;
    }
    putc('\n', to);
}

static void put_note(FILE *to, const char *text) {
    if (*text)
        sl_term_wrap(to, &(sl_wrap){.first = "            ", .rest = "            "}, text);
}

static void put_row(FILE *to, const sl_whatif *whatif, size_t i, bool has_color) {
    const sl_whatif_row *row = &whatif->rows.at[i];
    const sl_alloc_stats *stats = &row->pass.stats;
    char peak[SL_HUMAN_CAP], waste[SL_HUMAN_CAP], calls[SL_HUMAN_CAP], card[SL_HUMAN_CAP] = "-";
    char text[SL_WORDS_CAP];
    if (row->card_bytes.known)
        sl_whatif_mib(card, row->card_bytes.value);
    if (row->pass.has_failed)
        snprintf(peak, sizeof peak, "fails");
    else
        sl_whatif_mib(peak, stats->reserved_peak);
    bool is_best = whatif->best && i == whatif->best;
    fprintf(to, "%s%c%9s %8s %7" PRIu64 " %8s %8s  %s",
            sl_term_sgr(has_color, is_best                ? SL_STYLE_GOOD
                                   : row->pass.has_failed ? SL_STYLE_BAD
                                                          : SL_STYLE_PLAIN),
            is_best ? '*' : ' ', peak, sl_whatif_mib(waste, stats->waste_peak), stats->retries,
            sl_human_count(calls, stats->driver_allocs + stats->driver_frees), card,
            sl_term_sgr(has_color, SL_STYLE_PLAIN));
    sl_whatif_say_settings(text, row);
    put_settings(to, text);
    sl_whatif_say_spread(text, row);
    put_note(to, text);
    sl_whatif_say_first_failure(text, whatif, row);
    put_note(to, text);
}

/* Whether a row has the same figures as the first one. */
static bool is_same_as_recorded(const sl_whatif *whatif, size_t i) {
    const sl_whatif_row *row = &whatif->rows.at[i], *first = &whatif->rows.at[0];
    const sl_alloc_stats *a = &row->pass.stats, *b = &first->pass.stats;
    return i && row->kind == SL_WHATIF_SETTING && row->pass.has_failed == first->pass.has_failed &&
           row->pass.fail_call == first->pass.fail_call && a->reserved_peak == b->reserved_peak &&
           a->waste_peak == b->waste_peak && a->retries == b->retries &&
           a->driver_allocs == b->driver_allocs && a->driver_frees == b->driver_frees &&
           row->peak_low == first->peak_low && row->peak_high == first->peak_high &&
           row->card_bytes.value == first->card_bytes.value;
}

/* Settings that change nothing share one paragraph. */
static void put_same(FILE *to, const sl_whatif *whatif) {
    char text[SL_WORDS_CAP], all[4 * SL_WORDS_CAP] = "";
    size_t len = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++) {
        if (!is_same_as_recorded(whatif, i) || len + SL_WORDS_CAP > sizeof all)
            continue;
        sl_whatif_say_settings(text, &whatif->rows.at[i]);
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", len ? "; " : "", text);
    }
    if (len)
        sl_term_wrap(to, &(sl_wrap){.first = "The same as recorded: ", .rest = "  "}, all);
}

static void put_rows(FILE *to, const sl_whatif *whatif, bool has_color) {
    fputs("\n  reserved    waste          driver smallest\n"
          "  peak MiB peak MiB retries   calls card MiB  setting\n",
          to);
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        if (!is_same_as_recorded(whatif, i))
            put_row(to, whatif, i, has_color);
    put_same(to, whatif);
    putc('\n', to);
}

static void put_holders(FILE *to, const sl_holdings *holdings) {
    char bytes[SL_HUMAN_CAP], place[SL_WORDS_CAP];
    for (size_t i = 0; i < holdings->cnt; i++) {
        sl_words_site(place, holdings->at[i].site, 60);
        sl_term_printf(to, "  %11s  %s\n", sl_human_bytes(bytes, holdings->at[i].bytes), place);
    }
}

static void put_failure(FILE *to, const sl_whatif *whatif) {
    char text[SL_WORDS_CAP];
    if (!whatif->failure.is_known)
        return;
    putc('\n', to);
    sl_whatif_say_failure(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_remedy(text, whatif);
    sl__whatif_put_line(to, text);
    if (whatif->failure.holdings.cnt)
        fputs("Held most then:\n", to);
    put_holders(to, &whatif->failure.holdings);
}

static void put_line_row(FILE *to, const sl_whatif *whatif, const sl_whatif_line *line) {
    char saves[SL_HUMAN_CAP], text[SL_WORDS_CAP];
    sl_words_site(text, line->site, LINE_COLUMNS);
    sl_term_printf(to, "%10s  %-16s  %s\n", sl_whatif_mib(saves, line->saves),
                   sl_whatif_repair_title(line->kind), text);
    sl_whatif_say_line(text, whatif, line);
    put_note(to, text);
}

static void put_lines(FILE *to, const sl_whatif *whatif) {
    const sl_whatif_lines *lines = &whatif->lines;
    char text[SL_WORDS_CAP];
    sl_whatif_say_lines(text, whatif);
    if (*text)
        putc('\n', to);
    sl__whatif_put_line(to, text);
    if (lines->at.cnt)
        fputs(" saves MiB  repair            line\n", to);
    for (size_t i = 0; i < lines->at.cnt; i++)
        put_line_row(to, whatif, &lines->at.at[i]);
    sl_whatif_say_all_lines(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_need(text, whatif);
    sl__whatif_put_line(to, text);
}

static void put_answer(FILE *to, const sl_whatif *whatif, bool has_color) {
    char text[SL_WORDS_CAP];
    sl_whatif_say_proof(text, whatif);
    sl__whatif_put_line(to, text);
    if (whatif->refusal[0]) {
        snprintf(text, sizeof text, "No answer: %s", whatif->refusal);
        sl__whatif_put_line(to, text);
        return;
    }
    sl_whatif_say_program(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_limit(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_card(text, whatif);
    sl__whatif_put_line(to, text);
    put_rows(to, whatif, has_color);
    sl_whatif_say_best(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_paste(text, whatif);
    if (*text)
        sl_term_printf(to, "  %s\n", text);
    sl_whatif_say_floor(text, whatif);
    sl__whatif_put_line(to, text);
    sl_whatif_say_caveat(text, whatif);
    sl__whatif_put_line(to, text);
    put_failure(to, whatif);
    put_lines(to, whatif);
}

sl_status sl_whatif_write_text(const sl_whatif_list *list, FILE *to, sl_error *err) {
    for (size_t i = 0; i < list->cnt; i++) {
        if (i)
            putc('\n', to);
        if (list->cnt > 1)
            sl_term_printf(to, "%s\n", list->at[i]->calls->replay->trace->path);
        put_answer(to, list->at[i], list->has_color);
    }
    return sl_export_finish(to, err);
}
