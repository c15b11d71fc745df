/* SPDX-License-Identifier: MIT */
#include "net/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sl_config.h"

#if HAVE_CURL
#include "base/core/sys.h"
#include "net/curl_load.h"

#define CONNECT_MS_DEFAULT 2000
#define TOTAL_MS_DEFAULT   10000
#define SILENCE_S_DEFAULT  60
#define RESPONSE_DEFAULT   ((size_t)64 << 10)
#define HEADERS_MAX        ((size_t)16 << 10)

struct sl_http {
    const sl_curl_functions *curl; /* borrowed, for the whole program */
    CURL *easy;
    sl_http_options options;
    char error[CURL_ERROR_SIZE];
};

/* One request while it is under way. */
typedef struct transfer {
    sl_http *http;
    const sl_http_request *request;
    sl_http_response *response;
    struct curl_slist *headers;
    uint64_t body_at;  /* bytes of the body that were given to libcurl */
    sl_status failure; /* SL_OK, or why a callback ended the transfer */
    int sys_errno;
    size_t response_cap, headers_len;
    uint64_t filed_bytes; /* written to response_fd */
} transfer;

#endif

void sl_http_response_fini(sl_http_response *response) {
    free(response->body);
    free(response->headers);
    *response = (sl_http_response){0};
}

static sl_str trim(sl_str text) {
    while (text.len && strchr(" \t\r", text.ptr[text.len - 1]))
        text.len--;
    while (text.len && strchr(" \t", *text.ptr))
        text.ptr++, text.len--;
    return text;
}

sl_str sl_http_header(const sl_http_response *response, const char *name) {
    sl_str found = {"", 0};
    size_t name_len = strlen(name);
    for (const char *line = response->headers; line && *line;) {
        size_t len = strcspn(line, "\n");
        if (len > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0)
            found = trim((sl_str){line + name_len + 1, len - name_len - 1});
        line += len + (line[len] == '\n');
    }
    return found;
}

void sl_http_first_line(const sl_http_response *response, char *to, size_t cap) {
    size_t used = 0;
    for (const char *at = response->body; at && used + 1 < cap && used < response->len; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '\n' || c == '\r' || c == '\0')
            break;
        to[used++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    to[used] = '\0';
}

#if HAVE_CURL

/* A URL without its user, password and query. */
static void clean_url(const char *url, char *to, size_t cap) {
    const char *scheme = strstr(url, "://");
    size_t scheme_len = scheme ? (size_t)(scheme + 3 - url) : 0;
    size_t host_len = strcspn(url + scheme_len, "/?#");
    const char *at = memrchr(url + scheme_len, '@', host_len);
    const char *host = at ? at + 1 : url + scheme_len;
    snprintf(to, cap, "%.*s%.*s", (int)scheme_len, url, (int)strcspn(host, "?#"), host);
}

static size_t end_transfer(transfer *t, sl_status why) {
    t->failure = why;
    t->sys_errno = errno;
    return 0; /* libcurl stops when fewer bytes are taken than it offered */
}

/* Appends to a text that stays terminated. */
static bool append(char **text, size_t *len, const char *more, size_t cnt) {
    char *grown = realloc(*text, *len + cnt + 1);
    if (!grown)
        return false;
    memcpy(grown + *len, more, cnt);
    *len += cnt;
    grown[*len] = '\0';
    *text = grown;
    return true;
}

static size_t take_header(char *bytes, size_t size, size_t cnt, void *arg) {
    transfer *t = arg;
    size_t len = size * cnt;
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0) /* a new response, after "100 Continue" */
        t->headers_len = 0;
    if (t->headers_len + len > HEADERS_MAX)
        return len; /* the rest is not kept */
    return append(&t->response->headers, &t->headers_len, bytes, len) ? len
                                                                      : end_transfer(t, SL_E_NOMEM);
}

static bool goes_to_file(transfer *t) {
    long status = 0;
    t->http->curl->easy_getinfo(t->http->easy, CURLINFO_RESPONSE_CODE, &status);
    return t->request->to_file && status >= 200 && status < 300;
}

static size_t take_body(char *bytes, size_t size, size_t cnt, void *arg) {
    transfer *t = arg;
    size_t len = size * cnt;
    if (goes_to_file(t)) {
        t->filed_bytes += len;
        if (t->request->file_max && t->filed_bytes > t->request->file_max)
            return end_transfer(t, SL_E_LIMIT);
        for (size_t done = 0; done < len;) {
            ssize_t n = write(t->request->response_fd, bytes + done, len - done);
            if (n < 0 && errno != EINTR)
                return end_transfer(t, SL_E_WRITE);
            done += n > 0 ? (size_t)n : 0;
        }
        return len;
    }
    size_t kept = t->response->len;
    if (kept + len > t->response_cap)
        return end_transfer(t, SL_E_LIMIT);
    return append(&t->response->body, &t->response->len, bytes, len) ? len
                                                                     : end_transfer(t, SL_E_NOMEM);
}

static uint64_t body_bytes(const sl_http_request *request) {
    return request->has_file ? request->body_bytes : request->body.len;
}

