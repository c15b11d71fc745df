/* SPDX-License-Identifier: MIT */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/str.h"
#include "sl_config.h"

#if HAVE_MICROHTTPD
#include "net/mhd_load.h"

/* A scraper that is slow, or never reads, is dropped after this many seconds. */
#define CONNECTION_S     15u
#define CONNECTIONS_MAX  32u
#define CONNECTION_BYTES ((size_t)16 << 10)
#define PEM_MAX          ((size_t)1 << 20)

struct sl_http_server {
    const sl_mhd_functions *mhd;
    sl_http_server_options options;
    struct MHD_Daemon *daemon;
    int fd;
    unsigned port;
    char *cert, *key;        /* owned */
    const char *socket_path; /* to remove at the end; borrowed */
};

/* ---- answering ---- */

static enum MHD_Result answer(const sl_http_server *s, struct MHD_Connection *connection,
                              unsigned status, char *text, size_t len, const char *type) {
    struct MHD_Response *response =
        s->mhd->create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    s->mhd->add_response_header(response, "Content-Type", type);
    if (status == MHD_HTTP_UNAUTHORIZED)
        s->mhd->add_response_header(response, "WWW-Authenticate", "Bearer");
    enum MHD_Result result = s->mhd->queue_response(connection, status, response);
    s->mhd->destroy_response(response);
    return result;
}

static enum MHD_Result answer_words(const sl_http_server *s, struct MHD_Connection *connection,
                                    unsigned status, const char *words) {
    char *copy = strdup(words);
    return copy ? answer(s, connection, status, copy, strlen(copy), "text/plain; charset=utf-8")
                : MHD_NO;
}

/* In a time that does not show how much of it was right. */
static bool is_token(const char *given, const char *token) {
    size_t given_len = strlen(given), len = strlen(token);
    unsigned difference = given_len != len;
    for (size_t i = 0; i < given_len; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)token[i < len ? i : 0];
    return difference == 0;
}

static bool is_permitted(const sl_http_server *s, struct MHD_Connection *connection) {
    static const char scheme[] = "Bearer ";
    if (!s->options.bearer_token)
        return true;
    const char *header =
        s->mhd->lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    return header && strncasecmp(header, scheme, sizeof scheme - 1) == 0 &&
           is_token(header + sizeof scheme - 1, s->options.bearer_token);
}

static void name_client(const sl_http_server *s, struct MHD_Connection *connection, char *to,
                        size_t cap) {
    const char *given =
        s->mhd->lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "client");
    const union MHD_ConnectionInfo *info =
        s->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    snprintf(to, cap, "%s", given ? given : "");
    if (given || !info || !info->client_addr)
        return;
    const struct sockaddr *address = info->client_addr;
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, to,
                  (socklen_t)cap);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, to,
                  (socklen_t)cap);
}

static enum MHD_Result answer_page(sl_http_server *s, struct MHD_Connection *connection) {
    char client[64], *text = NULL;
    size_t len = 0;
    sl_error err = SL_ERROR_INIT;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return MHD_NO;
    name_client(s, connection, client, sizeof client);
    sl_status status = s->options.page(s->options.self, client, to, &err);
    if (fclose(to) != 0 || status < 0) {
        free(text);
        return answer_words(s, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, err.text);
    }
    return answer(s, connection, MHD_HTTP_OK, text, len, s->options.content_type);
}

static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_len, void **request) {
    sl_http_server *s = self;
    SL_UNUSED(version);
    SL_UNUSED(upload);
    SL_UNUSED(request);
    if (*upload_len)
        return MHD_NO;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_words(s, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    if (!is_permitted(s, connection))
        return answer_words(s, connection, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed\n");
    if (strcmp(url, s->options.path) != 0)
        return answer_words(s, connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
    return answer_page(s, connection);
}

/* ---- listening ---- */

static sl_status listen_unix(sl_http_server *s, const char *path, sl_error *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(path) == 0 || strlen(path) >= sizeof at.sun_path)
        return sl_fail(err, SL_E_USAGE, "expected a socket path of 1 to %zu bytes, found '%s'",
                       sizeof at.sun_path - 1, path);
    memcpy(at.sun_path, path, strlen(path) + 1);
    /* One that is there is of an agent that was killed: the lock of the state folder keeps two apart. */
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(path);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Linux gives the file the mode of the unbound socket, so that at no moment anybody else may open it. */
    if (s->fd < 0 || fchmod(s->fd, 0600) < 0 ||
        bind(s->fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(s->fd, 16) < 0)
        return sl_fail_errno(err, SL_E_NETWORK, "cannot listen on '%s'", path);
    s->socket_path = path;
    return SL_OK;
}

static bool is_loopback(const struct addrinfo *at) {
    if (at->ai_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)at->ai_addr;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)at->ai_addr;
    return at->ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static sl_status listen_at(sl_http_server *s, const struct addrinfo *at, sl_error *err) {
    int yes = 1;
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    if (!is_loopback(at) && !s->options.bearer_token)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' can be reached from other machines: give --token-file, or listen on "
                       "127.0.0.1 or a unix socket",
                       s->options.listen);
    s->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd >= 0)
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s->fd < 0 || bind(s->fd, at->ai_addr, at->ai_addrlen) < 0 || listen(s->fd, 16) < 0 ||
        getsockname(s->fd, (struct sockaddr *)&bound, &len) < 0)
        return sl_fail_errno(err, SL_E_NETWORK, "cannot listen on '%s'", s->options.listen);
    s->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                                                : ((struct sockaddr_in *)(void *)&bound)->sin_port);
    return SL_OK;
}

