/* SPDX-License-Identifier: MIT */
/* The client against a server of one thread that answers with what the test wrote down. */
#include "net/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/str.h"
#include "sl_config.h"
#include "sltest.h"

typedef struct server {
    int listener;
    unsigned port;
    const char *reply; /* NULL: take the request and never answer */
    size_t reply_len;
    size_t padding; /* bytes sent after the reply */
    pthread_t thread;
    char request[2048]; /* what came */
    size_t request_len;
    int client;
} server;

static size_t body_len(const char *request) {
    const char *header = strstr(request, "Content-Length: ");
    return header ? strtoul(header + 16, NULL, 10) : 0;
}

static bool is_complete(const server *s) {
    const char *end = strstr(s->request, "\r\n\r\n");
    return end && s->request_len >= (size_t)(end + 4 - s->request) + body_len(s->request);
}

static void *serve(void *arg) {
    server *s = arg;
    s->client = accept(s->listener, NULL, NULL);
    while (s->client >= 0 && !is_complete(s) && s->request_len + 1 < sizeof s->request) {
        ssize_t n =
            read(s->client, s->request + s->request_len, sizeof s->request - 1 - s->request_len);
        if (n <= 0)
            break;
        s->request_len += (size_t)n;
    }
    if (!s->reply)
        return NULL;
    ssize_t done = write(s->client, s->reply, s->reply_len);
    static char zeros[4096];
    for (size_t left = s->padding; done > 0 && left;) {
        done = send(s->client, zeros, left < sizeof zeros ? left : sizeof zeros, MSG_NOSIGNAL);
        left -= done > 0 ? (size_t)done : 0;
    }
    shutdown(s->client, SHUT_WR);
    return NULL;
}

static void start(server *s, const char *reply) {
    *s = (server){.reply = reply, .reply_len = reply ? strlen(reply) : 0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 4), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(server *s) {
    shutdown(s->listener, SHUT_RDWR); /* wakes an accept that nobody answered */
    pthread_join(s->thread, NULL);
    close(s->client);
    close(s->listener);
}

/* One request to the server, and its end. */
static sl_status ask(server *s, const sl_http_options *options, sl_http_request *request,
                     sl_http_response *response, sl_error *err) {
    sl_http *http;
    char url[128];
    snprintf(url, sizeof url, "http://user:secret@127.0.0.1:%u/path?token=secret", s->port);
    request->url = request->url ? request->url : url;
    assert_int_equal(sl_http_open(&http, options, err), SL_OK);
    sl_status status = sl_http_send(http, request, response, err);
    stop(s);
    sl_http_close(http);
    return status;
}

static void a_request_and_its_response(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, "HTTP/1.1 201 Created\r\nETag: \"abc\"\r\nContent-Length: 5\r\n\r\nhello");
    sl_error err = SL_ERROR_INIT;
    sl_http_response response;
    const char *headers[] = {"X-Own: 1", NULL};
    sl_http_request request = {.method = "POST", .headers = headers, .body = SL_STR("a body")};
    sl_status status =
        ask(&s, &(sl_http_options){.bearer_token = "t0ken"}, &request, &response, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, SL_OK);
    assert_int_equal(response.status, 201);
    assert_string_equal(response.body, "hello");
    assert_true(sl_str_is(sl_http_header(&response, "etag"), "\"abc\""));
    assert_int_equal(sl_http_header(&response, "missing").len, 0);
    assert_non_null(strstr(s.request, "POST /path?token=secret HTTP/1.1\r\n"));
    assert_non_null(strstr(s.request, "Authorization: Bearer t0ken\r\n"));
    assert_non_null(strstr(s.request, "X-Own: 1\r\n"));
    assert_null(strstr(s.request, "Expect"));
    assert_non_null(strstr(s.request, "\r\n\r\na body"));
    assert_int_equal(response.sent_bytes, s.request_len);
    sl_http_response_fini(&response);
}

