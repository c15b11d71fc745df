/* SPDX-License-Identifier: MIT */
/* The forms in which the answers of `stormlog whatif` are printed: one row per form. */
#ifndef SL_WHATIF_FORMAT_H
#define SL_WHATIF_FORMAT_H

#include <stdio.h>

#include "whatif/batch/batch.h"
#include "whatif/whatif.h"

#define SL_WHATIF_SCHEMA "stormlog.whatif/1"

typedef struct sl_whatif_list {
    const sl_whatif *const *at; /* borrowed; one per device */
    size_t cnt;
    bool has_color;
} sl_whatif_list;

typedef struct sl_whatif_format {
    const char *name;
    sl_status (*write)(const sl_whatif_list *list, FILE *to, sl_error *err);
    sl_status (*write_batch)(const sl_batch *batch, bool has_color, FILE *to, sl_error *err);
} sl_whatif_format;

/* NULL when there is no such form. */
const sl_whatif_format *sl_whatif_format_find(const char *name);

sl_status sl_whatif_write_text(const sl_whatif_list *list, FILE *to, sl_error *err);
sl_status sl_whatif_write_json(const sl_whatif_list *list, FILE *to, sl_error *err);
sl_status sl_whatif_write_markdown(const sl_whatif_list *list, FILE *to, sl_error *err);

sl_status sl_batch_write_text(const sl_batch *batch, bool has_color, FILE *to, sl_error *err);
sl_status sl_batch_write_json(const sl_batch *batch, bool has_color, FILE *to, sl_error *err);
sl_status sl_batch_write_markdown(const sl_batch *batch, bool has_color, FILE *to, sl_error *err);

#endif
