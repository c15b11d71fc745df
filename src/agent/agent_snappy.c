/* SPDX-License-Identifier: MIT */
/* libsnappy, loaded when something is written to a remote-write endpoint: it brings the C++ runtime with it, which
 * other commands need not pay for. Two functions of its C interface are used, and no header. */
#include <dlfcn.h>
#include <stdlib.h>

#include "agent/agent_encode.h"

static struct {
    int (*compress)(const char *input, size_t len, char *output, size_t *output_len);
    size_t (*max_len)(size_t len);
} snappy;

sl_status sl_agent_snappy_load(sl_error *err) {
    if (snappy.max_len)
        return SL_OK;
    void *library = dlopen("libsnappy.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return sl_fail(err, SL_E_UNSUPPORTED,
                       "remote write needs libsnappy, which cannot be loaded: %s", dlerror());
    *(void **)&snappy.compress = dlsym(library, "snappy_compress");
    void *max_len = dlsym(library, "snappy_max_compressed_length");
    if (!snappy.compress || !max_len)
        return sl_fail(err, SL_E_UNSUPPORTED, "libsnappy.so.1 has no snappy_compress");
    *(void **)&snappy.max_len = max_len;
    return SL_OK;
}

sl_status sl_agent_snappy(const void *bytes, size_t len, char **out, size_t *out_len,
                          sl_error *err) {
    *out_len = snappy.max_len(len);
    *out = malloc(*out_len ? *out_len : 1);
    if (!*out)
        return sl_fail_no_memory(err, "a request");
    if (snappy.compress(len ? bytes : "", len, *out, out_len) != 0) {
        free(*out);
        *out = NULL;
        return sl_fail(err, SL_E_INTERNAL, "libsnappy cannot compress %zu bytes", len);
    }
    return SL_OK;
}
