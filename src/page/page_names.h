/* SPDX-License-Identifier: MIT */
/* Strings, frames, stacks and sites of a page. Several inputs share one table, so that a line
 * has the same number in all of them. A site without a line is a frame of its own whose function
 * is the reason. One thread; a failed allocation sets has_failed, and the functions then return
 * frame 0. */
#ifndef SL_PAGE_NAMES_H
#define SL_PAGE_NAMES_H

#include "page/page_out.h"
#include "run/lines/sites.h"

typedef struct sl_page_names {
    sl_strtab strings;
    sl_stacks stacks;
    SL_VEC(uint8_t) is_user;  /* by page frame */
    SL_VEC(uint32_t) site_of; /* by page stack: page frame */
    bool has_failed;
} sl_page_names;

/* Maps one input to the table. */
typedef struct sl_page_source {
    sl_page_names *names;  /* borrowed */
    const sl_trace *trace; /* borrowed */
    const sl_sites *lines; /* borrowed */
    uint32_t *frame_map;   /* owned; trace frame -> page frame + 1, 0 = not added yet */
    uint32_t *site_map;    /* owned; trace stack -> page frame + 1 of its site */
    uint32_t *stack_map;   /* owned; trace stack -> page stack + 1 */
} sl_page_source;

void sl_page_names_init(sl_page_names *names);
void sl_page_names_fini(sl_page_names *names);

/* False when memory ran out; call sl_page_source_fini in either case. */
bool sl_page_source_init(sl_page_source *source, sl_page_names *names, const sl_sites *lines);
void sl_page_source_fini(sl_page_source *source);

/* The page frame of a stack's site. */
uint32_t sl_page_site(sl_page_source *source, uint32_t stack_id);

/* The page frame of a site as the analyses use it. */
uint32_t sl_page_site_frame(sl_page_source *source, sl_site site);

/* The page stack with all of its frames. */
uint32_t sl_page_stack(sl_page_source *source, uint32_t stack_id);

/* The page stack that consists of the site alone. */
uint32_t sl_page_folded(sl_page_names *names, uint32_t site_frame);

/* The page frame for a text instead of a line. */
uint32_t sl_page_words(sl_page_names *names, const char *words);

/* Fills the columns of NAMES. */
void sl_page_names_write(const sl_page_names *names, sl_page_columns *columns);

#endif
