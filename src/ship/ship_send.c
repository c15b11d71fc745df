/* SPDX-License-Identifier: MIT */
#include "ship/ship_send.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "net/http_retry.h"

void sl_ship_wait_ms(uint32_t ms, const sl_stop_flag *stop) {
    for (uint64_t end = sl_clock_mono_ns() + (uint64_t)ms * 1000000u;
         sl_clock_mono_ns() < end && !(stop && *stop);)
        sl_clock_pause_us(20000);
}

static uint64_t any_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
        number = sl_clock_mono_ns();
    return number;
}

/* "cannot send to http://host/x: 403 Forbidden: …". The words of a store in XML begin with its prolog. */
static sl_status refuse(const sl_http_request *request, const sl_http_response *response,
                        sl_error *err) {
    char words[160] = "", url[160];
    const char *message = response->body ? strstr(response->body, "<Message>") : NULL;
    sl_http_first_line(response, words, sizeof words);
    if (message)
        snprintf(words, sizeof words, "%.*s", (int)strcspn(message + 9, "<\n"), message + 9);
    for (char *c = words; *c; c++)
        *c = *c >= 0x20 && *c < 0x7f ? *c : '?';
    snprintf(url, sizeof url, "%.*s", (int)strcspn(request->url, "?"), request->url);
    bool is_denied = response->status == 401 || response->status == 403;
    return sl_fail(err, is_denied ? SL_E_PERMISSION : SL_E_REFUSED,
                   "%s of %s was refused: status %d%s%s", request->method, url, response->status,
                   *words ? ": " : "", words);
}

sl_status sl_ship_send(sl_http *http, const sl_http_request *request,
                       const sl_ship_patience *patience, sl_http_response *response,
                       sl_error *err) {
    for (unsigned failures = 0;;) {
        sl_status sent = sl_http_send(http, request, response, err);
        sl_http_verdict verdict = sl_http_judge(sent, response->status);
        if (sent == SL_OK && response->status == patience->busy_status)
            verdict = SL_HTTP_RETRY;
        switch (verdict) {
        case SL_HTTP_DONE: return SL_OK;
        case SL_HTTP_REFUSED: return sent < 0 ? sent : refuse(request, response, err);
        case SL_HTTP_RETRY: break;
        }
        failures++;
        if (failures >= patience->try_cnt || (patience->stop && *patience->stop)) {
            if (sent == SL_OK) {
                refuse(request, response, err);
                if (err)
                    err->code = SL_E_NETWORK;
            }
            return SL_E_NETWORK;
        }
        uint32_t wait = sl_http_wait_ms(&sl_http_backoff_default, failures, response->retry_after_s,
                                        any_number());
        sl_http_response_fini(response);
        if (request->to_file && (ftruncate(request->response_fd, 0) != 0 ||
                                 lseek(request->response_fd, 0, SEEK_SET) != 0))
            return sl_fail_errno(err, SL_E_WRITE, "cannot begin a file anew");
        sl_ship_wait_ms(wait, patience->stop);
    }
}

bool sl_url_add(char *url, size_t cap, sl_str text, bool keeps_slash) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    size_t used = strlen(url);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_plain = (c && strchr(plain, c)) || (keeps_slash && c == '/');
        if (used + (is_plain ? 1 : 3) >= cap)
            return false;
        used += (size_t)snprintf(url + used, cap - used, is_plain ? "%c" : "%%%02X",
                                 is_plain ? c : (unsigned char)c);
    }
    return true;
}
