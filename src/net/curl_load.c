/* SPDX-License-Identifier: MIT */
#include "net/curl_load.h"

#if HAVE_CURL
#include <dlfcn.h>

static sl_curl_functions functions;
static bool is_loaded;

static sl_status load_symbols(void *library, sl_error *err) {
#define LOAD(result, name, arguments)                             \
    *(void **)&functions.name = dlsym(library, "curl_" #name);    \
    if (!functions.name)                                          \
        return sl_fail(err, SL_E_UNSUPPORTED,                     \
                       "libcurl.so.4 has no function curl_" #name \
                       ": install Debian's libcurl4 or newer");
    SL_CURL_MAP(LOAD)
#undef LOAD
    return SL_OK;
}

/* It stays loaded: TLS libraries do not survive being unloaded. */
const sl_curl_functions *sl_curl_load(sl_error *err) {
    if (is_loaded)
        return &functions;
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        sl_fail(err, SL_E_UNSUPPORTED, "HTTP needs libcurl, which cannot be loaded: %s", dlerror());
        return NULL;
    }
    if (load_symbols(library, err) < 0)
        return NULL;
    CURLcode code = functions.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        sl_fail(err, SL_E_UNSUPPORTED, "libcurl cannot start: %s", functions.easy_strerror(code));
        return NULL;
    }
    is_loaded = true;
    return &functions;
}
#endif