static void files_both_ways(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    sl_error err = SL_ERROR_INIT;
    sl_http_response response;
    FILE *from = tmpfile(), *to = tmpfile();
    fputs("0123456789", from);
    fflush(from);
    sl_http_request request = {.method = "PUT",
                               .has_file = true,
                               .body_fd = fileno(from),
                               .body_offset = 2,
                               .body_bytes = 6,
                               .to_file = true,
                               .response_fd = fileno(to)};
    assert_int_equal(ask(&s, &(sl_http_options){.response_max = 1}, &request, &response, &err),
                     SL_OK);
    assert_non_null(strstr(s.request, "\r\n\r\n234567"));
    char text[16] = {0};
    assert_int_equal(pread(fileno(to), text, sizeof text, 0), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(response.len, 0);
    sl_http_response_fini(&response);
    fclose(from);
    fclose(to);
}

/* Expects a failure with this text, and no secret in it. */
static void fails(server *s, const sl_http_options *options, sl_http_request *request,
                  sl_status expected, const char *text) {
    sl_error err = SL_ERROR_INIT;
    sl_http_response response;
    sl_status status = ask(s, options, request, &response, &err);
    if (status != expected || !strstr(err.text, text))
        fail_msg("expected %s with '%s', found %s: %s", sl_status_name(expected), text,
                 sl_status_name(status), err.text);
    assert_null(strstr(err.text, "secret"));
    assert_int_equal(response.status, 0);
    sl_http_response_fini(&response);
}

static void a_server_that_never_answers(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, NULL);
    fails(&s, &(sl_http_options){.total_ms = 50}, &(sl_http_request){.method = "GET"}, SL_E_NETWORK,
          "imed out");
}

/* A large body may take long, but not without a byte. */
static void a_server_that_is_silent(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, NULL);
    sl_http_request request = {.method = "GET", .total_ms = 600000};
    fails(&s, &(sl_http_options){.silence_s = 1}, &request, SL_E_NETWORK, "too slow");
}

static void a_server_that_answers_garbage(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, "SSH-2.0-OpenSSH_9.2\r\n");
    fails(&s, &(sl_http_options){0}, &(sl_http_request){.method = "GET"}, SL_E_NETWORK, "/path: ");
}

static void a_response_that_ends_early(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello");
    fails(&s, &(sl_http_options){0}, &(sl_http_request){.method = "GET"}, SL_E_NETWORK, "");
}

static void a_response_that_is_too_large(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, "HTTP/1.1 200 OK\r\n\r\n");
    s.padding = (size_t)1 << 20;
    fails(&s, &(sl_http_options){.response_max = 1000}, &(sl_http_request){.method = "GET"},
          SL_E_LIMIT, "larger than 1000 bytes");
}

static void a_file_that_is_too_short(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, NULL);
    FILE *from = tmpfile();
    fails(&s, &(sl_http_options){0},
          &(sl_http_request){
              .method = "PUT", .has_file = true, .body_fd = fileno(from), .body_bytes = 7},
          SL_E_READ, "expected 7 bytes, found 0");
    fclose(from);
}

static void only_http(void **state) {
    SL_UNUSED(state);
    server s;
    start(&s, NULL);
    fails(&s, &(sl_http_options){0},
          &(sl_http_request){.method = "GET", .url = "file:///etc/hostname"}, SL_E_USAGE,
          "found 'file:///etc/hostname'");
}

/* 429 is a response, not a failure; a redirect is not followed. */
static void answers_that_are_not_2xx(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *reply;
        int status;
        uint32_t retry_after_s;
    } cases[] = {
        {"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 429, 7},
        {"HTTP/1.1 503 No\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n", 503, 0},
        {"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302,
         0},
    };
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++) {
        server s;
        start(&s, cases[i].reply);
        sl_error err = SL_ERROR_INIT;
        sl_http_response response;
        assert_int_equal(
            ask(&s, &(sl_http_options){0}, &(sl_http_request){.method = "GET"}, &response, &err),
            SL_OK);
        assert_int_equal(response.status, cases[i].status);
        assert_int_equal(response.retry_after_s, cases[i].retry_after_s);
        sl_http_response_fini(&response);
    }
}

static void the_first_line_is_printable(void **state) {
    SL_UNUSED(state);
    char body[] = "bad \x1b[31m\nsecond";
    char line[8];
    sl_http_first_line(&(sl_http_response){.body = body, .len = sizeof body - 1}, line,
                       sizeof line);
    assert_string_equal(line, "bad ?[3");
    sl_http_first_line(&(sl_http_response){0}, line, sizeof line);
    assert_string_equal(line, "");
}

int main(void) {
#if HAVE_CURL
    setenv("no_proxy", "127.0.0.1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_and_its_response),
        cmocka_unit_test(files_both_ways),
        cmocka_unit_test(a_server_that_never_answers),
        cmocka_unit_test(a_server_that_is_silent),
        cmocka_unit_test(a_server_that_answers_garbage),
        cmocka_unit_test(a_response_that_ends_early),
        cmocka_unit_test(a_response_that_is_too_large),
        cmocka_unit_test(a_file_that_is_too_short),
        cmocka_unit_test(only_http),
        cmocka_unit_test(answers_that_are_not_2xx),
        cmocka_unit_test(the_first_line_is_printable),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
#else
    printf("1..0 # SKIP this build has no libcurl\n");
    return 0;
#endif
}
