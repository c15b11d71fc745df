/* SPDX-License-Identifier: MIT */
/* Keys and what they do: one table, from which the footer, the help window and the dispatch come. */
#ifndef SL_TUI_KEYS_H
#define SL_TUI_KEYS_H

#include "base/core/sl_base.h"

/* Characters are themselves; the others follow the last code point. */
typedef enum sl_key {
    SL_KEY_NONE = 0,
    SL_KEY_ENTER = '\r',
    SL_KEY_ESCAPE = 27,
    SL_KEY_BACKSPACE = 127,
    SL_KEY_UP = 0x110000,
    SL_KEY_DOWN,
    SL_KEY_LEFT,
    SL_KEY_RIGHT,
    SL_KEY_PAGE_UP,
    SL_KEY_PAGE_DOWN,
    SL_KEY_HOME,
    SL_KEY_END,
    SL_KEY_TAB,
    SL_KEY_BACK_TAB,
    SL_KEY_CLICK,
    SL_KEY_WHEEL_UP,
    SL_KEY_WHEEL_DOWN,
} sl_key;

/* enumerator, name. Digits open them in this order. */
#define SL_TAB_MAP(X)             \
    X(OVERVIEW, "Overview")       \
    X(LIVE, "Live")               \
    X(SITES, "Sites")             \
    X(TIMELINE, "Timeline")       \
    X(LEDGER, "Ledger")           \
    X(RANKS, "Ranks")             \
    X(WHATIF, "What-if")          \
    X(DIAGNOSTICS, "Diagnostics") \
    X(FILES, "Files")

typedef enum sl_tab {
#define SL_TAB_ENUM(name, text) SL_TAB_##name,
    SL_TAB_MAP(SL_TAB_ENUM)
#undef SL_TAB_ENUM
        SL_TAB_CNT
} sl_tab;

const char *sl_tab_name(sl_tab tab);

typedef enum sl_action {
    SL_DO_NOTHING,
    SL_DO_QUIT,
    SL_DO_HELP,
    SL_DO_NEXT_TAB,
    SL_DO_LAST_TAB,
    SL_DO_GO_TAB, /* the digit says which */
    SL_DO_UP,
    SL_DO_DOWN,
    SL_DO_PAGE_UP,
    SL_DO_PAGE_DOWN,
    SL_DO_TOP,
    SL_DO_BOTTOM,
    SL_DO_OPEN,
    SL_DO_BACK,
    SL_DO_LEFT,
    SL_DO_RIGHT,
    SL_DO_DEVICE,
    SL_DO_REFRESH,
    SL_DO_SORT,
    SL_DO_SEARCH,
    SL_DO_GROUP,
    SL_DO_ZOOM_IN,
    SL_DO_ZOOM_OUT,
    SL_DO_ZOOM_ALL,
    SL_DO_SPLIT,
    SL_DO_WARN_UP,
    SL_DO_WARN_DOWN,
    SL_DO_FILTER,
    SL_DO_COPY,
    SL_DO_SAVE,
    SL_DO_LOAD,
    SL_DO_RUN,
    SL_DO_STOP,
    SL_DO_TIME,
    SL_DO_COMPARE,
    SL_DO_SWITCH,
    SL_DO_SETTINGS,
    SL_DO_CARD,
    SL_DO_FOLLOW,
    SL_DO_SILENCES,
    SL_DO_PAN_LEFT,
    SL_DO_PAN_RIGHT,
    SL_DO_FIND_PEAK,
    SL_DO_LOG,
    SL_DO_INFO,
    SL_DO_TF_INFO,
} sl_action;

/* Who gets into a footer that has no room for all of them. */
typedef enum sl_key_need {
    SL_NEED_ALWAYS, /* however narrow */
    SL_NEED_USUAL,
    SL_NEED_WIDE, /* after all others */
    SL_NEED_CNT
} sl_key_need;

typedef struct sl_key_row {
    uint32_t key, other; /* sl_key; other 0 = none */
    sl_action action;
    uint32_t tabs;     /* bits 1 << sl_tab; SL_TABS_ALL */
    const char *shown; /* in the footer and the help: "s", "PgUp" */
    const char *label; /* in the footer; NULL = only in the help */
    const char *help;
    sl_key_need need;
} sl_key_row;

#define SL_TABS_ALL     ((1u << SL_TAB_CNT) - 1)
#define SL_ON_TAB(name) (1u << SL_TAB_##name)

#define SL_KEY_ROWS_MAX 64
extern const sl_key_row sl_key_rows[];
extern const size_t sl_key_row_cnt;

/* What a key does in a tab. */
sl_action sl_key_action(uint32_t key, sl_tab tab);

#endif