static sl_status listen_tcp(sl_http_server *s, sl_error *err) {
    char host[128];
    const char *text = s->options.listen, *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (!colon || len == 0 || len >= sizeof host || !colon[1])
        return sl_fail(err, SL_E_USAGE, "expected ADDRESS:PORT or unix:PATH, found '%s'", text);
    bool is_bracketed = text[0] == '[' && text[len - 1] == ']' && len > 2;
    snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? len - 2 : len), text + is_bracketed);
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    int code = getaddrinfo(host, colon + 1, &wanted, &found);
    if (code != 0)
        return sl_fail(err, SL_E_USAGE, "cannot listen on '%s': %s", text, gai_strerror(code));
    sl_status status = listen_at(s, found, err);
    freeaddrinfo(found);
    return status;
}

/* ---- starting ---- */

static sl_status read_pem(const char *path, char **out, sl_error *err) {
    FILE *file = fopen(path, "re");
    char *text = file ? calloc(1, PEM_MAX + 1) : NULL;
    if (!text) {
        sl_status status = sl_fail_errno(err, SL_E_OPEN, "cannot read '%s'", path);
        if (file)
            fclose(file);
        return status;
    }
    size_t len = fread(text, 1, PEM_MAX, file);
    fclose(file);
    *out = realloc(text, len + 1);
    return SL_OK;
}

static sl_status start_daemon(sl_http_server *s, sl_error *err) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
    if (s->options.tls_cert_file) {
        SL_TRY(read_pem(s->options.tls_cert_file, &s->cert, err));
        SL_TRY(read_pem(s->options.tls_key_file, &s->key, err));
        s->daemon = s->mhd->start_daemon(
            flags | MHD_USE_TLS, 0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, s->fd,
            MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S, MHD_OPTION_CONNECTION_LIMIT,
            CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
            MHD_OPTION_HTTPS_MEM_CERT, s->cert, MHD_OPTION_HTTPS_MEM_KEY, s->key, MHD_OPTION_END);
    } else {
        s->daemon = s->mhd->start_daemon(
            flags, 0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, s->fd,
            MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S, MHD_OPTION_CONNECTION_LIMIT,
            CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_END);
    }
    if (!s->daemon)
        return sl_fail(err, SL_E_NETWORK, "libmicrohttpd cannot serve on '%s'%s", s->options.listen,
                       s->options.tls_cert_file ? ": check certificate and key" : "");
    return SL_OK;
}

sl_status sl_http_server_start(const sl_http_server_options *options, sl_http_server **out,
                               sl_error *err) {
    *out = NULL;
    const sl_mhd_functions *mhd = sl_mhd_load(err);
    if (!mhd)
        return SL_E_UNSUPPORTED;
    sl_http_server *s = calloc(1, sizeof *s);
    if (!s)
        return sl_fail_no_memory(err, "a server");
    *s = (sl_http_server){.mhd = mhd, .options = *options, .fd = -1};
    bool is_unix = strncmp(options->listen, "unix:", 5) == 0;
    sl_status status = is_unix ? listen_unix(s, options->listen + 5, err) : listen_tcp(s, err);
    if (status == SL_OK)
        status = start_daemon(s, err);
    if (status < 0)
        sl_http_server_stop(s);
    else
        *out = s;
    return status;
}

void sl_http_server_stop(sl_http_server *s) {
    if (!s)
        return;
    if (s->daemon)
        s->mhd->stop_daemon(s->daemon); /* closes the socket */
    else if (s->fd >= 0)
        close(s->fd);
    if (s->socket_path)
        unlink(s->socket_path);
    free(s->cert);
    free(s->key);
    free(s);
}

unsigned sl_http_server_port(const sl_http_server *s) {
    return s->port;
}

#else

sl_status sl_http_server_start(const sl_http_server_options *options, sl_http_server **out,
                               sl_error *err) {
    SL_UNUSED(options);
    *out = NULL;
    return sl_fail(err, SL_E_UNSUPPORTED,
                   "this build cannot serve over HTTP: it was made without libmicrohttpd");
}

void sl_http_server_stop(sl_http_server *server) {
    SL_UNUSED(server);
}

unsigned sl_http_server_port(const sl_http_server *server) {
    SL_UNUSED(server);
    return 0;
}

#endif
