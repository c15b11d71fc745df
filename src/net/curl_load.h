/* SPDX-License-Identifier: MIT */
/* libcurl, loaded when the first request is made. It brings thirty libraries with it, which would
 * cost every `stormlog` command 7 MiB and several milliseconds if it were linked. The headers are
 * used for types and numbers only. Only src/net includes this. */
#ifndef SL_CURL_LOAD_H
#define SL_CURL_LOAD_H

#include "sl_config.h"

#if HAVE_CURL
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/core/status.h"

#define SL_CURL_MAP(X)                                                        \
    X(CURLcode, global_init, (long flags))                                    \
    X(CURL *, easy_init, (void))                                              \
    X(CURLcode, easy_setopt, (CURL *, CURLoption, ...))                       \
    X(CURLcode, easy_getinfo, (CURL *, CURLINFO, ...))                        \
    X(CURLcode, easy_perform, (CURL *))                                       \
    X(void, easy_reset, (CURL *))                                             \
    X(void, easy_cleanup, (CURL *))                                           \
    X(const char *, easy_strerror, (CURLcode))                                \
    X(struct curl_slist *, slist_append, (struct curl_slist *, const char *)) \
    X(void, slist_free_all, (struct curl_slist *))

typedef struct sl_curl_functions {
#define SL_CURL_MEMBER(result, name, arguments) result(*name) arguments;
    SL_CURL_MAP(SL_CURL_MEMBER)
#undef SL_CURL_MEMBER
} sl_curl_functions;

/* The functions, or NULL with SL_E_UNSUPPORTED when libcurl.so.4 cannot be loaded. Call it from one
 * thread first: libcurl's own start is not thread-safe. */
const sl_curl_functions *sl_curl_load(sl_error *err);
#endif

#endif
