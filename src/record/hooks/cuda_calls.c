/* SPDX-License-Identifier: MIT */
#include "record/hooks/cuda_calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "record/hooks/elf_view.h"

#define CONTEXT_MAX 64
#define HISTORY_MAX 8

typedef struct context_row {
    _Atomic(const void *) context;
    atomic_int device;
} context_row;

static context_row contexts[CONTEXT_MAX];

typedef struct context_stack {
    const void *at[HISTORY_MAX];
    unsigned depth; /* may exceed HISTORY_MAX; what is beyond is not known */
} context_stack;

static _Thread_local context_stack current __attribute__((tls_model("initial-exec")));

void sl_cuda_note_context(const void *context, int device) {
    for (unsigned i = 0; i < CONTEXT_MAX; i++) {
        const void *found = NULL;
        if (atomic_compare_exchange_strong(&contexts[i].context, &found, context) ||
            found == context) {
            atomic_store(&contexts[i].device, device);
            return;
        }
    }
}

void sl_cuda_set_current(const void *context) {
    if (current.depth == 0)
        current.depth = 1;
    if (current.depth <= HISTORY_MAX)
        current.at[current.depth - 1] = context;
}

void sl_cuda_push_current(const void *context) {
    current.depth++;
    sl_cuda_set_current(context);
}

void sl_cuda_pop_current(void) {
    if (current.depth > 0)
        current.depth--;
}

static const void *current_context(void) {
    return current.depth > 0 && current.depth <= HISTORY_MAX ? current.at[current.depth - 1] : NULL;
}

int sl_cuda_get_device(void) {
    const void *context = current_context();
    int only = -1;
    for (unsigned i = 0; i < CONTEXT_MAX; i++) {
        const void *found = atomic_load(&contexts[i].context);
        if (!found)
            break;
        int device = atomic_load(&contexts[i].device);
        if (found == context)
            return device;
        only = only == -1 || only == device ? device : -2;
    }
    return only > 0 ? only : 0;
}

static _Thread_local const void *wanting __attribute__((tls_model("initial-exec")));

const void *sl_cuda_set_wanting(const void *caller) {
    const void *before = wanting;
    wanting = caller;
    return before;
}

const void *sl_cuda_get_wanting(const void *driver_caller) {
    return wanting ? wanting : driver_caller;
}

typedef struct label_search {
    sl_log *log;
    const void *address;
    uint16_t label;
} label_search;

static int visit_for_label(const sl_elf_view *view, void *search_ptr) {
    label_search *search = search_ptr;
    if (!sl_elf_contains(view, search->address))
        return 0;
    const char *name = sl_elf_name(view);
    const char *end = strstr(name, ".so");
    size_t len = end ? (size_t)(end - name) : strlen(name);
    if (!len) { /* the program itself */
        name = program_invocation_short_name;
        len = strlen(name);
    }
    search->label = sl_log_label(search->log, name, len);
    return 1;
}

uint16_t sl_cuda_label(sl_log *log, const void *address) {
    label_search search = {log, address, 0};
    sl_elf_each(visit_for_label, &search);
    return search.label;
}
