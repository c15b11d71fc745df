/* SPDX-License-Identifier: MIT */
/* The one table of the recorder's settings. A row gives the member of sl_record_settings, the variable
 * that `stormlog run` sets and the recorder reads, the options of `stormlog run`, and the limits that
 * all of them, sl_record_start() and Python's record() check. Pure, libc only: the recorder, the command
 * line and the Python module are built with it. */
#ifndef SL_RECORD_SETTING_H
#define SL_RECORD_SETTING_H

#include "base/core/status.h"
#include "base/files/file_rights.h"
#include "record/core/alert_rules.h"
#include "stormlog/record.h"

#define SL_RECORD_PATH_CAP 3072

/* How a setting is written in the environment. */
typedef enum sl_setting_type {
    SL_SETTING_SWITCH,  /* "0" is off, any other text is on */
    SL_SETTING_CHOICE,  /* one of the row's words; the value is its index */
    SL_SETTING_SIZE,    /* bytes, such as 256MiB */
    SL_SETTING_MS,      /* milliseconds, a bare number */
    SL_SETTING_PERCENT, /* "90%" or "90"; "off" is 0 */
    SL_SETTING_PATH,    /* a folder */
} sl_setting_type;

typedef struct sl_setting {
    const char *name; /* of the member of sl_record_settings; the same in sl_record_options */
    const char *env;
    const char *meaning; /* of the variable */
    sl_setting_type type;
    uint64_t initial, least, most; /* of a number; most of a PATH: its length */
    const char *words;             /* of a CHOICE: "python|none|native"; the first is 0 */
    const char *python;            /* the argument of stormlog.record() that sets it; NULL = none */
    size_t offset, bytes;          /* of the member of sl_record_settings */
    size_t api_offset, api_bytes;  /* of the member of sl_record_options; 0 bytes = there is none */
    unsigned option_cnt;           /* options of `stormlog run` */
    bool is_inherited; /* without its option `stormlog run` leaves the variable as it is */
} sl_setting;

#define SL_NO_OPTIONS

#define SL_SETTING_INTERVAL_MS 100

/* enumerator, member, type, variable; default, least, most (of a PATH: its length), words; whether
 * sl_record_options has a member of this name; the argument of stormlog.record(), NULL = none; what
 * `stormlog run` does with the variable without an option; what it means; the options of `stormlog run`.
 *
 * Options are rows of sl_opt, in the order of the help text. A flag writes 1 into the variable, a flag
 * named no-… writes 0, a DURATION milliseconds, any other option its text. */
