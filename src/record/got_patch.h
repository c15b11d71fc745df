/* SPDX-License-Identifier: MIT */
/* The second way in: the hooked functions are put into the import slots (GOT) of the libraries of a
 * process that already runs. Every slot that was changed is remembered and can be restored (R8).
 * One thread at a time. */
#ifndef SL_GOT_PATCH_H
#define SL_GOT_PATCH_H

#include "base/sl_base.h"

/* Looks through all loaded libraries and patches the slots that are not ours yet. Returns how many
 * slots were patched by this call. */
size_t sl_got_patch(void);

/* The same, but only when libraries came or went since the last call. */
size_t sl_got_patch_if_changed(void);

/* Puts every old value back. */
void sl_got_restore(void);

/* Slots that hold a replacement now, and slots that could not be written. */
size_t sl_got_patched_cnt(void);
size_t sl_got_failed_cnt(void);

#endif
