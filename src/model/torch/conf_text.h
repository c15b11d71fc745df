/* SPDX-License-Identifier: MIT */
/* Texts of PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF as lists of "key:value", and what PyTorch makes of a second
 * one. Pure. */
#ifndef SL_CONF_TEXT_H
#define SL_CONF_TEXT_H

#include "base/core/sl_base.h"

typedef struct sl_conf_item {
    sl_str key;
    sl_str whole; /* "key:value"; a value in brackets has commas of its own */
} sl_conf_item;

/* Takes the next item off the text; false at its end. */
bool sl_conf_next(sl_str *rest, sl_conf_item *item);

/* The item of a key; false when the text does not name it. */
bool sl_conf_find(sl_str text, sl_str key, sl_conf_item *item);

/* Whether PyTorch gives this key its default again when it reads a text that does not name it. Every other key
 * stays as it was. The same in all releases from 2.1 to 2.15. */
bool sl_conf_is_reset(sl_str key);

#endif
