/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_keys.h"

#define LISTS                                                                        \
    (SL_ON_TAB(OVERVIEW) | SL_ON_TAB(SITES) | SL_ON_TAB(RANKS) | SL_ON_TAB(WHATIF) | \
     SL_ON_TAB(DIAGNOSTICS) | SL_ON_TAB(FILES) | SL_ON_TAB(LEDGER))
#define CHARTS  (SL_ON_TAB(LIVE) | SL_ON_TAB(TIMELINE))
#define DEVICES (CHARTS | SL_ON_TAB(SITES) | SL_ON_TAB(LEDGER) | SL_ON_TAB(WHATIF))

/* In the order of the footer: the keys needed most come first. */
const sl_key_row sl_key_rows[] = {
    {'?', 0, SL_DO_HELP, SL_TABS_ALL, "?", "help", "this window; any key closes it"},
    {'q', 3, SL_DO_QUIT, SL_TABS_ALL, "q", "quit", "quit"},
    {SL_KEY_TAB, 0, SL_DO_NEXT_TAB, SL_TABS_ALL, "Tab", "next", "the next tab"},
    {SL_KEY_BACK_TAB, 0, SL_DO_LAST_TAB, SL_TABS_ALL, "Shift-Tab", NULL, "the tab before"},
    {'1', 0, SL_DO_GO_TAB, SL_TABS_ALL, "1-9", NULL, "a tab by its number"},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(OVERVIEW), "Enter", "open", "open the selected run"},
    {SL_KEY_ENTER, ' ', SL_DO_OPEN, SL_ON_TAB(SITES), "Enter", "stack",
     "open or close the stack of a line"},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(FILES), "Enter", "do it", "do the selected action"},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(WHATIF), "Enter", "ask",
     "replay the allocator under other settings"},
    {'s', 0, SL_DO_SORT, SL_ON_TAB(SITES), "s", "sort", "sort by live, growth, peak or blocks"},
    {'/', 0, SL_DO_SEARCH, SL_ON_TAB(SITES), "/", "search", "show places with this text"},
    {'g', 0, SL_DO_GROUP, SL_ON_TAB(SITES), "g", "files", "put lines together by file"},
    {'t', 0, SL_DO_SPLIT, SL_ON_TAB(TIMELINE), "t", "split", "split by line or by tag"},
    {'t', 0, SL_DO_SPLIT, SL_ON_TAB(LEDGER), "t", "moment",
     "the end of the work, or when the card was fullest"},
    {'+', '=', SL_DO_ZOOM_IN, CHARTS, "+", "zoom in", "a shorter part of the run"},
    {'-', 0, SL_DO_ZOOM_OUT, CHARTS, "-", "out", "a longer part of the run"},
    {'0', 0, SL_DO_ZOOM_ALL, CHARTS, "0", "all", "the whole run"},
    {SL_KEY_LEFT, 'h', SL_DO_LEFT, SL_TABS_ALL, "Left", NULL,
     "the cursor of the timeline, beyond its border the part that is shown"},
    {SL_KEY_RIGHT, 'l', SL_DO_RIGHT, SL_TABS_ALL, "Right", NULL, "likewise to the right"},
    {'w', 0, SL_DO_WARN_UP, SL_ON_TAB(LIVE), "w", "threshold", "raise the threshold by 5 %"},
    {'W', 0, SL_DO_WARN_DOWN, SL_ON_TAB(LIVE), "W", NULL, "lower the threshold by 5 %"},
    {'d', 0, SL_DO_DEVICE, DEVICES, "d", "device", "the next device or process"},
    {'f', 0, SL_DO_FILTER, SL_ON_TAB(DIAGNOSTICS), "f", "filter",
     "only findings of these ranks: 0,2-5; empty = all"},
    {'o', 0, SL_DO_LOAD, SL_TABS_ALL, "o", "open", "open a path or a process number"},
    {'r', 0, SL_DO_REFRESH, SL_TABS_ALL, "r", "refresh", "read everything again"},
    {'x', 0, SL_DO_RUN, SL_TABS_ALL, "x", "run", "run a command under the recorder"},
    {'X', 0, SL_DO_STOP, SL_TABS_ALL, "X", NULL, "stop the command that was started here"},
    {'y', 0, SL_DO_COPY, SL_TABS_ALL, "y", NULL,
     "copy the selected path or place (by the terminal, OSC 52)"},
    {'S', 0, SL_DO_SAVE, SL_TABS_ALL, "S", NULL, "save the screen as text and SVG"},
    {SL_KEY_UP, 'k', SL_DO_UP, LISTS, "Up", NULL, "one row up"},
    {SL_KEY_DOWN, 'j', SL_DO_DOWN, LISTS, "Down", NULL, "one row down"},
    {SL_KEY_PAGE_UP, 21, SL_DO_PAGE_UP, LISTS, "PgUp", NULL, "ten rows up"},
    {SL_KEY_PAGE_DOWN, 4, SL_DO_PAGE_DOWN, LISTS, "PgDn", NULL, "ten rows down"},
    {SL_KEY_HOME, 0, SL_DO_TOP, LISTS, "Home", NULL, "the first row"},
    {SL_KEY_END, 'G', SL_DO_BOTTOM, LISTS, "End", NULL, "the last row"},
    {SL_KEY_ESCAPE, 0, SL_DO_BACK, SL_TABS_ALL, "Esc", NULL, "give up a question, forget a search"},
};
const size_t sl_key_row_cnt = SL_COUNT_OF(sl_key_rows);

const char *sl_tab_name(sl_tab tab) {
    static const char *const names[] = {
#define TAB_NAME(name, text) text,
        SL_TAB_MAP(TAB_NAME)
#undef TAB_NAME
    };
    return names[tab];
}

sl_action sl_key_action(uint32_t key, sl_tab tab) {
    if (key >= '1' && key <= '9')
        return SL_DO_GO_TAB;
    for (size_t i = 0; i < sl_key_row_cnt; i++) {
        const sl_key_row *row = &sl_key_rows[i];
        if ((row->tabs >> tab & 1u) && key && (row->key == key || row->other == key))
            return row->action;
    }
    return SL_DO_NOTHING;
}
