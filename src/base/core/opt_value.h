/* SPDX-License-Identifier: MIT */
/* One option of a command line as a table row, and the reading of its value. No state. */
#ifndef SL_OPT_VALUE_H
#define SL_OPT_VALUE_H

#include "base/core/status.h"

/* enumerator, placeholder of the value in a help text. */
#define SL_OPT_TYPE_MAP(X)                                              \
    X(FLAG, "")             /* no value */                              \
    X(STRING, "TEXT")       /* any text */                              \
    X(FILE, "FILE")         /* a path; completion offers files */       \
    X(INT, "N")             /* a whole number from min to max */        \
    X(REAL, "X")            /* any number, as Python's float() reads */ \
    X(SIZE, "SIZE")         /* human bytes: 256MiB */                   \
    X(LIMIT, "LIMIT")       /* 5%, 200MiB, +200MiB */                   \
    X(DURATION, "DURATION") /* 250ms, 90s, 5min, 2h, 1d */              \
    X(TIME, "TIME")         /* a moment of a recording: sl_opt_time */  \
    X(CHOICE, "")           /* one of the row's choices */              \
    X(CHOICES, "")          /* several of them, separated by commas */

typedef enum sl_opt_type {
#define SL_OPT_ENUM(name, metavar) SL_OPT_##name,
    SL_OPT_TYPE_MAP(SL_OPT_ENUM)
#undef SL_OPT_ENUM
} sl_opt_type;

/* Who may set an option in a settings file. */
typedef enum sl_opt_setter {
    SL_SET_BY_TYPE, /* a FILE: nobody; a STRING: the user; any other type: a project's file as well */
    SL_SET_BY_NOBODY,
    SL_SET_BY_USER,
    SL_SET_BY_PROJECT, /* or by the user */
} sl_opt_setter;

/* One option of a command. Only name, type and help are always needed. */
typedef struct sl_opt {
    const char *name; /* without dashes */
    char short_name;  /* 0 = none */
    sl_opt_type type;
    const char *metavar; /* in the help text; NULL = the choices, or the type's own word */
    const char *choices; /* "txt|json|md" for CHOICE and CHOICES */
    const char *initial; /* taken, and shown, when the option is not given; NULL = none */
    int64_t min, max;    /* of an INT; both 0 = any */
    bool is_required;    /* must be given, in the commands of the Python tool */
    bool is_repeated;    /* may be given several times; sl_opts_next walks the values */
    sl_opt_setter
        setter; /* options that remove files or show them to others cannot be set by a project */
    const char *help; /* one sentence, lower case, no full stop */
} sl_opt;

/* A moment of a recording: "start", "end" (of the work), "exit" (the last event), "peak", "step:12" (its end);
 * "90s" after the start; "-10s" before the end; a bare number is in microseconds of the recording's
 * own clock, as the JSON report prints them. */
typedef enum sl_opt_anchor {
    SL_ANCHOR_CLOCK,
    SL_ANCHOR_START,
    SL_ANCHOR_END,
    SL_ANCHOR_PEAK,
    SL_ANCHOR_EXIT,
    SL_ANCHOR_STEP,
} sl_opt_anchor;

typedef struct sl_opt_time {
    sl_opt_anchor anchor;
    int64_t us; /* added to the anchor; the number of a STEP */
} sl_opt_time;

/* A share or an amount, whichever was written; "+200MiB" is an amount above something else. */
typedef struct sl_opt_limit {
    bool is_share;
    bool is_more;
    double share; /* 0.05 for "5%" */
    uint64_t bytes;
} sl_opt_limit;

typedef struct sl_opt_value {
    const char *text; /* borrowed; as written, or the row's initial; NULL = neither */
    bool is_given;    /* by the user */
    bool is_preset;   /* by a settings file, not on the command line */
    int64_t number;   /* INT; DURATION in us; CHOICE: index; CHOICES: bits by index */
    double real;      /* REAL */
    uint64_t bytes;   /* SIZE */
    sl_opt_limit limit;
    sl_opt_time time;
} sl_opt_value;

/* Reads one value as the option wants it. SL_E_USAGE says what was expected. */
sl_status sl_opt_value_parse(const sl_opt *opt, const char *text, sl_opt_value *value,
                             sl_error *err);

/* "250ms", "90s", "5min", "1.5h", "2d" in microseconds. */
sl_status sl_opt_parse_duration(const char *text, int64_t *us, sl_error *err);

sl_status sl_opt_parse_time(const char *text, sl_opt_time *time, sl_error *err);

/* Never SL_SET_BY_TYPE. */
sl_opt_setter sl_opt_setter_of(const sl_opt *opt);

/* The placeholder of the value in a help text: the row's own word, the choices, or the type's word;
 * "" for a flag. Never NULL. */
const char *sl_opt_metavar(const sl_opt *opt);

/* Word number `idx` of "a|b|c"; false after the last one. */
bool sl_opt_choice(const char *choices, size_t idx, sl_str *word);

#endif
