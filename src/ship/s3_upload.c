/* SPDX-License-Identifier: MIT */
/* A multipart upload that survives its process. After each part the server's receipt (ETag) is appended
 * to a small file in the state folder; the next call for the same bytes goes on after the last one:
 *
 *     stormlog.upload/1 <sum of the file> <bytes> <bytes of a part>
 *     <upload id>
 *     <number> <receipt>
 *     ...
 *
 * A line that is not complete is not there: it is sent again. The file is the caller's own; one that
 * does not fit the upload is discarded, never believed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/str.h"
#include "base/core/vec.h"
#include "ship/s3_request.h"
#include "ship/s3_xml.h"

#define PART_BYTES  ((uint64_t)8 << 20)
#define PARTS_MAX   9000u /* servers allow 10,000 */
#define RECEIPT_CAP 128
#define ID_CAP      512

typedef struct receipt {
    char text[RECEIPT_CAP];
} receipt;

typedef struct upload {
    sl_s3 *s3;
    const sl_ship_file *file;
    uint64_t part_bytes;
    char id[ID_CAP];
    SL_VEC(receipt) receipts; /* of the parts 1, 2, … */
    char *state_path;         /* owned */
    FILE *state;              /* open for appending */
} upload;

static uint64_t part_bytes_of(uint64_t bytes) {
    uint64_t part = PART_BYTES;
    while (bytes / part >= PARTS_MAX)
        part *= 2;
    return part;
}

/* ---- the note about it ---- */

