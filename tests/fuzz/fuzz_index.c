/* SPDX-License-Identifier: MIT */
/* Any bytes as the index of a shipped run and as an S3 server's list: names that can only be recordings of
 * one folder, or one error with a text. What was accepted is written and read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "ship/s3_xml.h"
#include "ship/ship_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const sl_ship_index *index) {
    for (size_t i = 0; i < index->files.cnt; i++) {
        const sl_ship_entry *entry = &index->files.at[i];
        if (!sl_ship_name_is_good(sl_str_of(entry->name)) || strchr(entry->name, '/') ||
            entry->name[0] == '.' || !entry->bytes || !sl_sha256_is_hex(sl_str_of(entry->sha256)) ||
            sl_ship_index_find(index, entry->name) != entry ||
            (i > 0 && strcmp(index->files.at[i - 1].name, entry->name) >= 0))
            abort();
    }
}

static void write_and_read(const sl_ship_index *index) {
    char *text = NULL;
    size_t len = 0;
    sl_ship_index again = {0};
    FILE *to = open_memstream(&text, &len);
    if (!to || sl_ship_index_write(index, "host", to, NULL) < 0 || fclose(to) != 0)
        abort();
    if (sl_ship_index_read(&again, "again", text, len, NULL) < 0 ||
        again.files.cnt != index->files.cnt)
        abort();
    for (size_t i = 0; i < again.files.cnt; i++)
        if (strcmp(again.files.at[i].sha256, index->files.at[i].sha256) != 0)
            abort();
    sl_ship_index_fini(&again);
    free(text);
}

static void read_list(const uint8_t *data, size_t size) {
    char key[256];
    size_t at = 0;
    sl_str text;
    while (sl_s3_xml_next((sl_str){(const char *)data, size}, &at, "Key", &text))
        if (sl_s3_xml_decode(text, key, sizeof key) && strlen(key) >= sizeof key)
            abort();
    (void)sl_s3_xml_text((sl_str){(const char *)data, size}, "UploadId", key, sizeof key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_ship_index index = {0};
    sl_error err = SL_ERROR_INIT;
    if (sl_ship_index_read(&index, "fuzz", data, size, &err) == SL_OK)
        write_and_read(&index);
    else if (!err.text[0])
        abort();
    check_names(&index);
    sl_ship_index_fini(&index);
    read_list(data, size);
    return 0;
}
