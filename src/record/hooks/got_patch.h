/* SPDX-License-Identifier: MIT */
/* The second way in: the hooked functions are put into the import slots (GOT) of the libraries of a
 * process that already runs. Where the recorder is preloaded, nearly all slots hold them already; those of
 * libraries loaded with RTLD_DEEPBIND do not, and are found here. Every slot that was changed is
 * remembered and can be restored (R8). */
#ifndef SL_GOT_PATCH_H
#define SL_GOT_PATCH_H

#include "base/core/sl_base.h"

/* Scans the libraries loaded since the last call and patches the slots that are not ours yet. Any
 * thread; does nothing while another one is at it. */
void sl_got_patch_if_changed(void);

/* The same for one library that a dlopen gave to the caller, and for those it needs. May be called while
 * the calling thread loads another one: unlike the above it touches only what is loaded for certain. */
void sl_got_patch_opened(void *handle);

/* Puts every old value back. The helper, which patches too, is gone. */
void sl_got_restore(void);

/* In the child of a fork. */
void sl_got_after_fork_child(void);

/* Whether a thread of ours waits for the loader, whose lock a slow dlopen of the program may hold. */
bool sl_got_is_waiting(void);

/* Until the loader is free. Called before a library is loaded, which would wait in a way that nobody can tell from
 * loading it: a fork waits for the one and not for the other. */
void sl_got_wait_for_loader(void);

/* Slots that hold a replacement now, and slots that could not be written. */
size_t sl_got_patched_cnt(void);
size_t sl_got_failed_cnt(void);

#endif
