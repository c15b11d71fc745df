/* SPDX-License-Identifier: MIT */
#include "base/text/csv_in.h"

void sl_csv_in_init(sl_csv_in *csv, sl_byte_stream *in) {
    *csv = (sl_csv_in){.in = in, .next_line = 1};
}

void sl_csv_in_fini(sl_csv_in *csv) {
    sl_vec_free(&csv->text);
    sl_vec_free(&csv->cells);
}

static int peek(sl_byte_stream *in) {
    return sl_bytes_need(in, 1) ? *in->at : -1;
}

static sl_status put(sl_csv_in *csv, char c, sl_error *err) {
    if (csv->text.cnt >= SL_CSV_ROW_MAX)
        return sl_fail_at(err, SL_E_LIMIT, csv->position, "line %llu is longer than %zu bytes",
                          (unsigned long long)csv->line, SL_CSV_ROW_MAX);
    if (!sl_vec_push(&csv->text, c))
        return sl_fail_no_memory(err, "a CSV row");
    return SL_OK;
}

/* Inside quotes: commas and line ends are text, "" is one quote. */
static sl_status read_quoted(sl_csv_in *csv, sl_error *err) {
    csv->in->at++;
    for (;;) {
        int c = peek(csv->in);
        if (c < 0)
            return sl_bytes_failure(csv->in, "a quoted cell", err);
        csv->in->at++;
        if (c == '"' && peek(csv->in) != '"')
            return SL_OK;
        if (c == '"')
            csv->in->at++;
        csv->next_line += c == '\n';
        SL_TRY(put(csv, (char)c, err));
    }
}

static sl_status read_cell(sl_csv_in *csv, sl_error *err) {
    sl_csv_cell cell = {.begin = csv->text.cnt, .is_quoted = peek(csv->in) == '"'};
    if (cell.is_quoted)
        SL_TRY(read_quoted(csv, err));
    for (int c; (c = peek(csv->in)) >= 0 && c != ',' && c != '\n'; csv->in->at++)
        SL_TRY(put(csv, (char)c, err));
    cell.len = csv->text.cnt - cell.begin;
    /* A carriage return belongs to the line end. */
    if (cell.len && csv->text.at[csv->text.cnt - 1] == '\r' && peek(csv->in) != ',') {
        csv->text.cnt--;
        cell.len--;
    }
    SL_TRY(put(csv, '\0', err));
    if (csv->cells.cnt >= SL_CSV_CELL_MAX)
        return sl_fail_at(err, SL_E_LIMIT, csv->position, "line %llu has more than %d cells",
                          (unsigned long long)csv->line, SL_CSV_CELL_MAX);
    return sl_vec_push(&csv->cells, cell) ? SL_OK : sl_fail_no_memory(err, "a cell");
}

static sl_status read_row(sl_csv_in *csv, sl_error *err) {
    csv->text.cnt = csv->cells.cnt = 0;
    csv->line = csv->next_line;
    csv->position = sl_bytes_position(csv->in);
    for (;;) {
        SL_TRY(read_cell(csv, err));
        int c = peek(csv->in);
        if (c >= 0)
            csv->in->at++;
        if (c != ',')
            break;
    }
    csv->next_line++;
    return SL_OK;
}

int sl_csv_next(sl_csv_in *csv, sl_error *err) {
    while (peek(csv->in) >= 0) {
        SL_TRY(read_row(csv, err));
        bool is_empty =
            csv->cells.cnt == 1 && csv->cells.at[0].len == 0 && !csv->cells.at[0].is_quoted;
        if (!is_empty)
            return 1;
    }
    return csv->in->failure.code < 0 ? sl_bytes_failure(csv->in, "a row", err) : 0;
}
