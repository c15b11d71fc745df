/* SPDX-License-Identifier: MIT */
/* "s3://bucket/prefix" on Amazon's or any other server. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/str.h"
#include "ship/s3_request.h"
#include "ship/s3_xml.h"

#define SCHEME "s3://"

/* ---- opening ---- */

static bool is_bucket_name(sl_str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              ((c == '-' || c == '.') && i > 0)))
            return false;
    }
    return name.len >= 3 && name.len <= 63;
}

static sl_status take_place(sl_s3 *s3, const char *where, sl_error *err) {
    const char *bucket = where + strlen(SCHEME);
    size_t bucket_len = strcspn(bucket, "/");
    const char *prefix = bucket + bucket_len + strspn(bucket + bucket_len, "/");
    size_t prefix_len = strlen(prefix);
    while (prefix_len && prefix[prefix_len - 1] == '/')
        prefix_len--;
    if (!is_bucket_name((sl_str){bucket, bucket_len}) || prefix_len + 2 > sizeof s3->prefix)
        return sl_fail(err, SL_E_USAGE,
                       "expected s3://BUCKET/PREFIX with a bucket of 3 to 63 lower-case letters, "
                       "digits, '-' and '.', found '%.100s'",
                       where);
    snprintf(s3->bucket, sizeof s3->bucket, "%.*s", (int)bucket_len, bucket);
    snprintf(s3->prefix, sizeof s3->prefix, "%.*s%s", (int)prefix_len, prefix,
             prefix_len ? "/" : "");
    return SL_OK;
}