static size_t give_body(char *to, size_t size, size_t cnt, void *arg) {
    transfer *t = arg;
    uint64_t left = body_bytes(t->request) - t->body_at;
    size_t len = size * cnt < left ? size * cnt : (size_t)left;
    if (!t->request->has_file) {
        memcpy(to, t->request->body.ptr + t->body_at, len);
    } else if (len) {
        ssize_t n =
            sl_sys_pread(t->request->body_fd, to, len, t->request->body_offset + t->body_at);
        if (n <= 0) {
            errno = n < 0 ? errno : 0;
            t->failure = SL_E_READ;
            t->sys_errno = errno;
            return CURL_READFUNC_ABORT;
        }
        len = (size_t)n;
    }
    t->body_at += len;
    return len;
}

/* A connection that was kept and has died makes libcurl send the body once more. */
static int seek_body(void *arg, curl_off_t offset, int origin) {
    transfer *t = arg;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > body_bytes(t->request))
        return CURL_SEEKFUNC_CANTSEEK;
    t->body_at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* libcurl asks at least once per second. */
static int is_stopped(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
                      curl_off_t up_now) {
    const transfer *t = arg;
    SL_UNUSED(total), SL_UNUSED(now), SL_UNUSED(up_total), SL_UNUSED(up_now);
    return *t->http->options.stop != 0;
}

static bool add_header(transfer *t, const char *line) {
    struct curl_slist *grown = t->http->curl->slist_append(t->headers, line);
    if (grown)
        t->headers = grown;
    return grown != NULL;
}

/* libcurl would wait a second for "100 Continue". */
static bool set_headers(transfer *t) {
    bool is_set = add_header(t, "Expect:");
    for (const char *const *line = t->request->headers; is_set && line && *line; line++)
        is_set = add_header(t, *line);
    return is_set;
}

#define SET(option, value) curl->easy_setopt(easy, option, value)

static void set_limits(const sl_http *http, const sl_http_request *request) {
    const sl_curl_functions *curl = http->curl;
    const sl_http_options *o = &http->options;
    CURL *easy = http->easy;
    long total_ms = request->total_ms ? request->total_ms : o->total_ms;
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_ms ? o->connect_ms : CONNECT_MS_DEFAULT));
    SET(CURLOPT_TIMEOUT_MS, total_ms ? total_ms : (long)TOTAL_MS_DEFAULT);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)(o->silence_s ? o->silence_s : SILENCE_S_DEFAULT));
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_USERAGENT, "stormlog/" SL_BUILD_VERSION);
    SET(CURLOPT_MAXCONNECTS, 4L);
    SET(CURLOPT_BUFFERSIZE, 16384L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
}

static void set_identity(const sl_http *http) {
    const sl_curl_functions *curl = http->curl;
    const sl_http_options *o = &http->options;
    CURL *easy = http->easy;
    if (o->ca_file)
        SET(CURLOPT_CAINFO, o->ca_file);
    if (o->unix_socket)
        SET(CURLOPT_UNIX_SOCKET_PATH, o->unix_socket);
    if (o->aws_sigv4)
        SET(CURLOPT_AWS_SIGV4, o->aws_sigv4);
    if (o->user_password)
        SET(CURLOPT_USERPWD, o->user_password);
    if (o->bearer_token) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        SET(CURLOPT_XOAUTH2_BEARER, o->bearer_token);
    }
}

/* An upload for every method with a body, so that it can come from a file; the method's own name
 * replaces libcurl's "PUT". */
static void set_body(transfer *t) {
    const sl_curl_functions *curl = t->http->curl;
    CURL *easy = t->http->easy;
    if (strcmp(t->request->method, "GET") == 0)
        return;
    if (strcmp(t->request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
        return;
    }
    SET(CURLOPT_CUSTOMREQUEST, t->request->method);
    if (strcmp(t->request->method, "DELETE") == 0)
        return;
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)body_bytes(t->request));
    SET(CURLOPT_READFUNCTION, give_body);
    SET(CURLOPT_READDATA, t);
    SET(CURLOPT_SEEKFUNCTION, seek_body);
    SET(CURLOPT_SEEKDATA, t);
}

static void set_callbacks(transfer *t) {
    const sl_curl_functions *curl = t->http->curl;
    CURL *easy = t->http->easy;
    SET(CURLOPT_URL, t->request->url);
    SET(CURLOPT_ERRORBUFFER, t->http->error);
    SET(CURLOPT_HTTPHEADER, t->headers);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, t);
    if (t->http->options.stop) {
        SET(CURLOPT_NOPROGRESS, 0L);
        SET(CURLOPT_XFERINFOFUNCTION, is_stopped);
        SET(CURLOPT_XFERINFODATA, t);
    }
}

