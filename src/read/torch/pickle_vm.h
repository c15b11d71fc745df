/* SPDX-License-Identifier: MIT */
/* A pickle interpreter for plain data only, which drives sl_torch_build while it reads. It never
 * imports and never calls: opcodes that would are refused. It keeps no tree of the input.
 *
 * A container's role is known when it opens, from what is below it on the stack; what was
 * guessed wrongly (one-item containers have no mark) is caught when the parent takes the item.
 *
 * (P1) An open container's entry in `open` names its place on the stack; it is closed before its
 *      parent takes it, and then nothing may be added to it.
 * (P2) Items of a marked list are handed over as soon as the next one opens, so the stack does not
 *      grow with the list. The mark counts them. */
#ifndef SL_PICKLE_VM_H
#define SL_PICKLE_VM_H

#include "base/files/byte_stream.h"
#include "read/torch/pickle_memo.h"
#include "read/torch/pickle_stacks.h"
#include "read/torch/torch_build.h"

#define SL_NO_IDX SIZE_MAX

typedef struct sl_pickle_open {
    bool is_open;
    size_t stack_idx;
    size_t memo_idx; /* SL_NO_IDX when not memoised yet */
} sl_pickle_open;

typedef struct sl_pickle_vm {
    sl_byte_stream *in;    /* borrowed */
    sl_torch_build *build; /* borrowed */
    sl_error *err;         /* borrowed, may be NULL */
    SL_VEC(sl_torch_value) stack;
    size_t mark; /* index of the newest mark, SL_NO_IDX without one; a mark's id is the older one */
    sl_memo memo;
    sl_run_table runs;
    uint32_t last_text; /* string id of the newest text of an event */
    sl_pickle_open open[SL_ROLE_LIMIT];
    uint64_t op_at; /* position of the opcode at hand */
    bool is_stopped;
} sl_pickle_vm;

/* Reads one pickle into the build. */
sl_status sl_pickle_read(sl_byte_stream *in, sl_torch_build *build, sl_error *err);

/* --- Shared by pickle_vm.c and pickle_items.c ------------------------------------------------- */

sl_status sl_pickle_push(sl_pickle_vm *vm, const sl_torch_value *value);

/* Opens a list or dict in the role its place gives it. */
sl_status sl_pickle_open_container(sl_pickle_vm *vm, bool is_list);

/* APPEND, APPENDS, SETITEM, SETITEMS. */
sl_status sl_pickle_append(sl_pickle_vm *vm, bool has_mark);
sl_status sl_pickle_set_items(sl_pickle_vm *vm, bool has_mark);

/* The newest `cnt` values, or all above the mark when cnt is SL_NO_IDX, become a tuple. */
sl_status sl_pickle_make_tuple(sl_pickle_vm *vm, size_t cnt);

sl_status sl_pickle_memoize(sl_pickle_vm *vm, uint64_t id);
sl_status sl_pickle_recall(sl_pickle_vm *vm, uint64_t id);

/* Ends a container that is still open (P1). */
sl_status sl_pickle_settle(sl_pickle_vm *vm, size_t stack_idx);

/* "the stack is empty at ..." */
sl_status sl_pickle_underflow(const sl_pickle_vm *vm, const char *what);

#endif
