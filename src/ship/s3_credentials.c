/* SPDX-License-Identifier: MIT */
#include "ship/s3_credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *env_text(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

const char *sl_s3_region(void) {
    const char *region = env_text("AWS_REGION");
    region = region ? region : env_text("AWS_DEFAULT_REGION");
    return region ? region : "us-east-1";
}

void sl_s3_credentials_fini(sl_s3_credentials *credentials) {
    explicit_bzero(credentials, sizeof *credentials);
}

typedef struct key_parts {
    char access[SL_S3_KEY_CAP / 2], secret[SL_S3_KEY_CAP / 2];
} key_parts;

/* "key = value" into the member of that name. */
static void take_line(char *line, key_parts *parts, sl_s3_credentials *out) {
    const struct {
        const char *name;
        char *to;
        size_t cap;
    } members[] = {{"aws_access_key_id", parts->access, sizeof parts->access},
                   {"aws_secret_access_key", parts->secret, sizeof parts->secret},
                   {"aws_session_token", out->token, sizeof out->token}};
    char *value = strchr(line, '=');
    if (!value)
        return;
    size_t len = (size_t)(value - line);
    while (len && strchr(" \t", line[len - 1]))
        len--;
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, " \t\r\n")] = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(members); i++)
        if (strlen(members[i].name) == len && strncmp(line, members[i].name, len) == 0)
            snprintf(members[i].to, members[i].cap, "%s", value);
}

static void read_file(FILE *file, const char *profile, key_parts *parts, sl_s3_credentials *out) {
    enum { LINE_CAP = SL_S3_TOKEN_CAP + 64 };
    char *line = malloc(LINE_CAP);
    bool is_ours = false;
    setvbuf(file, NULL, _IONBF, 0); /* no second copy in a buffer */
    while (line && fgets(line, LINE_CAP, file)) {
        char *at = line + strspn(line, " \t");
        if (*at == '[') {
            size_t len = strcspn(at + 1, "]\n");
            is_ours = strlen(profile) == len && strncmp(at + 1, profile, len) == 0;
        } else if (is_ours) {
            take_line(at, parts, out);
        }
    }
    if (line)
        explicit_bzero(line, LINE_CAP);
    free(line);
}

static sl_status find_in_file(key_parts *parts, sl_s3_credentials *out, sl_error *err) {
    const char *profile = env_text("AWS_PROFILE"), *path = env_text("AWS_SHARED_CREDENTIALS_FILE");
    const char *home = env_text("HOME");
    char in_home[1024];
    profile = profile ? profile : "default";
    snprintf(in_home, sizeof in_home, "%s/.aws/credentials", home ? home : "");
    FILE *file = fopen(path ? path : in_home, "re");
    if (file) {
        read_file(file, profile, parts, out);
        fclose(file);
    }
    if (*parts->access && *parts->secret)
        return SL_OK;
    return sl_fail(err, SL_E_PERMISSION,
                   "no keys for the S3 server: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                   "put the profile '%.60s' into '%.160s'",
                   profile, path ? path : in_home);
}

sl_status sl_s3_credentials_find(sl_s3_credentials *out, sl_error *err) {
    const char *access = env_text("AWS_ACCESS_KEY_ID"), *secret = env_text("AWS_SECRET_ACCESS_KEY");
    key_parts parts = {0};
    sl_status status = SL_OK;
    *out = (sl_s3_credentials){0};
    if (access && secret) {
        const char *token = env_text("AWS_SESSION_TOKEN");
        snprintf(parts.access, sizeof parts.access, "%s", access);
        snprintf(parts.secret, sizeof parts.secret, "%s", secret);
        snprintf(out->token, sizeof out->token, "%s", token ? token : "");
    } else {
        status = find_in_file(&parts, out, err);
    }
    snprintf(out->keys, sizeof out->keys, "%s:%s", parts.access, parts.secret);
    explicit_bzero(&parts, sizeof parts);
    return status;
}
