/* SPDX-License-Identifier: MIT */
#include "record/hooks/hook_exit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "record/core/recorder.h"
#include "record/hooks/hook_table.h"

static _Noreturn void leave(sl_hook_id id, int status) {
    void (*original)(int);
    *(void **)&original = atomic_load_explicit(&sl_hooks[id].original, memory_order_acquire);
    sl_recorder_note_exit(status, true);
    if (original)
        original(status);
    for (;;) /* what libc's own does */
        syscall(SYS_exit_group, status);
}

void sl_hook__exit(int status) {
    leave(SL_HOOK__exit, status);
}

void sl_hook__Exit(int status) {
    leave(SL_HOOK__Exit, status);
}

void sl_hook_exit_prepare(void) {
    sl_hook_original(SL_HOOK__exit);
    sl_hook_original(SL_HOOK__Exit);
}
