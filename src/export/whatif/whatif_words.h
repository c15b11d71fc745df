/* SPDX-License-Identifier: MIT */
/* The sentences that the text and the Markdown of `stormlog whatif` share. Everything is printed into the caller's
 * buffer; "" when there is nothing to say. */
#ifndef SL_WHATIF_WORDS_H
#define SL_WHATIF_WORDS_H

#include <stdio.h>

#include "export/report/report_words.h"
#include "whatif/whatif.h"

/* The first line of every answer: how well the trace was replayed as recorded. */
void sl_whatif_say_proof(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* The settings of a row, "as recorded (defaults)". */
void sl_whatif_say_settings(char buf[SL_WORDS_CAP], const sl_whatif_row *row);
/* What the best setting saves and costs, or that nothing is better. */
void sl_whatif_say_best(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* The line to paste. */
void sl_whatif_say_paste(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* Under which limit the rows were computed. */
void sl_whatif_say_limit(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* Whether the run fits a card that was given. */
void sl_whatif_say_card(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* How the assumed program differs from the recorded one. */
void sl_whatif_say_program(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
void sl_whatif_say_floor(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* Which request fails first in a row, and where. */
void sl_whatif_say_first_failure(char buf[SL_WORDS_CAP], const sl_whatif *whatif,
                                 const sl_whatif_row *row);
/* The range of a row's peaks. */
void sl_whatif_say_spread(char buf[SL_WORDS_CAP], const sl_whatif_row *row);
/* The request that failed in the trace: what would have served it, or what must go. */
void sl_whatif_say_failure(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
void sl_whatif_say_remedy(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* The heading of the list of repairs, or that none helps; the figures of one repair; all lines
 * together; what a repair assumes. */
void sl_whatif_say_lines(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
void sl_whatif_say_line(char buf[SL_WORDS_CAP], const sl_whatif *whatif,
                        const sl_whatif_line *line);
void sl_whatif_say_all_lines(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
void sl_whatif_say_need(char buf[SL_WORDS_CAP], const sl_whatif *whatif);
/* "leak" for programs, "leak fixed" for people. */
const char *sl_whatif_repair_name(sl_repair_kind kind);
const char *sl_whatif_repair_title(sl_repair_kind kind);
/* What the answer leaves out. */
void sl_whatif_say_caveat(char buf[SL_WORDS_CAP], const sl_whatif *whatif);

/* The user's line of the event; its step, counted from 1, when steps are known. */
sl_site sl_whatif_site(const sl_whatif *whatif, uint32_t event);
sl_maybe_u64 sl_whatif_step(const sl_whatif *whatif, uint32_t event);

/* Writes a sentence with its full stop, wrapped; nothing for "". */
void sl__whatif_put_line(FILE *to, const char *text);

/* "1,234": whole MiB, rounded up. */
char *sl_whatif_mib(char *buf, uint64_t bytes);

#endif
