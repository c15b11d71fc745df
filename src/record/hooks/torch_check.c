/* SPDX-License-Identifier: MIT */
#include "record/hooks/torch_check.h"

#include <string.h>

#include "base/core/diag.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"

static sl_diag_once unknown_torch;

static bool has_report(const sl_elf_view *view) {
    static const sl_hook_id reports[] = {SL_HOOK_TORCH_REPORT_16, SL_HOOK_TORCH_REPORT_110,
                                         SL_HOOK_TORCH_REPORT_20};
    for (size_t i = 0; i < SL_COUNT_OF(reports); i++)
        if (sl_elf_find_index(view, sl_hooks[reports[i]].symbol))
            return true;
    return false;
}

/* libc10.so, libc10.so.1.13; libc10_cuda.so has no such function in any version. */
static int visit(const sl_elf_view *view, void *unused) {
    SL_UNUSED(unused);
    if (strncmp(sl_elf_name(view), "libc10.so", strlen("libc10.so")) != 0 || has_report(view))
        return 0;
    sl_diag_say(&unknown_torch,
                "not recording: '%s' has none of the functions that report PyTorch's memory; this "
                "version is unknown",
                view->path);
    return 1;
}

void sl_torch_check_at_end(void) {
    sl_elf_each(visit, NULL);
}
