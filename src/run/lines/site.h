/* SPDX-License-Identifier: MIT */
/* A place in the user's program, and how much is held there. Plain values that point into a trace. */
#ifndef SL_SITE_H
#define SL_SITE_H

#include "model/trace.h"

/* Why a site has no line of its own. enumerator, text shown instead of a line. */
#define SL_ORIGIN_MAP(X)                                \
    X(LINE, "")                                         \
    X(BACKWARD, "(no Python stack: autograd backward)") \
    X(NATIVE, "(native code only)")                     \
    X(UNRECORDED, "(stack not recorded)")               \
    X(BEFORE, "(allocated before the trace began)")     \
    X(SAMPLES, "(samples have no line)")

typedef enum sl_origin {
#define SL_ORIGIN_ENUM(name, text) SL_ORIGIN_##name,
    SL_ORIGIN_MAP(SL_ORIGIN_ENUM)
#undef SL_ORIGIN_ENUM
} sl_origin;

/* A place in the user's program: one stack and the frame of it that is the user's line. */
typedef struct sl_site {
    const sl_trace *trace; /* borrowed; NULL = not known */
    uint32_t stack_id;
    uint32_t frame_pos; /* of the user's line within the stack, 0 = innermost */
    sl_origin origin;   /* other than LINE: there is no line, show sl_site_label */
} sl_site;

typedef struct sl_holding {
    sl_site site;
    uint64_t bytes;
    uint64_t blocks;
} sl_holding;

typedef struct sl_holdings {
    sl_holding *at; /* largest first */
    size_t cnt;
    uint64_t other_bytes; /* held by sites that are not listed */
    uint64_t other_blocks;
    uint64_t other_sites,
        other_largest_bytes; /* how many they are, and the most one of them holds */
} sl_holdings;

/* How allocations are put together into sites. */
typedef enum sl_group_by {
    SL_GROUP_LINE = 0, /* the user's line: the default */
    SL_GROUP_FUNCTION, /* file and function of it */
    SL_GROUP_FILE,     /* its file */
    SL_GROUP_STACK,    /* the whole stack */
} sl_group_by;

/* "line", "function", "file", "stack"; false when the name is none of them. */
bool sl_group_by_find(const char *name, sl_group_by *group_by);

/* The user's line of a stack: innermost frame outside the interpreter's and the libraries'
 * folders, as a site. Works on any trace; classify once per distinct stack. */
sl_site sl_user_site(const sl_trace *trace, uint32_t stack_id);

/* The user's line of a site: frame of the stack; false when the site has no line. */
bool sl_site_frame(sl_site site, sl_frame *frame);

/* What to show for a site without a line: "(no Python stack: autograd backward)", …;
 * "(unknown)" when the site is not known at all. NULL when it has a line. */
const char *sl_site_label(sl_site site);

#endif