/* Named by server, bucket, key and contents, so it belongs to this upload only. */
static char *make_state_path(const sl_s3 *s3, const sl_ship_file *file) {
    char text[SL_S3_URL_CAP], hex[SL_SHA256_HEX_CAP], *path = NULL;
    sl_sha256 sha;
    int len = snprintf(text, sizeof text, "%s\n%s\n%s%s\n%s", s3->endpoint, s3->bucket, s3->prefix,
                       file->key, file->sha256);
    sl_sha256_init(&sha);
    sl_sha256_add(&sha, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
    sl_sha256_hex(&sha, hex);
    return asprintf(&path, "%s/upload-%.32s", s3->state_folder, hex) < 0 ? NULL : path;
}

static bool is_word(const char *text, size_t cap) {
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (text[i] <= 0x20 || text[i] >= 0x7f)
            return false;
    return len > 0 && len < cap;
}

/* The next whole line, without its end. */
static bool read_line(FILE *file, char *line, size_t cap) {
    if (!fgets(line, (int)cap, file))
        return false;
    size_t len = strcspn(line, "\n");
    bool is_whole = line[len] == '\n';
    line[len] = '\0';
    return is_whole;
}

static bool read_state(upload *u, FILE *file) {
    char line[ID_CAP + RECEIPT_CAP], expected[160];
    snprintf(expected, sizeof expected, "stormlog.upload/1 %s %" PRIu64 " %" PRIu64,
             u->file->sha256, u->file->bytes, u->part_bytes);
    if (!read_line(file, line, sizeof line) || strcmp(line, expected) != 0 ||
        !read_line(file, line, sizeof line) || !is_word(line, sizeof u->id))
        return false;
    memcpy(u->id, line, strlen(line) + 1); /* is_word has seen that it fits */
    while (read_line(file, line, sizeof line)) {
        receipt one;
        char *text = strchr(line, ' ');
        if (!text || strtoull(line, NULL, 10) != u->receipts.cnt + 1 ||
            !is_word(text + 1, sizeof one.text))
            break;
        snprintf(one.text, sizeof one.text, "%s", text + 1);
        if (u->receipts.cnt * u->part_bytes >= u->file->bytes || !sl_vec_push(&u->receipts, one))
            break;
    }
    return true;
}

static void forget(upload *u) {
    if (u->state)
        fclose(u->state);
    u->state = NULL;
    unlink(u->state_path);
    u->receipts.cnt = 0;
    u->id[0] = '\0';
}

/* Written anew with what was understood, so that a torn last line does not stay in the middle. */
static sl_status begin_state(upload *u, sl_error *err) {
    int fd = open(u->state_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    u->state = fd < 0 ? NULL : fdopen(fd, "w");
    if (!u->state) {
        if (fd >= 0)
            close(fd);
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", u->state_path);
    }
    fprintf(u->state, "stormlog.upload/1 %s %" PRIu64 " %" PRIu64 "\n%s\n", u->file->sha256,
            u->file->bytes, u->part_bytes, u->id);
    for (size_t i = 0; i < u->receipts.cnt; i++)
        fprintf(u->state, "%zu %s\n", i + 1, u->receipts.at[i].text);
    return fflush(u->state) == 0
               ? SL_OK
               : sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", u->state_path);
}

/* ---- requests ---- */

static sl_status begin_upload(upload *u, sl_error *err) {
    sl_http_response response;
    sl_s3_call call = {.method = "POST", .key = u->file->key, .query = "uploads="};
    sl_status status = sl_s3_send(u->s3, &call, &response, err);
    sl_str answer = {response.body ? response.body : "", response.len};
    if (status == SL_OK &&
        (!sl_s3_xml_text(answer, "UploadId", u->id, sizeof u->id) || !is_word(u->id, sizeof u->id)))
        status = sl_fail(err, SL_E_FORMAT, "%s: expected the id of an upload, found none",
                         u->s3->endpoint);
    sl_http_response_fini(&response);
    return status;
}

static sl_status make_query(const upload *u, size_t part, char *query, size_t cap, sl_error *err) {
    snprintf(query, cap, part ? "partNumber=%zu&uploadId=" : "uploadId=", part);
    return sl_url_add(query, cap, sl_str_of(u->id), false)
               ? SL_OK
               : sl_fail(err, SL_E_LIMIT, "the id of an upload is too long");
}

static sl_status send_part(upload *u, sl_ship_put *put, sl_error *err) {
    char query[3 * ID_CAP + 64];
    receipt one = {{0}};
    uint64_t offset = u->receipts.cnt * u->part_bytes, left = u->file->bytes - offset;
    sl_http_response response;
    SL_TRY(make_query(u, u->receipts.cnt + 1, query, sizeof query, err));
    sl_s3_call call = {.method = "PUT",
                       .key = u->file->key,
                       .query = query,
                       .file = u->file,
                       .offset = offset,
                       .bytes = left < u->part_bytes ? left : u->part_bytes};
    sl_status status = sl_s3_send(u->s3, &call, &response, err);
    sl_str etag = sl_http_header(&response, "ETag");
    snprintf(one.text, sizeof one.text, "%.*s", (int)(etag.len < RECEIPT_CAP ? etag.len : 0),
             etag.ptr);
    sl_http_response_fini(&response);
    SL_TRY(status);
    if (!is_word(one.text, sizeof one.text))
        return sl_fail(err, SL_E_FORMAT, "%s: expected a receipt (ETag) for a part, found none",
                       u->s3->endpoint);
    if (!sl_vec_push(&u->receipts, one))
        return sl_fail_no_memory(err, "an upload");
    put->sent_bytes += call.bytes;
    fprintf(u->state, "%zu %s\n", u->receipts.cnt, one.text);
    return fflush(u->state) == 0
               ? SL_OK
               : sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", u->state_path);
}

static sl_status check_end(const upload *u, sl_str answer, sl_error *err) {
    char words[160] = "";
    if (!sl_str_contains(answer, SL_STR("<Error>")))
        return SL_OK; /* an error may come with status 200, because the answer takes long */
    sl_s3_xml_text(answer, "Message", words, sizeof words);
    return sl_fail(err, SL_E_NETWORK, "%s: the upload could not be completed: %s", u->s3->endpoint,
                   words);
}

static sl_status end_upload(upload *u, sl_error *err) {
    char query[3 * ID_CAP + 64], *body = NULL;
    size_t len = 0;
    SL_TRY(make_query(u, 0, query, sizeof query, err));
    FILE *to = open_memstream(&body, &len);
    if (!to)
        return sl_fail_no_memory(err, "an upload");
    fputs("<CompleteMultipartUpload>", to);
    for (size_t i = 0; i < u->receipts.cnt; i++) {
        fprintf(to, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        for (const char *c = u->receipts.at[i].text; *c; c++)
            fputs(*c == '&' ? "&amp;" : *c == '<' ? "&lt;" : (char[]){*c, 0}, to);
        fputs("</ETag></Part>", to);
    }
    fputs("</CompleteMultipartUpload>", to);
    if (fclose(to) != 0) {
        free(body);
        return sl_fail_no_memory(err, "an upload");
    }
    sl_http_response response;
    sl_s3_call call = {.method = "POST", .key = u->file->key, .query = query, .body = {body, len}};
    sl_status status = sl_s3_send(u->s3, &call, &response, err);
    if (status == SL_OK)
        status = check_end(u, (sl_str){response.body ? response.body : "", response.len}, err);
    sl_http_response_fini(&response);
    free(body);
    return status;
}

static sl_status send_all(upload *u, sl_ship_put *put, sl_error *err) {
    if (!*u->id)
        SL_TRY(begin_upload(u, err));
    SL_TRY(begin_state(u, err));
    while (u->receipts.cnt * u->part_bytes < u->file->bytes) {
        if (u->s3->patience.stop && *u->s3->patience.stop)
            return sl_fail(err, SL_E_SYSTEM, "interrupted");
        SL_TRY(send_part(u, put, err));
    }
    return end_upload(u, err);
}

/* The server may have forgotten the upload, or never have had a part of it: then all of it is sent anew,
 * once. */
static sl_status resume_or_begin(upload *u, sl_ship_put *put, sl_error *err) {
    FILE *file = fopen(u->state_path, "re");
    bool is_known = file && read_state(u, file);
    if (file)
        fclose(file);
    if (!is_known)
        forget(u);
    put->resumed_bytes = u->receipts.cnt * u->part_bytes < u->file->bytes
                             ? u->receipts.cnt * u->part_bytes
                             : u->file->bytes;
    sl_status status = send_all(u, put, err);
    if (is_known && status == SL_E_REFUSED) {
        forget(u);
        *put = (sl_ship_put){0};
        status = send_all(u, put, err);
    }
    if (status == SL_OK)
        forget(u);
    return status;
}

sl_status sl_s3_upload(sl_s3 *s3, const sl_ship_file *file, sl_ship_put *put, sl_error *err) {
    upload *u = calloc(1, sizeof *u);
    if (!u)
        return sl_fail_no_memory(err, "an upload");
    *u = (upload){.s3 = s3, .file = file, .part_bytes = part_bytes_of(file->bytes)};
    u->state_path = make_state_path(s3, file);
    sl_status status =
        u->state_path ? resume_or_begin(u, put, err) : sl_fail_no_memory(err, "an upload");
    if (u->state)
        fclose(u->state);
    sl_vec_free(&u->receipts);
    free(u->state_path);
    free(u);
    return status;
}
