/* SPDX-License-Identifier: MIT */
#include "export/whatif/whatif_format.h"

#include <string.h>

static const sl_whatif_format formats[] = {
    {"txt", sl_whatif_write_text, sl_batch_write_text},
    {"json", sl_whatif_write_json, sl_batch_write_json},
    {"md", sl_whatif_write_markdown, sl_batch_write_markdown},
};

const sl_whatif_format *sl_whatif_format_find(const char *name) {
    for (size_t i = 0; i < SL_COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
