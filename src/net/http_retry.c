/* SPDX-License-Identifier: MIT */
#include "net/http_retry.h"

const sl_http_backoff sl_http_backoff_default = {.first_ms = 500, .max_ms = 60000};

sl_http_verdict sl_http_judge(sl_status sent, int http_status) {
    if (sent < 0)
        return sent == SL_E_NETWORK ? SL_HTTP_RETRY : SL_HTTP_REFUSED;
    if (http_status >= 200 && http_status < 300)
        return SL_HTTP_DONE;
    bool may_pass = http_status == 408 || http_status == 425 || http_status == 429;
    return may_pass || http_status >= 500 ? SL_HTTP_RETRY : SL_HTTP_REFUSED;
}

/* A random part of `span`. */
static uint64_t jitter(uint64_t span, uint64_t random) {
    return span ? random % (span + 1) : 0;
}

uint32_t sl_http_wait_ms(const sl_http_backoff *backoff, unsigned failures, uint32_t retry_after_s,
                         uint64_t random) {
    uint64_t max_ms = backoff->max_ms;
    unsigned doublings = failures > 1 ? failures - 1 : 0;
    uint64_t wait_ms = doublings < 32 ? (uint64_t)backoff->first_ms << doublings : max_ms;
    wait_ms = wait_ms < max_ms ? wait_ms : max_ms;
    wait_ms = wait_ms - wait_ms / 2 + jitter(wait_ms / 2, random);
    uint64_t asked_ms = (uint64_t)retry_after_s * 1000;
    if (asked_ms)
        asked_ms += jitter(asked_ms / 5, random);
    uint64_t longer_ms = wait_ms > asked_ms ? wait_ms : asked_ms;
    return (uint32_t)(longer_ms < max_ms ? longer_ms : max_ms);
}
