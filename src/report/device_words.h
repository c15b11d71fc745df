/* SPDX-License-Identifier: MIT */
/* What a finding calls the device it is about, and the commands and settings that exist there: advice
 * for an NPU that names a CUDA setting, or for the host that names a card, is advice nobody can follow.
 */
#ifndef SL_DEVICE_WORDS_H
#define SL_DEVICE_WORDS_H

#include "model/trace.h"

typedef struct sl_device_words {
    const char *name;       /* "the card", "this machine" */
    const char *larger;     /* "a larger card" */
    const char *list_users; /* the command that lists who uses its memory */
    const char *conf;       /* variable with the settings of the allocator; NULL = it has none */
    const char *history;    /* what switches PyTorch's event history on; NULL = it has none */
} sl_device_words;

/* Never NULL. A device whose kind the trace does not show is taken for a CUDA card. */
const sl_device_words *sl_device_words_of(const sl_trace *trace, int device);

#endif
