/* SPDX-License-Identifier: MIT */
/* An HTTP client: one request at a time over kept-alive connections, by libcurl. Only http:// and
 * https://; certificates are checked, redirects are not followed, and a response is limited in size
 * and in time. A client belongs to one thread. Messages never contain a token, a password or the
 * query of a URL.
 *
 *     sl_http *http;
 *     SL_TRY(sl_http_open(&http, &(sl_http_options){.bearer_token = token}, err));
 *     sl_http_response response;
 *     sl_status sent = sl_http_send(http, &request, &response, err);
 *     switch (sl_http_judge(sent, response.status)) …          net/http_retry.h
 *     sl_http_response_fini(&response);
 *     sl_http_close(http);
 *
 * SIGPIPE must be ignored by a program that sends, because TLS libraries may raise it. */
#ifndef SL_HTTP_H
#define SL_HTTP_H

#include <signal.h>

#include "base/core/progress_fn.h"
#include "base/core/status.h"

typedef struct sl_http sl_http;

/* Zero-initialised is the default of everything. The texts are borrowed until sl_http_close. */
typedef struct sl_http_options {
    const char *bearer_token;  /* sent as "Authorization: Bearer …" */
    const char *user_password; /* "user:password": basic authentication, or the keys of aws_sigv4 */
    const char *aws_sigv4;     /* "aws:amz:REGION:s3": requests are signed with user_password */
    const char *ca_file;       /* PEM; the system's certificates otherwise */
    const char *unix_socket;   /* connect to this socket, whatever host the URL names */
    uint32_t connect_ms;       /* limit of the connection, 0 = 2 s */
    uint32_t total_ms;         /* limit of the whole request, 0 = 10 s */
    uint32_t silence_s;        /* limit without a byte in either direction, 0 = 60 s */
    const sl_stop_flag *stop;  /* set from outside: a request ends within a second; may be NULL */
    size_t response_max;       /* bytes of a response kept in memory, 0 = 64 KiB */
} sl_http_options;

/* Opens a client; the first one of a program loads libcurl. SL_E_UNSUPPORTED without it. */
sl_status sl_http_open(sl_http **http, const sl_http_options *options, sl_error *err);

/* Fine with NULL. */
void sl_http_close(sl_http *http);

typedef struct sl_http_request {
    const char *method; /* "GET", "PUT", "POST", "DELETE", "HEAD" */
    const char *url;
    const char *const *headers; /* "Name: value", ended by NULL; may be NULL */
    sl_str body;                /* from memory, or … */
    bool has_file;              /* … body_bytes of body_fd from body_offset */
    int body_fd;
    uint64_t body_offset, body_bytes;
    bool to_file; /* the body of a 2xx response is written to response_fd */
    int response_fd;
    uint64_t file_max; /* at most so many bytes of it (SL_E_LIMIT); 0 = without a limit */
    uint32_t total_ms; /* instead of the client's limit, when not 0; for large bodies */
} sl_http_request;

typedef struct sl_http_response {
    int status;             /* 200, 404, …; 0 = no response */
    uint32_t retry_after_s; /* 0 = the server did not ask for a wait */
    char *body;             /* owned, terminated; NULL when empty */
    size_t len;
    char *headers; /* owned: lines of the response's header, at most 16 KiB; NULL without one */
    uint64_t sent_bytes, received_bytes; /* bodies and headers, as on the wire before TLS */
} sl_http_response;

/* SL_OK when a complete response arrived, whatever its status. SL_E_NETWORK when there was none:
 * not reached, timed out, broken off, not HTTP, a certificate that does not fit. SL_E_LIMIT when
 * the response is larger than response_max, SL_E_USAGE for a URL that cannot be used, SL_E_READ and
 * SL_E_WRITE for the two files. `response` is always set and must be given to
 * sl_http_response_fini. */
sl_status sl_http_send(sl_http *http, const sl_http_request *request, sl_http_response *response,
                       sl_error *err);

void sl_http_response_fini(sl_http_response *response);

/* The value of the last header of this name (any case), without white space; empty when there is
 * none. Borrowed. */
sl_str sl_http_header(const sl_http_response *response, const char *name);

/* The first line of a response's body for a message: at most `cap` - 1 bytes, printable. */
void sl_http_first_line(const sl_http_response *response, char *to, size_t cap);

#endif
