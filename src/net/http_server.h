/* SPDX-License-Identifier: MIT */
/* A small HTTP server for one page of text, by libmicrohttpd in a thread of its own: GET and HEAD, nothing else. On
 * a loopback address, or behind a bearer token, or on a unix socket that only its owner may open. */
#ifndef SL_HTTP_SERVER_H
#define SL_HTTP_SERVER_H

#include <stdio.h>

#include "base/core/status.h"

typedef struct sl_http_server sl_http_server;

/* Writes the page. `client` names who asks: the value of ?client=, or the address. Called in the server's thread, one
 * call at a time. */
typedef sl_status (*sl_http_page_fn)(void *self, const char *client, FILE *to, sl_error *err);

typedef struct sl_http_server_options {
    const char *listen;       /* "127.0.0.1:9464", "[::1]:9464", "unix:/run/x.sock" */
    const char *bearer_token; /* NULL = none; must be given unless listen is loopback or a socket */
    const char *tls_cert_file, *tls_key_file; /* PEM; both or neither */
    const char *path;                         /* "/metrics" */
    const char *content_type;
    sl_http_page_fn page;
    void *self;
} sl_http_server_options;

/* The texts are borrowed until it is stopped. SL_E_USAGE for an address that is open to others without a token,
 * SL_E_NETWORK when the address is taken, SL_E_UNSUPPORTED without libmicrohttpd. */
sl_status sl_http_server_start(const sl_http_server_options *options, sl_http_server **out,
                               sl_error *err);
void sl_http_server_stop(sl_http_server *server); /* NULL is fine */

/* The port it listens on (useful when 0 was given); 0 for a unix socket. */
unsigned sl_http_server_port(const sl_http_server *server);

#endif
