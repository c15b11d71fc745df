/* SPDX-License-Identifier: MIT */
/* HTTP requests that are tried again: no answer, 408, 425, 429 and 5xx after a wait that doubles
 * (net/http_retry.h). One thread; sleeps. */
#ifndef SL_SHIP_SEND_H
#define SL_SHIP_SEND_H

#include "base/core/progress_fn.h"
#include "net/http.h"

typedef struct sl_ship_patience {
    unsigned try_cnt;         /* requests in all, at least 1 */
    int busy_status;          /* one more status that means "later"; 0 = none */
    const sl_stop_flag *stop; /* set from outside: give up; may be NULL */
} sl_ship_patience;

/* SL_OK for a 2xx answer. SL_E_NETWORK after the last try, SL_E_REFUSED when the server refuses the
 * request, SL_E_PERMISSION for 401 and 403, with the server's own words; `response` has its answer.
 * The response must be given to sl_http_response_fini. */
sl_status sl_ship_send(sl_http *http, const sl_http_request *request,
                       const sl_ship_patience *patience, sl_http_response *response, sl_error *err);

/* Waits that long, unless *stop is set. */
void sl_ship_wait_ms(uint32_t ms, const sl_stop_flag *stop);

/* Appends a text to a URL, with every byte but letters, digits and "-_.~" as %XX, and '/' where
 * keeps_slash. False when it does not fit. */
bool sl_url_add(char *url, size_t cap, sl_str text, bool keeps_slash);

#endif
