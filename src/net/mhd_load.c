/* SPDX-License-Identifier: MIT */
#include "net/mhd_load.h"

#if HAVE_MICROHTTPD
#include <dlfcn.h>

static sl_mhd_functions functions;
static bool is_loaded;

static sl_status load_symbols(void *library, sl_error *err) {
#define LOAD(result, name, arguments)                         \
    *(void **)&functions.name = dlsym(library, "MHD_" #name); \
    if (!functions.name)                                      \
        return sl_fail(err, SL_E_UNSUPPORTED, "libmicrohttpd.so.12 has no function MHD_" #name);
    SL_MHD_MAP(LOAD)
#undef LOAD
    return SL_OK;
}

const sl_mhd_functions *sl_mhd_load(sl_error *err) {
    if (is_loaded)
        return &functions;
    void *library = dlopen("libmicrohttpd.so.12", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        sl_fail(err, SL_E_UNSUPPORTED, "serving needs libmicrohttpd, which cannot be loaded: %s",
                dlerror());
        return NULL;
    }
    is_loaded = load_symbols(library, err) == SL_OK;
    return is_loaded ? &functions : NULL;
}
#endif