static void read_facts(transfer *t) {
    const sl_curl_functions *curl = t->http->curl;
    CURL *easy = t->http->easy;
    long status = 0, header_bytes = 0, request_bytes = 0;
    curl_off_t uploaded = 0, downloaded = 0, wait_s = 0;
    curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl->easy_getinfo(easy, CURLINFO_HEADER_SIZE, &header_bytes);
    curl->easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    curl->easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
    curl->easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &downloaded);
    curl->easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
    t->response->status = (int)status;
    t->response->retry_after_s = wait_s > 0 && wait_s < 86400 ? (uint32_t)wait_s : 0;
    t->response->sent_bytes = (uint64_t)request_bytes + (uint64_t)uploaded;
    t->response->received_bytes = (uint64_t)header_bytes + (uint64_t)downloaded;
}

/* The failures that come from the request, not from the network. An unsupported protocol is the
 * server's here: the URL's was checked. */
static sl_status status_of(CURLcode code) {
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CACERT_BADFILE: return SL_E_USAGE;
    case CURLE_OUT_OF_MEMORY: return SL_E_NOMEM;
    default: return SL_E_NETWORK;
    }
}

static sl_status explain(const transfer *t, CURLcode code, sl_error *err) {
    char url[160];
    clean_url(t->request->url, url, sizeof url);
    errno = t->sys_errno;
    switch (t->failure) {
    case SL_E_LIMIT:
        return sl_fail(
            err, SL_E_LIMIT, "%s: the response is larger than %llu bytes", url,
            (unsigned long long)(t->filed_bytes ? t->request->file_max : t->response_cap));
    case SL_E_WRITE: return sl_fail_errno(err, SL_E_WRITE, "%s: cannot write the response", url);
    case SL_E_READ:
        return t->sys_errno ? sl_fail_errno(err, SL_E_READ, "%s: cannot read the file to send", url)
                            : sl_fail(err, SL_E_READ,
                                      "%s: the file to send became shorter: expected %llu bytes, "
                                      "found %llu",
                                      url, (unsigned long long)body_bytes(t->request),
                                      (unsigned long long)t->body_at);
    case SL_E_NOMEM: return sl_fail_no_memory(err, "the response of %s", url);
    default: break;
    }
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
        return sl_fail(err, SL_E_NETWORK, "%s: the server's answer is not HTTP", url);
    const char *why = t->http->error[0] ? t->http->error : t->http->curl->easy_strerror(code);
    const char *fix = code == CURLE_PEER_FAILED_VERIFICATION && !t->http->options.ca_file
                          ? "; --ca-file names other certificates to trust"
                          : "";
    return sl_fail(err, status_of(code), "%s: %s%s", url, why, fix);
}

sl_status sl_http_open(sl_http **http, const sl_http_options *options, sl_error *err) {
    *http = NULL;
    const sl_curl_functions *curl = sl_curl_load(err);
    if (!curl)
        return SL_E_UNSUPPORTED;
    sl_http *client = calloc(1, sizeof *client);
    CURL *easy = client ? curl->easy_init() : NULL;
    if (!easy) {
        free(client);
        return sl_fail_no_memory(err, "an HTTP client");
    }
    *client = (sl_http){.curl = curl, .easy = easy, .options = *options};
    *http = client;
    return SL_OK;
}

void sl_http_close(sl_http *http) {
    if (!http)
        return;
    http->curl->easy_cleanup(http->easy);
    free(http);
}

sl_status sl_http_send(sl_http *http, const sl_http_request *request, sl_http_response *response,
                       sl_error *err) {
    *response = (sl_http_response){0};
    if (strncasecmp(request->url, "http://", 7) != 0 &&
        strncasecmp(request->url, "https://", 8) != 0)
        return sl_fail(err, SL_E_USAGE,
                       "expected a URL that begins with http:// or https://, found '%.80s'",
                       request->url);
    size_t max = http->options.response_max;
    transfer t = {.http = http,
                  .request = request,
                  .response = response,
                  .response_cap = max ? max : RESPONSE_DEFAULT};
    if (!set_headers(&t)) {
        http->curl->slist_free_all(t.headers);
        return sl_fail_no_memory(err, "the headers of a request");
    }
    http->error[0] = '\0';
    http->curl->easy_reset(http->easy); /* options only: connections are kept */
    set_limits(http, request);
    set_identity(http);
    set_body(&t);
    set_callbacks(&t);
    CURLcode code = http->curl->easy_perform(http->easy);
    read_facts(&t);
    http->curl->slist_free_all(t.headers);
    if (code == CURLE_OK && response->status == 0) /* HTTP/0.9 and the like */
        code = CURLE_WEIRD_SERVER_REPLY;
    if (code == CURLE_OK)
        return SL_OK;
    response->status = 0;
    return explain(&t, code, err);
}

#else

sl_status sl_http_open(sl_http **http, const sl_http_options *options, sl_error *err) {
    SL_UNUSED(options);
    *http = NULL;
    return sl_fail(err, SL_E_UNSUPPORTED,
                   "this build cannot send over HTTP: it was made without libcurl");
}

void sl_http_close(sl_http *http) {
    SL_UNUSED(http);
}

sl_status sl_http_send(sl_http *http, const sl_http_request *request, sl_http_response *response,
                       sl_error *err) {
    SL_UNUSED(http);
    SL_UNUSED(request);
    *response = (sl_http_response){0};
    return sl_fail(err, SL_E_UNSUPPORTED, "this build has no HTTP client");
}

#endif
