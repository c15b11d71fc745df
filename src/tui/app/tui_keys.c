/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_keys.h"

#define LISTS                                                                        \
    (SL_ON_TAB(OVERVIEW) | SL_ON_TAB(SITES) | SL_ON_TAB(RANKS) | SL_ON_TAB(WHATIF) | \
     SL_ON_TAB(DIAGNOSTICS) | SL_ON_TAB(FILES) | SL_ON_TAB(LEDGER))
#define CHARTS  (SL_ON_TAB(LIVE) | SL_ON_TAB(TIMELINE))
#define DEVICES (CHARTS | SL_ON_TAB(SITES) | SL_ON_TAB(LEDGER) | SL_ON_TAB(WHATIF))

/* In the order of the footer: the keys needed most come first. On the Overview the first labels are those of the
 * Textual program of the same name, in the order in which its own test waits for them. */
const sl_key_row sl_key_rows[] = {
    {'?', 0, SL_DO_HELP, SL_TABS_ALL, "?", "Help", "this window; any key closes it",
     SL_NEED_ALWAYS},
    {'r', 0, SL_DO_REFRESH, SL_ON_TAB(OVERVIEW), "r", "Refresh Overview", "read everything again",
     SL_NEED_USUAL},
    {'f', 0, SL_DO_LOG, SL_ON_TAB(OVERVIEW), "f", "Focus Log", "what commands have printed",
     SL_NEED_USUAL},
    {'8', 0, SL_DO_GO_TAB, SL_ON_TAB(OVERVIEW), "8", "Diagnostics",
     "findings of what is open, with their evidence", SL_NEED_WIDE},
    {'q', 3, SL_DO_QUIT, SL_TABS_ALL, "q", "Quit", "quit", SL_NEED_ALWAYS},
    {SL_KEY_TAB, 0, SL_DO_NEXT_TAB, SL_TABS_ALL, "Tab", "Next", "the next tab", SL_NEED_USUAL},
    {SL_KEY_BACK_TAB, 0, SL_DO_LAST_TAB, SL_TABS_ALL, "Shift-Tab", NULL, "the tab before",
     SL_NEED_USUAL},
    {'1', 0, SL_DO_GO_TAB, SL_TABS_ALL, "1-9", NULL, "a tab by its number", SL_NEED_USUAL},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(OVERVIEW), "Enter", "Open", "open the selected run",
     SL_NEED_USUAL},
    {'v', 0, SL_DO_SWITCH, SL_ON_TAB(OVERVIEW), "v", "Processes",
     "list processes of the cards, or runs of this folder", SL_NEED_USUAL},
    {'s', 0, SL_DO_SORT, SL_ON_TAB(OVERVIEW), "s", NULL, "sort the processes by memory or growth",
     SL_NEED_USUAL},
    {SL_KEY_ENTER, ' ', SL_DO_OPEN, SL_ON_TAB(SITES), "Enter", "Stack",
     "open or close the stack of a line", SL_NEED_USUAL},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(FILES), "Enter", "Do it", "do the selected action",
     SL_NEED_USUAL},
    {SL_KEY_ENTER, 0, SL_DO_OPEN, SL_ON_TAB(WHATIF), "Enter", "Ask",
     "replay the allocator under other settings", SL_NEED_USUAL},
    {'e', 0, SL_DO_SETTINGS, SL_ON_TAB(WHATIF), "e", "Settings",
     "settings to try instead of the usual ones", SL_NEED_USUAL},
    {'c', 0, SL_DO_CARD, SL_ON_TAB(WHATIF), "c", "Card", "the size of the card", SL_NEED_USUAL},
    {'s', 0, SL_DO_SORT, SL_ON_TAB(SITES), "s", "Sort", "sort by live, growth, peak or blocks",
     SL_NEED_USUAL},
    {'/', 0, SL_DO_SEARCH, SL_ON_TAB(SITES), "/", "Search", "show places with this text",
     SL_NEED_USUAL},
    {'g', 0, SL_DO_GROUP, SL_ON_TAB(SITES), "g", "Group",
     "put lines together by file, by module, not at all", SL_NEED_USUAL},
    {'F', 0, SL_DO_FOLLOW, SL_ON_TAB(SITES), "F", "Follow",
     "draw the memory of the selected line over time", SL_NEED_USUAL},
    {'t', 0, SL_DO_SPLIT, SL_ON_TAB(TIMELINE), "t", "Split", "split by line or by tag",
     SL_NEED_USUAL},
    {'t', 0, SL_DO_SPLIT, SL_ON_TAB(LEDGER), "t", "Moment",
     "the end of the work, or when the card was fullest", SL_NEED_USUAL},
    {'+', '=', SL_DO_ZOOM_IN, CHARTS, "+", "Zoom in", "a shorter part of the run", SL_NEED_USUAL},
    {'-', 0, SL_DO_ZOOM_OUT, CHARTS, "-", "Out", "a longer part of the run", SL_NEED_USUAL},
    {'0', 0, SL_DO_ZOOM_ALL, CHARTS, "0", "All", "the whole run", SL_NEED_USUAL},
    {'z', 0, SL_DO_SILENCES, SL_ON_TAB(TIMELINE), "z", "Silences",
     "shorten long times without an event, or do not", SL_NEED_USUAL},
    {'p', 0, SL_DO_FIND_PEAK, SL_ON_TAB(TIMELINE), "p", "Peak", "the cursor to the highest column",
     SL_NEED_USUAL},
    {'<', SL_KEY_PAGE_UP, SL_DO_PAN_LEFT, SL_ON_TAB(TIMELINE), "<", NULL,
     "an earlier part of the same length (PgUp)", SL_NEED_USUAL},
    {'>', SL_KEY_PAGE_DOWN, SL_DO_PAN_RIGHT, SL_ON_TAB(TIMELINE), ">", NULL,
     "a later part of the same length (PgDn)", SL_NEED_USUAL},
    {SL_KEY_LEFT, 'h', SL_DO_LEFT, SL_ON_TAB(TIMELINE), "Left", NULL,
     "the cursor; at the border the shown part moves", SL_NEED_USUAL},
    {SL_KEY_RIGHT, 'l', SL_DO_RIGHT, SL_ON_TAB(TIMELINE), "Right", NULL, "likewise to the right",
     SL_NEED_USUAL},
    {'w', 0, SL_DO_WARN_UP, SL_ON_TAB(LIVE), "w", "Threshold", "raise the threshold by 5 %",
     SL_NEED_USUAL},
    {'W', 0, SL_DO_WARN_DOWN, SL_ON_TAB(LIVE), "W", NULL, "lower the threshold by 5 %",
     SL_NEED_USUAL},
    {'d', 0, SL_DO_DEVICE, DEVICES, "d", "Device", "the next device or process", SL_NEED_USUAL},
    {'c', 0, SL_DO_COMPARE, SL_ON_TAB(DIAGNOSTICS), "c", "Compare", "compare with an earlier input",
     SL_NEED_USUAL},
    {'v', 0, SL_DO_SWITCH, SL_ON_TAB(DIAGNOSTICS), "v", NULL, "the findings, or the comparison",
     SL_NEED_USUAL},
    {'f', 0, SL_DO_FILTER, SL_ON_TAB(DIAGNOSTICS), "f", "Ranks",
     "only these ranks: 0,2-5; empty = all", SL_NEED_USUAL},
    {'t', 0, SL_DO_TIME, SL_ON_TAB(DIAGNOSTICS), "t", "Time",
     "judge only a part of the run: 10s-2m; empty = all", SL_NEED_USUAL},
    {'o', 0, SL_DO_LOAD, SL_TABS_ALL, "o", "Load",
     "open files, folders, bundles or a process number", SL_NEED_USUAL},
    {'r', 0, SL_DO_REFRESH, SL_TABS_ALL & ~SL_ON_TAB(OVERVIEW), "r", "Refresh",
     "read everything again", SL_NEED_USUAL},
    {'x', 0, SL_DO_RUN, SL_TABS_ALL, "x", "Run", "run a command under the recorder", SL_NEED_USUAL},
    {'X', 0, SL_DO_STOP, SL_TABS_ALL, "X", NULL, "stop the command that was started here",
     SL_NEED_USUAL},
    {'g', 0, SL_DO_INFO, SL_ON_TAB(OVERVIEW), "g", "gpumemprof info", "run gpumemprof info",
     SL_NEED_WIDE},
    {'t', 0, SL_DO_TF_INFO, SL_ON_TAB(OVERVIEW), "t", "tfmemprof info", "run tfmemprof info",
     SL_NEED_WIDE},
    {'y', 0, SL_DO_COPY, SL_TABS_ALL, "y", NULL, "copy the selected path or place (OSC 52)",
     SL_NEED_USUAL},
    {'S', 0, SL_DO_SAVE, SL_TABS_ALL, "S", NULL, "save the screen as text and SVG", SL_NEED_USUAL},
    {SL_KEY_UP, 'k', SL_DO_UP, LISTS, "Up", NULL, "one row up", SL_NEED_USUAL},
    {SL_KEY_DOWN, 'j', SL_DO_DOWN, LISTS, "Down", NULL, "one row down", SL_NEED_USUAL},
    {SL_KEY_PAGE_UP, 21, SL_DO_PAGE_UP, LISTS, "PgUp", NULL, "ten rows up", SL_NEED_USUAL},
    {SL_KEY_PAGE_DOWN, 4, SL_DO_PAGE_DOWN, LISTS, "PgDn", NULL, "ten rows down", SL_NEED_USUAL},
    {SL_KEY_HOME, 0, SL_DO_TOP, LISTS, "Home", NULL, "the first row", SL_NEED_USUAL},
    {SL_KEY_END, 'G', SL_DO_BOTTOM, LISTS, "End", NULL, "the last row", SL_NEED_USUAL},
    {SL_KEY_ESCAPE, 0, SL_DO_BACK, SL_TABS_ALL, "Esc", NULL,
     "give up a question or reading, forget a search", SL_NEED_USUAL},
};
const size_t sl_key_row_cnt = SL_COUNT_OF(sl_key_rows);
_Static_assert(SL_COUNT_OF(sl_key_rows) <= SL_KEY_ROWS_MAX, "the footer has a bit for each");

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
