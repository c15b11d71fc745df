/* SPDX-License-Identifier: MIT */
#include "ship/profile_push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

bool sl_profile_key_is_good(sl_str key) {
    for (size_t i = 0; i < key.len; i++)
        if (!is_word(key.ptr[i]))
            return false;
    return key.len > 0;
}

static void put(sl_profile_name *name, char c) {
    if (name->used + 1 < sizeof name->text)
        name->text[name->used++] = c;
    else
        name->is_full = true;
    name->text[name->used] = '\0';
}

static void put_text(sl_profile_name *name, const char *text) {
    while (*text)
        put(name, *text++);
}

void sl_profile_name_begin(sl_profile_name *name, const char *service) {
    name->used = 0;
    name->has_labels = name->is_full = false;
    name->text[0] = '\0';
    for (; *service; service++)
        put(name, is_word(*service) || *service == '-' || *service == '/' ? *service : '_');
}

/* A value may have anything but what ends it. */
void sl_profile_name_label(sl_profile_name *name, const char *key, sl_str value) {
    if (value.len == 0)
        return;
    put(name, name->has_labels ? ',' : '{');
    put_text(name, key);
    put(name, '=');
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        put(name, c < 0x20 || c == 0x7f || strchr(",{}", c) ? '_' : c);
    }
    name->has_labels = true;
}

void sl_profile_name_end(sl_profile_name *name) {
    if (name->has_labels)
        put(name, '}');
}

/* The server takes seconds, milliseconds or nanoseconds since 1970, told apart by their size. The names of scripts
 * ("scripting") get file and line, so that a line is a node of the flame graph. */
static bool make_url(char *to, size_t cap, const char *url, const sl_profile *profile) {
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    int used = snprintf(to, cap, "%.*s/ingest?format=pprof&from=%" PRId64 "&name=", (int)len, url,
                        profile->from_us * 1000);
    if (used < 0 || (size_t)used >= cap ||
        !sl_url_add(to, cap, sl_str_of(profile->name->text), false))
        return false;
    size_t at = strlen(to);
    used =
        snprintf(to + at, cap - at, "&spyName=scripting&until=%" PRId64, profile->until_us * 1000);
    return used > 0 && (size_t)used < cap - at;
}

sl_status sl_profile_push(sl_http *http, const char *url, const sl_profile *profile,
                          const sl_ship_patience *patience, sl_error *err) {
    static const char *const headers[] = {"Content-Type: application/octet-stream", NULL};
    char *full = malloc(4 * SL_PROFILE_NAME_CAP);
    sl_http_response response = {0};
    if (!full)
        return sl_fail_no_memory(err, "a URL");
    if (profile->name->is_full || !make_url(full, (size_t)4 * SL_PROFILE_NAME_CAP, url, profile)) {
        free(full);
        return sl_fail(err, SL_E_USAGE, "the URL and the labels are too long: at most %d bytes",
                       SL_PROFILE_NAME_CAP);
    }
    sl_http_request request = {
        .method = "POST", .url = full, .headers = headers, .body = profile->bytes};
    /* Pyroscope's answer while its parts start ("empty ring"), and also for a profile that it cannot
     * read, which ours is not. */
    sl_ship_patience own = *patience;
    own.busy_status = 422;
    sl_status status = sl_ship_send(http, &request, &own, &response, err);
    sl_http_response_fini(&response);
    free(full);
    return status;
}
