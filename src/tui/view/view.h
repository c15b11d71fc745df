/* SPDX-License-Identifier: MIT */
/* The views: pure functions from the facts and from where the user is, to cells. One file and one row of
 * the table in view_table.c each. They must work in any area, even one without rows. */
#ifndef SL_VIEW_H
#define SL_VIEW_H

#include "tui/app/tui_keys.h"
#include "tui/facts/tui_model.h"
#include "tui/grid/cell_text.h"
#include "tui/widget/grid_table.h"

#define SL_PROMPT_CAP  512
#define SL_STATUS_CAP  512
#define SL_ACTIONS_MAX 16
#define SL_OUTPUT_ROWS 200

typedef enum sl_prompt {
    SL_PROMPT_NONE,
    SL_PROMPT_SEARCH,
    SL_PROMPT_OPEN,
    SL_PROMPT_RUN,
    SL_PROMPT_FILTER,
    SL_PROMPT_TIME,
    SL_PROMPT_COMPARE,
    SL_PROMPT_SETTINGS,
    SL_PROMPT_CARD,
} sl_prompt;

/* What the lines of the tab Sites are put together by. */
typedef enum sl_sites_group {
    SL_SITES_PLAIN,
    SL_SITES_BY_FILE,
    SL_SITES_BY_MODULE,
    SL_SITES_GROUP_CNT
} sl_sites_group;

/* Lines of a file; none = not readable here. */
#define SL_EXCERPT_ROWS 7
typedef struct sl_source_excerpt {
    char path[512];         /* of the file */
    uint32_t first, marked; /* numbers of the first line, and of the place */
    size_t cnt;
    char rows[SL_EXCERPT_ROWS][240];
} sl_source_excerpt;

/* Where the user is, and the last question asked. */
typedef struct sl_ui {
    sl_tab tab;
    sl_list_state lists[SL_TAB_CNT];
    size_t device; /* of the source that is shown */
    sl_tree_order order;
    sl_sites_group group;
    char search[SL_PROMPT_CAP], rank_filter[SL_PROMPT_CAP], time_filter[64];
    char compared_with[SL_PROMPT_CAP]; /* as typed */
    bool shows_comparison;             /* Diagnostics shows it instead of the findings */
    bool shows_processes;              /* Overview lists processes instead of runs */
    bool sorts_by_growth;              /* of those processes; else by bytes */
    char followed[SL_PROMPT_CAP];      /* text of the line that is followed; "" = none */
    bool keeps_silences;               /* the timeline shows them in full length */
    sl_tree_rows rows; /* owned; the lines that are shown, made by sl_screen_prepare */
    unsigned warn_pct;
    int64_t window_us; /* of the tab Live; 0 = the whole run */
    sl_tui_split split;
    int cursor; /* column of the timeline */
    bool shows_fullest;
    bool has_help;
    sl_prompt prompt;
    char prompt_text[SL_PROMPT_CAP];
    char status[SL_STATUS_CAP];
    bool is_error;            /* the status is one */
    char progress[120];       /* "" = nothing is being read */
    sl_source_excerpt source; /* around the selected place */
    char task[SL_PROMPT_CAP]; /* the command that was started here; "" = none */
} sl_ui;

/* Lines that a command printed, newest last. */
typedef struct sl_output {
    char rows[SL_OUTPUT_ROWS][200];
    size_t cnt; /* ever; the newest SL_OUTPUT_ROWS are kept */
} sl_output;

/* Something that can be exported from a source: a row of the tab Files & Actions. */
typedef struct sl_file_action {
    const char *label, *command, *extension, *help;
} sl_file_action;

extern const sl_file_action sl_file_actions[];
extern const size_t sl_file_action_cnt;

