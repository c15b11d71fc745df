/* SPDX-License-Identifier: MIT */
/* Shared by the files of this module only; see whatif.h. */
#ifndef SL_WHATIF_IMPL_H
#define SL_WHATIF_IMPL_H

#include "whatif/whatif.h"

/* whatif_threads.c: runs job(with, i) for i < job_cnt in up to thread_cnt threads; returns the
 * first error. */
typedef sl_status (*sl_whatif_job)(void *with, size_t i, sl_error *err);
sl_status sl__whatif_in_threads(size_t job_cnt, unsigned thread_cnt, sl_whatif_job job, void *with,
                                sl_error *err);

/* whatif_rows.c: adds the rows without computing them; computes all of them, in threads. */
sl_status sl__whatif_add_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err);
sl_status sl__whatif_run_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err);
sl_status sl__whatif_find_best_card(sl_whatif *whatif, sl_error *err);
/* whatif_failure.c. */
sl_status sl__whatif_find_failure(sl_whatif *whatif, sl_error *err);
/* whatif_lines.c: which repairs save most (W6). */
sl_status sl__whatif_find_lines(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err);

/* Whether the program that is answered for uses several streams; whether it has frees that wait
 * for another stream. */
static inline bool sl__whatif_has_streams(const sl_whatif *whatif) {
    return whatif->calls->groups.cnt > 1 && !whatif->program.is_one_stream;
}
static inline bool sl__whatif_has_waits(const sl_whatif *whatif) {
    return whatif->calls->drop_cnt > 0 && !whatif->program.no_record_stream &&
           !whatif->program.is_one_stream;
}

#endif
