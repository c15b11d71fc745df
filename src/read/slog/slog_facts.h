/* SPDX-License-Identifier: MIT */
/* What a recording's labels, stacks and steps say about a block, and the tag that follows from the live
 * table alone. slog_tags.h has more to go by, the events, and falls back on this for blocks whose
 * alloc is no longer in the ring; a view that is drawn every second has only this. */
#ifndef SL_SLOG_FACTS_H
#define SL_SLOG_FACTS_H

#include "log/read/log_reader.h"
#include "model/tag_rules.h"

/* What a label means to us; labels also name libraries. */
typedef struct sl_label_meaning {
    bool is_known;
    bool is_look;    /* SL_TAG_LOOKED_LABEL */
    bool is_closure; /* SL_PHASE_CLOSURE_LABEL */
    uint8_t phase;   /* sl_train_phase */
    uint8_t tag;     /* sl_tag */
} sl_label_meaning;

typedef struct sl_slog_facts sl_slog_facts;

/* Borrows the log until it is freed. SL_E_NOMEM, or what reading the marks gives. */
sl_status sl_slog_facts_new(sl_log_reader *log, sl_slog_facts **out, sl_error *err);
void sl_slog_facts_free(sl_slog_facts *facts); /* NULL is fine */

sl_label_meaning sl_slog_label(sl_slog_facts *facts, uint16_t label);

/* Whether the stack (of the log) made the block while a module was built, filled, moved or loaded. */
bool sl_slog_is_built(sl_slog_facts *facts, uint32_t stack);

/* An allocation in a phase happened at this time: from then on the program trains. */
void sl_slog_note_training(sl_slog_facts *facts, uint64_t time_ns);
bool sl_slog_is_training(const sl_slog_facts *facts, uint64_t time_ns);

/* Whether an optimizer has stepped, or the program has counted a step. */
bool sl_slog_has_steps(const sl_slog_facts *facts);

/* The live table is about to be asked about: whether it has annotations, and whether any label in it
 * says something. */
void sl_slog_see_tables(sl_slog_facts *facts, const sl_log_tables *tables);
bool sl_slog_has_tags(const sl_slog_facts *facts);

/* The stack of a site, 0 when there is none. */
uint32_t sl_slog_site_stack(const sl_log_tables *tables, uint32_t site);

/* The tag of a block of the live table, after sl_slog_see_tables. */
sl_tag sl_slog_block_tag(sl_slog_facts *facts, const sl_log_tables *tables,
                         const sl_log_block *block);

#endif
