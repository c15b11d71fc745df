/* SPDX-License-Identifier: MIT */
/* The processes of a report's inputs in words: one row for each, except that siblings with the same
 * role and the same ending share a row. Also the notes of all inputs, each text once. */
#ifndef SL_PROCESS_ROWS_H
#define SL_PROCESS_ROWS_H

#include "base/text/json_out.h"
#include "export/report/report_words.h"
#include "report/report.h"

typedef struct sl_process_row {
    char text[SL_WORDS_CAP]; /* "4 DataLoader workers (27084, 27087, …), exited by _exit" */
    uint32_t depth;
} sl_process_row;

/* Calls put for every row, from the top of the tree down. Nothing for fewer than two processes. */
void sl_process_rows_each(const sl_report *report,
                          void (*put)(const sl_process_row *row, void *context), void *context);

/* Calls put for every note. A note that several inputs share is passed once, with the number of
 * inputs. */
void sl_report_notes_each(const sl_report *report, void (*put)(const char *text, void *context),
                          void *context);

/* "process": what the recording says about its process and its relation to the others; null for
 * other inputs. */
void sl_process_json(sl_json_out *json, const sl_report_input *input);

#endif
