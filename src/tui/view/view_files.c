/* SPDX-License-Identifier: MIT */
/* Files & Actions: what can be exported from the open input, and what the last command printed. The
 * commands are those of the command line, so the files are the same. */
#include <stdio.h>

#include "tui/view/view.h"

/* PATHS is everything that is open, PATH the input of the selected device, OUT the file to write. */
const sl_file_action sl_file_actions[] = {
    {"Report as a page", "report PATHS -o OUT", "html", "the HTML page, to open in a browser"},
    {"Report as JSON", "analyze PATHS --format json -o OUT", "json", "for programs"},
    {"Report as Markdown", "analyze PATHS --format md -o OUT", "md", "for a ticket"},
    {"Samples as CSV", "export PATH --to telemetry-csv -o OUT", "csv", "telemetry records"},
    {"Samples as JSON", "export PATH --to telemetry-json -o OUT", "telemetry.json",
     "telemetry records"},
    {"PyTorch snapshot", "export PATH --to snapshot -o OUT", "pickle",
     "for pytorch.org/memory_viz"},
    {"Picture as PNG", "plot PATHS -o OUT", "png", "the timeline"},
    {"Picture as SVG", "plot PATHS -o OUT", "svg", "the timeline"},
    {"Diagnose this machine", "diagnose -o OUT", "diagnose", "a folder to attach to a ticket"},
    {"Check the recording", "fsck PATH", "", "reads every record"},
};
const size_t sl_file_action_cnt = SL_COUNT_OF(sl_file_actions);

static const sl_table_column columns[] = {
    {.title = "action", .rank = 0},
    {.title = "command", .is_wide = true, .rank = 2},
    {.title = "what it is", .rank = 3, .is_extra = true},
};

static void action_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                        sl_ink *ink) {
    SL_UNUSED(ctx);
    const sl_file_action *action = &sl_file_actions[row];
    *ink = column == 0 ? SL_INK_TEXT : SL_INK_DIM;
    if (column == 1)
        snprintf(text, SL_TABLE_TEXT_CAP, "stormlog %s", action->command);
    else
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", column ? action->help : action->label);
}

size_t sl_files_rows(const sl_screen *screen) {
    SL_UNUSED(screen);
    return sl_file_action_cnt;
}

static void put_files(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = sl_screen_source(screen);
    for (size_t i = 0; source && i < source->processes.cnt && area.h > 0; i++)
        sl_put_path(grid, sl_rect_take_top(&area, 1), SL_INK_PLACE, source->processes.at[i].path);
}

static void put_output(sl_grid *grid, sl_rect area, const sl_output *output) {
    size_t kept = output->cnt < SL_OUTPUT_ROWS ? output->cnt : SL_OUTPUT_ROWS;
    size_t shown = kept < (size_t)area.h ? kept : (size_t)area.h;
    for (size_t i = output->cnt - shown; i < output->cnt; i++)
        sl_put_text(grid, sl_rect_take_top(&area, 1), SL_INK_TEXT,
                    output->rows[i % SL_OUTPUT_ROWS]);
}

void sl_view_files(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = sl_file_action_cnt,
                      .cell = action_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = ""};
    int rows = (int)sl_file_action_cnt + 1;
    sl_rect upper = sl_rect_take_top(&area, area.h > rows + 4 ? rows : area.h);
    sl_put_table(grid, upper, &table, &screen->ui->lists[SL_TAB_FILES]);
    if (area.h < 3)
        return;
    if (screen->output && screen->output->cnt && area.h > 6) {
        sl_rect lower = sl_rect_take_bottom(&area, area.h - 3);
        put_output(grid, sl_put_box(grid, lower, " output "), screen->output);
    }
    sl_rect_take_top(&area, area.h > 2);
    put_files(grid, area, screen);
}
