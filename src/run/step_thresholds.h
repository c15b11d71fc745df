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

#endif
