/* SPDX-License-Identifier: MIT */
/* What to do after an HTTP request, and how long to wait before the next try. Pure functions: the
 * caller has the clock, the random number and the sleep. */
#ifndef SL_HTTP_RETRY_H
#define SL_HTTP_RETRY_H

#include "base/core/status.h"

typedef enum sl_http_verdict {
    SL_HTTP_DONE, /* accepted: 2xx */
    SL_HTTP_RETRY, /* no answer, a time-out, 408, 425, 429 or 5xx: the same request may succeed later */
    SL_HTTP_REFUSED, /* the server will never take this request; count it and go on */
} sl_http_verdict;

/* `sent` is what sl_http_send returned; `http_status` the response's, 0 without one. A redirect is
 * refused: requests carry tokens, which must not follow it to another server. */
sl_http_verdict sl_http_judge(sl_status sent, int http_status);

typedef struct sl_http_backoff {
    uint32_t first_ms; /* the wait after the first failure, before jitter */
    uint32_t max_ms;   /* limit of every wait, also of one that the server asked for */
} sl_http_backoff;

/* 500 ms doubling up to a minute. */
extern const sl_http_backoff sl_http_backoff_default;

/* The wait before the next try, in milliseconds: after `failures` (1, 2, …) failures in a row the
 * doubled first wait, of which the second half is random, so that a thousand senders which failed
 * together do not come back together. `retry_after_s` is what the server asked for (0 = nothing):
 * never less than that, plus up to a fifth of it at random. `random` is any number. */
uint32_t sl_http_wait_ms(const sl_http_backoff *backoff, unsigned failures, uint32_t retry_after_s,
                         uint64_t random);

#endif
