/* SPDX-License-Identifier: MIT */
#include "cli/ship/secret_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_secret_free(char *secret) {
    if (secret)
        explicit_bzero(secret, SL_SECRET_CAP);
    free(secret);
}

/* Its length; 0 for one that is not a single line of printable characters. */
static size_t read_line(FILE *file, char *line) {
    setvbuf(file, NULL, _IONBF, 0); /* no second copy of it in a buffer */
    if (!fgets(line, SL_SECRET_CAP, file))
        return 0;
    size_t len = strcspn(line, "\r\n");
    line[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if (line[i] <= 0x20 || line[i] >= 0x7f)
            return 0;
    return len + 1 < SL_SECRET_CAP ? len : 0;
}

sl_status sl_secret_read(const char *path, char **secret, sl_error *err) {
    *secret = NULL;
    if (!path)
        return SL_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", path);
    char *line = calloc(1, SL_SECRET_CAP);
    size_t len = line ? read_line(file, line) : 0;
    fclose(file);
    if (len) {
        *secret = line;
        return SL_OK;
    }
    sl_secret_free(line);
    return sl_fail(err, SL_E_FORMAT,
                   "'%s': expected a line of at most %d printable characters without blanks", path,
                   SL_SECRET_CAP - 2);
}