#define SL_SETTING_MAP(X, OPT)                                                                     \
    X(DISABLE, is_disabled, SWITCH, "STORMLOG_DISABLE", 0, 0, 1, NULL, NO_API, NULL, RESET,        \
      "1: the recorder does nothing at all", SL_NO_OPTIONS)                                        \
    X(DIR, dir, PATH, "STORMLOG_DIR", 0, 0, SL_RECORD_PATH_CAP - 1, NULL, API, "dir", RESET,       \
      "folder for the recordings; if not set, nothing is recorded",                                \
      OPT(.name = "output", .short_name = 'o', .type = SL_OPT_FILE, .metavar = "DIR",              \
          .help = "folder for the recordings (default: " SL_RUNS_FOLDER "/<time>-<name>, or in "   \
                  "the folder that " SL_RUNS_ENV " names)"))                                       \
    X(RING, ring_bytes, SIZE, "STORMLOG_RING", 0, 0, SL_LOG_RING_MAX, NULL, API, "max_entries",    \
      RESET, "space for raw events per process, such as 256MiB",                                   \
      OPT(.name = "ring", .type = SL_OPT_SIZE,                                                     \
          .help = "space for raw events per process; the oldest are overwritten, but totals per "  \
                  "line of code and curves always cover the whole run"))                           \
    X(CPU, cpu, CHOICE, "STORMLOG_CPU", SL_RECORD_CPU_AUTO, 0, 2, "auto|1|0", API, "cpu", RESET,   \
      "1 or 0: record PyTorch's CPU allocator or not; auto: if there is no GPU",                   \
      OPT(.name = "cpu", .type = SL_OPT_FLAG,                                                      \
          .help = "record PyTorch's CPU allocator too (default if there is no GPU)")               \
          OPT(.name = "no-cpu", .type = SL_OPT_FLAG,                                               \
              .help = "never record PyTorch's CPU allocator"))                                     \
    X(DRIVER, has_driver, SWITCH, "STORMLOG_DRIVER", 1, 0, 1, NULL, NO_API, NULL, RESET,           \
      "0: leave the CUDA driver's memory functions alone",                                         \
      OPT(.name = "no-driver", .type = SL_OPT_FLAG,                                                \
          .help =                                                                                  \
              "record only what PyTorch's allocators report, not the CUDA driver's functions"))    \
    X(STACKS, stacks, CHOICE, "STORMLOG_STACKS", SL_RECORD_STACKS_PYTHON, 0, 2,                    \
      "python|none|native", API, "stacks", RESET, "python, native (C and C++ frames too) or none", \
      OPT(.name = "stacks", .type = SL_OPT_CHOICE, .choices = "python|native|none",                \
          .initial = "python",                                                                     \
          .help = "stack frames to record per allocation: Python frames, Python and native (C, "   \
                  "C++) frames, or none"))                                                         \
    X(TAGS, has_tags, SWITCH, "STORMLOG_TAGS", 1, 0, 1, NULL, NO_API, NULL, RESET,                 \
      "0: do not read the program's optimizers",                                                   \
      OPT(.name = "no-tags", .type = SL_OPT_FLAG,                                                  \
          .help = "do not read the program's optimizers; what a block is for is then derived "     \
                  "from phases and stacks alone"))                                                 \
    X(MODULES, has_modules, SWITCH, "STORMLOG_MODULES", 0, 0, 1, NULL, API, "modules", RESET,      \
      "1: put the path of the running module into stacks",                                         \
      OPT(.name = "modules", .type = SL_OPT_FLAG,                                                  \
          .help = "put the path of the running module (encoder.layers.3.attn) into the stacks of " \
                  "PyTorch programs"))                                                             \
    X(REPLAY, has_replay, SWITCH, "STORMLOG_REPLAY", 0, 0, 1, NULL, API, "replay", RESET,          \
      "1: take over PyTorch's own trace of its allocator",                                         \
      OPT(.name = "replay", .type = SL_OPT_FLAG,                                                   \
          .help = "also record the size, stream and pool that each CUDA block was asked for, and " \
                  "every segment, so that `stormlog whatif` is exact; an event then costs 1.5 "    \
                  "times as much"))                                                                \
    X(INTERVAL, interval_ms, MS, "STORMLOG_INTERVAL_MS", SL_SETTING_INTERVAL_MS, 10, 60000, NULL,  \
      API, "interval_ms", RESET, "milliseconds between two readings of the counters",              \
      OPT(.name = "interval", .type = SL_OPT_DURATION,                                             \
          .initial = SL_TEXT_OF(SL_SETTING_INTERVAL_MS) "ms",                                      \
          .help = "time between two readings of the counters of host and device"))                 \
    X(ALERT_DEVICE, alert_device_pct, PERCENT, "STORMLOG_ALERT_DEVICE", SL_ALERT_DEFAULT_PCT, 1,   \
      100, NULL, NO_API, NULL, RESET, "percent of a card, such as 90%, or off",                    \
      OPT(.name = "alert-device", .type = SL_OPT_STRING, .setter = SL_SET_BY_PROJECT,              \
          .metavar = "PERCENT", .initial = SL_TEXT_OF(SL_ALERT_DEFAULT_PCT) "%",                   \
          .help = "raise an alert when a card is this full; off for never"))                       \
    X(ALERT_HOST, alert_host_pct, PERCENT, "STORMLOG_ALERT_HOST", SL_ALERT_DEFAULT_PCT, 1, 100,    \
      NULL, NO_API, NULL, RESET, "percent of the host's memory, or off",                           \
      OPT(.name = "alert-host", .type = SL_OPT_STRING, .setter = SL_SET_BY_PROJECT,                \
          .metavar = "PERCENT", .initial = SL_TEXT_OF(SL_ALERT_DEFAULT_PCT) "%",                   \
          .help = "raise an alert when the host's memory is this full; off for never"))            \
    X(SHARE, is_shared, SWITCH, SL_SHARE_ENV, 0, 0, 1, NULL, NO_API, NULL, KEEP,                   \
      "1: other users may read the recordings (0644, not 0600)",                                   \
      OPT(.name = "share", .type = SL_OPT_FLAG, .setter = SL_SET_BY_USER,                          \
          .help = "let other users read the recordings and bundles (modes 0644 and 0755 instead "  \
                  "of 0600 and 0700; same as " SL_SHARE_ENV "=1 in the environment)"))             \
    X(QUIET, is_quiet, SWITCH, "STORMLOG_QUIET", 0, 0, 1, NULL, NO_API, NULL, RESET,               \
      "1: print nothing on standard error",                                                        \
      OPT(.name = "quiet", .short_name = 'q', .type = SL_OPT_FLAG,                                 \
          .help = "print no closing lines, and no messages from inside the command"))

/* For expansions that leave the options out. */
#define SL_NO_OPTION(...)

typedef enum sl_setting_id {
#define SL_SETTING_ENUM(id, member, type, ...) SL_SETTING_ID_##id,
    SL_SETTING_MAP(SL_SETTING_ENUM, SL_NO_OPTION)
#undef SL_SETTING_ENUM
        SL_SETTING_CNT
} sl_setting_id;

#define SL_MEMBER_SWITCH(member)  bool member;
#define SL_MEMBER_CHOICE(member)  uint32_t member;
#define SL_MEMBER_SIZE(member)    uint64_t member;
#define SL_MEMBER_MS(member)      uint64_t member;
#define SL_MEMBER_PERCENT(member) unsigned member;
#define SL_MEMBER_PATH(member)    char member[SL_RECORD_PATH_CAP];

/* What the recorder was asked to do: a member for each row, and what only the recorder itself knows. */
typedef struct sl_record_settings {
#define SL_SETTING_MEMBER(id, member, type, ...) SL_MEMBER_##type(member)
    SL_SETTING_MAP(SL_SETTING_MEMBER, SL_NO_OPTION)
#undef SL_SETTING_MEMBER
    bool is_patching; /* hooks go into the GOT; else they are preloaded */
} sl_record_settings;

extern const sl_setting sl_settings[SL_SETTING_CNT];

/* Whether the number is a value of this setting. */
bool sl_setting_allows(const sl_setting *setting, uint64_t number);

/* The value of a text as it is in the environment; false when it is not valid. Not for a PATH. */
bool sl_setting_parse(const sl_setting *setting, const char *text, uint64_t *number);

#define SL_SETTING_EXPECTED_CAP 64

/* What sl_setting_parse takes, in words: "1% to 100%, or off". Returns buf. */
char *sl_setting_expected(const sl_setting *setting, char buf[SL_SETTING_EXPECTED_CAP]);

#endif
