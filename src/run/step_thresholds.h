/* SPDX-License-Identifier: MIT */
/* What makes a call the beat of a training loop: the thresholds of steps.c. docs/estimators.md explains
 * the estimator; "corpus" means the labelled runs of tests/data and bench/findings. */
#ifndef SL_STEP_THRESHOLDS_H
#define SL_STEP_THRESHOLDS_H

/* Occurrences. Fewer repeats cannot be told from chance. */
#define SL_T_STEP_MIN_CNT    4u
/* Standard deviation over mean of the gaps between two occurrences, in events. A call once a step
 * stays below 0.45 even with an evaluation of three larger batches after every tenth step; a call
 * in each of six layers is above 2. */
#define SL_T_STEP_MAX_CV     0.6
/* Share of the trace between the first and the last occurrence. Half, less room for a long start. */
#define SL_T_STEP_MIN_SPAN   0.4
/* Added to the variation before its inverse is used as a vote: the weight of a perfectly regular
 * call against one that varies by a tenth is 6 to 1. */
#define SL_T_STEP_VOTE_FLOOR 0.02

/* ---- rows (step_row.c): what recurs, but is not a step ---- */

/* Share of the allocations of a stretch that are freed in it. Below, memory is only made: the program
 * builds its model, loads its data, or only hoards. The loops of the corpus free 60 % and more. */
#define SL_T_CHURN_MIN          0.05
/* Blocks made by layers or autograd, per occurrence of the recurring call, from which on something is
 * computed: a forward pass in every second step, so that a stray one in a loader does not count. */
#define SL_T_ROW_COMPUTED_SHARE 0.5
/* What may follow the last occurrence and still be its end: parts of the row, or this share of all of them. A
 * program that has filled its list often adds it up or prints it. */
#define SL_T_ROW_TAIL_PARTS     1.5
#define SL_T_ROW_TAIL_SHARE     0.1
/* Parts, and least events, of a row in which nothing recurs. */
#define SL_T_ROW_PARTS          20u
/* Rows in one run: training, validation and test data, labels. What follows is searched for steps
 * after each, so this bounds the time as well. */
#define SL_T_ROW_MAX_CNT        8u

#endif
