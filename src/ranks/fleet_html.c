/* SPDX-License-Identifier: MIT */
/* The merge as one page: the sentence, a heat map of ranks by steps, the chain, groups and the table. No script, no
 * request to anywhere: it is meant for tickets. */
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "export/report/xml_out.h"
#include "ranks/fleet_format.h"
#include "ranks/fleet_impl.h"

/* Cells of the heat map; more ranks or steps share one, which shows the largest. */
#define MAP_ROWS   256u
#define MAP_COLS   256u
#define CELL_W     4u
#define TABLE_MAX  2048u
/* The height of the map: a few ranks do not fill the screen, many do not leave it. */
#define ROW_PX     16u
#define MAP_PX_MAX 640u
#define CHAIN_MAX  100u

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"><title>Ranks</title><style>"
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:70rem;padding:0 1rem}table{border-collapse:collapse}td,th{padding:.15rem .7rem;"
    "text-align:right;border-bottom:1px solid #8884}td.t,th.t{text-align:left}"
    ".cause{font-size:1.15rem;border-left:4px solid #c43;padding:.3rem .8rem}"
    ".fine{border-color:#3a7}svg{width:100%;background:#8881}tr.bad{background:#c432}"
    "</style></head><body>\n";

static void put(FILE *to, const char *tag, const char *text) {
    fprintf(to, "<%s>", tag);
    sl_xml_text(to, text);
    fprintf(to, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* The most that any rank of the row holds in any bin of the column; SL_BIN_NONE. */
static int64_t most_in(const sl_fleet *fleet, size_t from, size_t to, uint64_t bin,
                       uint64_t bin_to) {
    int64_t most = SL_BIN_NONE;
    for (size_t i = from; i < to; i++)
        for (uint64_t b = bin; b < bin_to; b++) {
            const sl_rank_bin *found = sl__row_bin(fleet, &fleet->rows.at[i], b);
            most = found ? sl_max_i64(most, found->bytes) : most;
        }
    return most;
}

/* One path for each of 16 shades: far smaller than a rectangle for each cell. */
static void put_map(FILE *to, const sl_fleet *fleet) {
    size_t rows = sl_min_size(fleet->rows.cnt, MAP_ROWS),
           cols = sl_min_size(fleet->bin_cnt, MAP_COLS);
    int64_t *cells = calloc(rows * cols + 1, sizeof *cells), top = 1;
    if (!cells || !rows || !cols) {
        free(cells);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            int64_t most =
                most_in(fleet, r * fleet->rows.cnt / rows, (r + 1) * fleet->rows.cnt / rows,
                        c * fleet->bin_cnt / cols, (c + 1) * fleet->bin_cnt / cols);
            cells[r * cols + c] = most;
            top = sl_max_i64(top, most);
        }
    fprintf(to,
            "<h2>Memory by rank and step</h2>\n<svg viewBox=\"0 0 %zu %zu\" role=\"img\" "
            "preserveAspectRatio=\"none\" style=\"height:%zupx\" "
            "aria-label=\"one row per rank, one column per step\">",
            cols * CELL_W, rows * CELL_W, sl_min_size(rows * ROW_PX, MAP_PX_MAX));
    for (int shade = 0; shade < 16; shade++) {
        fprintf(to, "<path fill=\"hsl(%d 75%% %d%%)\" d=\"", 210 - 13 * shade, 82 - 3 * shade);
        for (size_t i = 0; i < rows * cols; i++)
            if (cells[i] != SL_BIN_NONE && (int)((double)cells[i] / (double)top * 15.99) == shade)
                fprintf(to, "M%zu %zuh%uv%uh-%uz", i % cols * CELL_W, i / cols * CELL_W, CELL_W,
                        CELL_W, CELL_W);
        fputs("\"/>", to);
    }
    fputs("</svg>\n", to);
    free(cells);
}

static bool is_bad(const sl_fleet *fleet, int32_t rank) {
    for (size_t i = 0; i < fleet->events.cnt; i++)
        if (fleet->events.at[i].rank == rank)
            return true;
    return false;
}

static void put_table_row(FILE *to, const sl_fleet *fleet, const sl_fleet_row *row) {
    sl_fleet_row_texts t = sl__fleet_row_texts(fleet, row);
    const sl_rank_summary *s = row->of;
    fprintf(to, "<tr%s><td>%s<td class=t>", is_bad(fleet, row->rank) ? " class=bad" : "", t.rank);
    sl_xml_text(to, s->host[0] ? s->host : "-");
    fprintf(to, "<td>%s<td>%s<td>%s<td>%s<td class=t>%s<td class=t>", t.steps, t.peak, t.last,
            t.clock, t.status);
    sl_xml_text(to, s->line_cnt ? s->lines[0].text : "");
    fputs("</tr>\n", to);
}

static void put_table(FILE *to, const sl_fleet *fleet) {
    fputs(
        "<h2>Ranks</h2>\n<table><tr><th>rank<th class=t>host<th>last step<th>peak<th>last<th>clock"
        "<th class=t>status<th class=t>largest line</tr>\n",
        to);
    for (size_t i = 0; i < fleet->rows.cnt && i < TABLE_MAX; i++)
        put_table_row(to, fleet, &fleet->rows.at[i]);
    fputs("</table>\n", to);
    if (fleet->rows.cnt > TABLE_MAX)
        fprintf(to, "<p>and %zu more rank%s</p>\n", fleet->rows.cnt - TABLE_MAX,
                sl_plural(fleet->rows.cnt - TABLE_MAX));
}

static void put_chain(FILE *to, sl_fleet *fleet) {
    size_t shown = 0;
    for (size_t i = 0; i < fleet->events.cnt && shown < CHAIN_MAX; i++) {
        const sl_fleet_event *e = &fleet->events.at[i];
        if (e->fault == SL_RANK_FAULT_MISSING) /* listed above */
            continue;
        if (!shown++)
            fputs("<h2>What happened, in order</h2>\n<ol>\n", to);
        fprintf(to, "<li>rank %d: ", (int)e->rank);
        sl_xml_text(to, sl_fleet_event_text(&fleet->arena, fleet, e));
        fprintf(to, " (confidence %.0f %%)</li>\n", 100 * e->confidence);
    }
    if (shown)
        fputs("</ol>\n", to);
    if (fleet->followers)
        fprintf(to,
                "<p>%zu rank%s made no further step and ended later; the first %.0f s after.</p>\n",
                fleet->followers, sl_plural(fleet->followers), (double)fleet->follow_ns / 1e9);
}

static void put_groups(FILE *to, sl_fleet *fleet) {
    char level[SL_HUMAN_CAP], peak[SL_HUMAN_CAP];
    if (fleet->groups.cnt < 2)
        return;
    fputs("<h2>Groups of ranks that behave alike</h2>\n<ul>\n", to);
    for (size_t g = 0; g < fleet->groups.cnt && g < 100; g++) {
        const sl_fleet_group *group = &fleet->groups.at[g];
        fprintf(to, "<li>%zu rank%s at %s, peak %s: %s</li>\n", group->ranks.cnt,
                sl_plural(group->ranks.cnt),
                sl_human_bytes(level, (uint64_t)sl_max_i64(0, group->level_bytes)),
                sl_human_bytes(peak, (uint64_t)sl_max_i64(0, group->peak_bytes)),
                sl_fleet_ranges(&fleet->arena, group->ranks.at, group->ranks.cnt, 40));
    }
    fputs("</ul>\n", to);
}

void sl_fleet_html(FILE *to, sl_fleet *fleet) {
    fputs(head, to);
    fprintf(to, "<h1>%zu of %d rank%s%s", fleet->rows.cnt, (int)fleet->world_size,
            sl_plural((uint64_t)fleet->world_size), fleet->job[0] ? " of job " : "");
    sl_xml_text(to, fleet->job);
    fprintf(to, "</h1>\n<p class=\"cause%s\">", fleet->has_cause ? "" : " fine");
    sl_xml_text(to, sl_fleet_sentence(fleet));
    fputs("</p>\n", to);
    if (fleet->missing.cnt)
        fprintf(to, "<p>Missing: %s</p>\n",
                sl_fleet_ranges(&fleet->arena, fleet->missing.at, fleet->missing.cnt, 40));
    put_chain(to, fleet);
    put_map(to, fleet);
    put_groups(to, fleet);
    put_table(to, fleet);
    for (size_t i = 0; i < fleet->notes.cnt; i++)
        put(to, "p", fleet->notes.at[i]);
    fputs("</body></html>\n", to);
}
