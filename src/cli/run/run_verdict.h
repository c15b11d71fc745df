/* SPDX-License-Identifier: MIT */
/* What a run's recordings say, in one sentence: that of the process with the most severe verdict. */
#ifndef SL_RUN_VERDICT_H
#define SL_RUN_VERDICT_H

#include "api/run_folder.h"
#include "export/report/report_words.h"

typedef struct sl_run_verdict {
    char sentence[SL_WORDS_CAP]; /* "" when no recording could be read */
    sl_verdict verdict;          /* meaningless then */
    char path[SL_RUN_PATH_CAP];  /* the recording it is about, as the user would name it */
    size_t unreadable_cnt;       /* recordings that could not be read */
} sl_run_verdict;

/* Reads every recording of the folder that is not older than the run. */
void sl_run_verdict_find(sl_run_verdict *verdict, const sl_run_folder *folder);

/* The same for every recording of a folder. */
void sl_run_verdict_of(sl_run_verdict *verdict, const char *folder);

#endif
