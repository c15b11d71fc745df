/* SPDX-License-Identifier: MIT */
/* Any bytes as a settings file: entries with places inside the file, or one error with a place. */
#include <stdlib.h>
#include <string.h>

#include "base/text/toml_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(const sl_toml_value *value, bool is_item) {
    bool has_text =
        value->type == SL_TOML_STRING || value->type == SL_TOML_INT || value->type == SL_TOML_FLOAT;
    if (value->place.line == 0 || value->place.column == 0 || (has_text && !value->text))
        abort();
    if (value->type == SL_TOML_ARRAY && is_item)
        abort();
    for (size_t i = 0; i < value->item_cnt; i++)
        check_value(&value->items[i], true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_toml doc;
    sl_error err = SL_ERROR_INIT;
    sl_status status = sl_toml_parse(&doc, "x", (const char *)data, size, &err);
    for (size_t i = 0; i < doc.entries.cnt; i++) {
        const sl_toml_entry *entry = &doc.entries.at[i];
        if (!entry->key || !entry->table || entry->place.line == 0)
            abort();
        check_value(&entry->value, false);
    }
    if (status < 0 && (strncmp(err.text, "x:", 2) != 0 || strchr(err.text, '\n')))
        abort();
    sl_toml_fini(&doc);
    return 0;
}