static sl_status take_endpoint(sl_s3 *s3, const char *given, sl_error *err) {
    const char *names[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
    for (size_t i = 0; !given && i < SL_COUNT_OF(names); i++)
        given = getenv(names[i]) && *getenv(names[i]) ? getenv(names[i]) : NULL;
    int len = given ? snprintf(s3->endpoint, sizeof s3->endpoint, "%s", given)
                    : snprintf(s3->endpoint, sizeof s3->endpoint, "https://s3.%s.amazonaws.com",
                               sl_s3_region());
    if (len < 0 || (size_t)len >= sizeof s3->endpoint)
        return sl_fail(err, SL_E_USAGE, "the URL of the S3 server is longer than %zu bytes",
                       sizeof s3->endpoint - 1);
    while (len > 0 && s3->endpoint[len - 1] == '/')
        s3->endpoint[--len] = '\0';
    return SL_OK;
}

static sl_status open_client(sl_s3 *s3, const sl_ship_target_options *options, sl_error *err) {
    SL_TRY(sl_s3_credentials_find(&s3->credentials, err));
    snprintf(s3->signing, sizeof s3->signing, "aws:amz:%.60s:s3", sl_s3_region());
    snprintf(s3->token_header, sizeof s3->token_header, "x-amz-security-token: %s",
             s3->credentials.token);
    return sl_http_open(&s3->http,
                        &(sl_http_options){.user_password = s3->credentials.keys,
                                           .aws_sigv4 = s3->signing,
                                           .ca_file = options->ca_file,
                                           .connect_ms = 5000,
                                           .stop = options->patience.stop,
                                           .response_max = (size_t)4 << 20},
                        err);
}

static void close_s3(sl_ship_target *target) {
    sl_s3 *s3 = target->own;
    sl_http_close(s3->http);
    sl_s3_credentials_fini(&s3->credentials);
    explicit_bzero(s3->token_header, sizeof s3->token_header);
    free(s3);
}

static sl_status open_s3(sl_ship_target *target, const char *where, sl_error *err) {
    sl_s3 *s3 = calloc(1, sizeof *s3);
    if (!s3)
        return sl_fail_no_memory(err, "a target");
    target->own = s3;
    s3->patience = target->options.patience;
    s3->state_folder = target->options.state_folder;
    sl_status status = take_place(s3, where, err);
    if (status == SL_OK)
        status = take_endpoint(s3, target->options.endpoint, err);
    if (status == SL_OK)
        status = open_client(s3, &target->options, err);
    if (status < 0)
        close_s3(target);
    return status;
}

/* ---- requests ---- */

static bool make_url(const sl_s3 *s3, const sl_s3_call *call, char url[SL_S3_URL_CAP]) {
    snprintf(url, SL_S3_URL_CAP, "%s/%s", s3->endpoint, s3->bucket);
    bool fits = true;
    if (call->key) {
        fits = sl_url_add(url, SL_S3_URL_CAP, SL_STR("/"), true) &&
               sl_url_add(url, SL_S3_URL_CAP, sl_str_of(s3->prefix), true) &&
               sl_url_add(url, SL_S3_URL_CAP, sl_str_of(call->key), true);
    }
    size_t used = strlen(url), query_len = call->query ? strlen(call->query) : 0;
    if (!fits || used + query_len + 2 > SL_S3_URL_CAP)
        return false;
    if (call->query)
        snprintf(url + used, SL_S3_URL_CAP - used, "?%s", call->query);
    return true;
}

/* What is signed is checked by the server: a body that changes on the way is refused. */
static sl_status hash_body(const sl_s3_call *call, char hash[SL_SHA256_HEX_CAP], sl_error *err) {
    sl_sha256 sha;
    if (call->file)
        return sl_ship_hash(call->file->fd, call->offset, call->bytes, hash, err);
    sl_sha256_init(&sha);
    sl_sha256_add(&sha, call->body.ptr, call->body.len);
    sl_sha256_hex(&sha, hash);
    return SL_OK;
}

/* Amazon answers an unknown access key with 403, versitygw with 404. */
static bool is_key_unknown(const sl_http_response *response) {
    static const char *const codes[] = {"<Code>InvalidAccessKeyId<", "<Code>XAdminUserNotFound<"};
    for (size_t i = 0; i < SL_COUNT_OF(codes); i++)
        if (response->body && strstr(response->body, codes[i]))
            return true;
    return false;
}

sl_status sl_s3_send(sl_s3 *s3, const sl_s3_call *call, sl_http_response *response, sl_error *err) {
    char url[SL_S3_URL_CAP], hash[SL_SHA256_HEX_CAP], hash_header[96];
    *response = (sl_http_response){0};
    if (!make_url(s3, call, url))
        return sl_fail(err, SL_E_USAGE, "a URL of the S3 server is longer than %d bytes",
                       SL_S3_URL_CAP - 1);
    SL_TRY(hash_body(call, hash, err));
    snprintf(hash_header, sizeof hash_header, "x-amz-content-sha256: %s", hash);
    const char *headers[] = {hash_header, *s3->credentials.token ? s3->token_header : NULL, NULL};
    /* 100 KB/s at least. */
    uint64_t slow_ms = 30000 + (call->file ? call->bytes : call->max) / 100;
    sl_http_request request = {.method = call->method,
                               .url = url,
                               .headers = headers,
                               .body = call->body,
                               .has_file = call->file != NULL,
                               .body_fd = call->file ? call->file->fd : -1,
                               .body_offset = call->offset,
                               .body_bytes = call->bytes,
                               .to_file = call->to_file,
                               .response_fd = call->fd,
                               .file_max = call->max,
                               .total_ms = slow_ms < 86400000 ? (uint32_t)slow_ms : 86400000};
    sl_status status = sl_ship_send(s3->http, &request, &s3->patience, response, err);
    bool is_read = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;
    if (status < 0 && is_key_unknown(response)) {
        if (err)
            err->code = SL_E_PERMISSION;
        return SL_E_PERMISSION;
    }
    if (status < 0 && response->status == 404 && call->key && is_read)
        return sl_fail(err, SL_E_OPEN, "'%s%s' is not in the bucket '%s'", s3->prefix, call->key,
                       s3->bucket);
    return status;
}

/* For calls whose answer has no content. */
static sl_status send_only(sl_s3 *s3, const sl_s3_call *call, sl_error *err) {
    sl_http_response response;
    sl_status status = sl_s3_send(s3, call, &response, err);
    sl_http_response_fini(&response);
    return status;
}

/* ---- the target's functions ---- */

static sl_status put_file(sl_ship_target *target, const sl_ship_file *file, sl_ship_put *put,
                          sl_error *err) {
    if (file->bytes > SL_S3_WHOLE_MAX)
        return sl_s3_upload(target->own, file, put, err);
    sl_s3_call call = {.method = "PUT", .key = file->key, .file = file, .bytes = file->bytes};
    SL_TRY(send_only(target->own, &call, err));
    put->sent_bytes = file->bytes;
    return SL_OK;
}

static sl_status put_text(sl_ship_target *target, const char *key, sl_str text, sl_error *err) {
    return send_only(target->own, &(sl_s3_call){.method = "PUT", .key = key, .body = text}, err);
}

static sl_status get_file(sl_ship_target *target, const char *key, int fd, uint64_t max,
                          sl_error *err) {
    sl_s3_call call = {.method = "GET", .key = key, .to_file = true, .fd = fd, .max = max};
    return send_only(target->own, &call, err);
}

static sl_status get_size(sl_ship_target *target, const char *key, uint64_t *bytes, sl_error *err) {
    sl_http_response response;
    sl_status status =
        sl_s3_send(target->own, &(sl_s3_call){.method = "HEAD", .key = key}, &response, err);
    sl_str length = sl_http_header(&response, "Content-Length");
    char text[24];
    snprintf(text, sizeof text, "%.*s", (int)(length.len < 20 ? length.len : 0), length.ptr);
    *bytes = strtoull(text, NULL, 10);
    sl_http_response_fini(&response);
    return status;
}

/* ---- listing ---- */

typedef struct listing {
    sl_s3 *s3;
    char full[SL_SHIP_KEY_CAP * 2]; /* prefix of the keys, ending in '/' */
    sl_ship_name_fn take;
    void *self;
    char token[1024]; /* of the next page; "" = this is the last one */
} listing;

/* Keys of the answer that are directly in the folder; others are somebody else's. */
static sl_status take_keys(listing *list, sl_str answer, sl_error *err) {
    char key[SL_SHIP_KEY_CAP * 2];
    size_t at = 0, full_len = strlen(list->full);
    sl_str text;
    while (sl_s3_xml_next(answer, &at, "Key", &text)) {
        if (!sl_s3_xml_decode(text, key, sizeof key) || strncmp(key, list->full, full_len) != 0 ||
            !key[full_len] || strchr(key + full_len, '/'))
            continue;
        SL_TRY(list->take(list->self, key + full_len, err));
    }
    return SL_OK;
}

static sl_status list_page(listing *list, sl_error *err) {
    char query[SL_S3_URL_CAP / 2] = "";
    bool fits = true;
    if (*list->token) {
        snprintf(query, sizeof query, "continuation-token=");
        fits = sl_url_add(query, sizeof query, sl_str_of(list->token), false);
        snprintf(query + strlen(query), sizeof query - strlen(query), "&");
    }
    snprintf(query + strlen(query), sizeof query - strlen(query),
             "delimiter=%%2F&list-type=2&prefix=");
    if (!fits || !sl_url_add(query, sizeof query, sl_str_of(list->full), false))
        return sl_fail(err, SL_E_LIMIT, "the S3 server's list has too long a name in it");
    sl_http_response response;
    sl_status status =
        sl_s3_send(list->s3, &(sl_s3_call){.method = "GET", .query = query}, &response, err);
    sl_str answer = {response.body ? response.body : "", response.len};
    *list->token = '\0';
    if (status == SL_OK && !sl_str_contains(answer, SL_STR("<ListBucketResult")))
        status = sl_fail(err, SL_E_FORMAT,
                         "%s: expected a list of objects (ListBucketResult), found something else; "
                         "is this an S3 server?",
                         list->s3->endpoint);
    if (status == SL_OK)
        status = take_keys(list, answer, err);
    if (status == SL_OK && sl_str_contains(answer, SL_STR("<IsTruncated>true<")))
        sl_s3_xml_text(answer, "NextContinuationToken", list->token, sizeof list->token);
    sl_http_response_fini(&response);
    return status;
}

static sl_status list_pages(listing *list, sl_error *err) {
    enum { PAGES_MAX = 10000 }; /* of 1,000 names each */
    for (size_t page = 0; page < PAGES_MAX; page++) {
        SL_TRY(list_page(list, err));
        if (!*list->token)
            return SL_OK;
    }
    return sl_fail(err, SL_E_LIMIT, "the S3 server's list does not end after %d pages", PAGES_MAX);
}

static sl_status list_keys(sl_ship_target *target, const char *folder, sl_ship_name_fn take,
                           void *self, sl_error *err) {
    sl_s3 *s3 = target->own;
    listing *list = calloc(1, sizeof *list);
    if (!list)
        return sl_fail_no_memory(err, "a list");
    *list = (listing){.s3 = s3, .take = take, .self = self};
    snprintf(list->full, sizeof list->full, "%s%s%s", s3->prefix, folder, *folder ? "/" : "");
    sl_status status = list_pages(list, err);
    free(list);
    return status;
}

const sl_ship_target_ops sl_ship_s3_ops = {
    .scheme = SCHEME,
    .open = open_s3,
    .close = close_s3,
    .put_file = put_file,
    .put_text = put_text,
    .get_file = get_file,
    .size = get_size,
    .list = list_keys,
};