/* Everything a view may look at. NULL = there is none. */
typedef struct sl_screen {
    const sl_tui_machine *machine;
    const sl_tui_jobs *jobs;
    sl_tui_source *live;  /* of a recording that is written now */
    sl_tui_source *whole; /* of what was read whole */
    const sl_tui_timeline *timeline;
    const sl_tui_whatif *whatif;
    const sl_tui_source *judged; /* findings of a part of the run; NULL = of the whole */
    const sl_tui_comparison *compared;
    const sl_tui_users *users; /* of the cards */
    const sl_tui_follow *follow;
    const sl_output *output;
    sl_ui *ui;
} sl_screen;

typedef struct sl_view {
    void (*draw)(sl_grid *grid, sl_rect area, const sl_screen *screen);
    size_t (*row_cnt)(const sl_screen *screen); /* of its list; NULL = it has none */
} sl_view;

extern const sl_view sl_views[SL_TAB_CNT];

/* The newest source: the live one while a recording is being written. NULL = nothing is open. */
sl_tui_source *sl_screen_source(const sl_screen *screen);
/* The selected device; NULL = there is none. */
sl_tui_device *sl_screen_device(const sl_screen *screen);

/* The places of a device as they are shown: its lines, or its modules. */
sl_tree *sl_screen_tree(const sl_screen *screen, sl_tui_device *device);

/* Keeps the selection within the existing rows, and makes the rows of the tree. False when memory
 * ran out. */
bool sl_screen_prepare(const sl_screen *screen);

/* The whole screen: tabs, view, status, keys, and what lies on top. */
void sl_screen_draw(sl_grid *grid, const sl_screen *screen);

/* The whole screen of `stormlog top`, after sl_screen_prepare. */
void sl_view_top(sl_grid *grid, const sl_screen *screen);

/* Which tab a click in row 0 at column x means; SL_TAB_CNT = none. */
sl_tab sl_screen_tab_at(const sl_grid *grid, const sl_screen *screen, int x);

/* ---- shared by the views ---- */

/* "1.25 GiB", "unknown". Returns buf. */
const char *sl_view_bytes(char buf[SL_TABLE_TEXT_CAP], sl_maybe_u64 bytes);
/* Text of a view without anything to show: nothing is open, or the input is still being read. */
void sl_view_nothing(sl_grid *grid, sl_rect area, const sl_screen *screen, const char *what);
/* The first row of a view of a device: which one, of how many. */
void sl_view_device_row(sl_grid *grid, sl_rect area, const sl_screen *screen);
/* A ledger as one bar. */
void sl_view_ledger_bar(sl_grid *grid, sl_rect area, const sl_ledger_state *ledger);
sl_ink sl_view_verdict_ink(int verdict_rank);
/* A question of the status line. */
const char *sl_view_question(sl_prompt prompt);

void sl_view_overview(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_live(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_sites(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_timeline(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_ledger(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_ranks(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_whatif(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_diagnostics(sl_grid *grid, sl_rect area, const sl_screen *screen);
void sl_view_files(sl_grid *grid, sl_rect area, const sl_screen *screen);

/* Internal to the Overview: the processes, and the chart of the selected one. */
void sl__view_users(sl_grid *grid, sl_rect area, const sl_screen *screen);
/* Internal to Diagnostics: two inputs compared. */
void sl__view_comparison(sl_grid *grid, sl_rect area, const sl_screen *screen);

size_t sl_overview_rows(const sl_screen *screen);
size_t sl_sites_rows(const sl_screen *screen);
size_t sl_ledger_view_rows(const sl_screen *screen);
size_t sl_ranks_rows(const sl_screen *screen);
size_t sl_whatif_view_rows(const sl_screen *screen);
size_t sl_diagnostics_rows(const sl_screen *screen);
size_t sl_files_rows(const sl_screen *screen);

/* The i-th finding that passes the filter of ranks; NULL after the last. */
const sl_tui_finding *sl_view_finding(const sl_screen *screen, size_t i);

/* Whether a rank is in "0,2-5"; "" and "all" contain every rank. */
bool sl_rank_filter_has(const char *filter, sl_maybe_u64 rank);
/* What is wrong with such a text; NULL = nothing. */
const char *sl_rank_filter_error(const char *filter);

#endif
