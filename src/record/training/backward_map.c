/* SPDX-License-Identifier: MIT */
#include "record/training/backward_map.h"

#include <stdatomic.h>
#include <string.h>

#include "record/core/guard.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"

#define SLOT_CNT     (1u << 16) /* a forward pass of 65,536 operators; 1 MiB */
#define SEARCH_BACK  64         /* operators without an allocation in a row */
#define NODE_SEQ_OFF 24         /* behind the vtable and the weak pointer to itself */

/* Written by the forward thread alone; a reader checks the number before and after. */
typedef struct forward_slot {
    _Atomic(uint64_t) number; /* sequence number + 1, 0 = empty */
    atomic_uint stack;
} forward_slot;

static forward_slot slots[SLOT_CNT];
static _Atomic(const void *) forward_thread; /* its guard slot; NULL = none yet */
static atomic_bool is_ambiguous;
static atomic_ullong all_bytes, mapped_bytes;

/* std::shared_ptr<Node>: the object and the block that counts. */
typedef struct node_ref {
    const char *node;
    char *counts;
} node_ref;

static uint64_t (*peek)(void);
static void (*get_current_node)(node_ref *out); /* C++ returns it through a hidden first argument */

void sl_backward_start(void) {
    peek = NULL;
    get_current_node = NULL;
/* Elsewhere the hidden argument travels in a register that C cannot set. */
#if defined(__x86_64__)
    *(void **)&peek = sl_elf_find_original("_ZN2at15sequence_number4peekEv", sl_hooks);
    *(void **)&get_current_node =
        sl_elf_find_original("_ZN5torch8autograd16get_current_nodeEv", sl_hooks);
#endif
    if (get_current_node) /* else they were never touched */
        memset(slots, 0, sizeof slots);
    atomic_store(&forward_thread, NULL);
    atomic_store(&is_ambiguous, false);
    atomic_store(&all_bytes, 0);
    atomic_store(&mapped_bytes, 0);
}

SL_HOT void sl_backward_note_forward(uint32_t stack) {
    const void *nobody = NULL, *me = sl_guard_own;
    if (!peek || !get_current_node || !stack)
        return;
    if (SL_UNLIKELY(atomic_load_explicit(&forward_thread, memory_order_relaxed) != me) &&
        !atomic_compare_exchange_strong(&forward_thread, &nobody, me) && nobody != me) {
        atomic_store(&is_ambiguous, true);
        return;
    }
    uint64_t number = peek(); /* of the running operator's node, plus one */
    forward_slot *slot = &slots[number % SLOT_CNT];
    if (!number || atomic_load_explicit(&slot->number, memory_order_relaxed) == number)
        return; /* an operator's first allocation is its output or input copy: keep that */
    atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->stack, stack, memory_order_release);
    atomic_store_explicit(&slot->number, number, memory_order_release);
}

/* Gives the reference back that get_current_node took. The engine holds another one, so this is never
 * the last; the count is the first word behind the block's vtable. */
static void drop_reference(const node_ref *ref) {
    atomic_fetch_sub((atomic_int *)(void *)(ref->counts + 8), 1);
}

/* The number of the node that runs on this thread, plus one; 0 when there is none or it does not look
 * as it should. */
static SL_HOT uint64_t current_number(void) {
    node_ref ref = {NULL, NULL}, self;
    get_current_node(&ref);
    if (!ref.node || !ref.counts)
        return 0;
    uint64_t number;
    memcpy(&self, ref.node + 8, sizeof self);
    memcpy(&number, ref.node + NODE_SEQ_OFF, sizeof number);
    bool is_sound = self.node == ref.node && self.counts == ref.counts;
    drop_reference(&ref);
    return is_sound ? number + 1 : 0;
}

static SL_HOT uint32_t stack_of(uint64_t number) {
    forward_slot *slot = &slots[number % SLOT_CNT];
    if (atomic_load_explicit(&slot->number, memory_order_acquire) != number)
        return 0;
    uint32_t stack = atomic_load_explicit(&slot->stack, memory_order_acquire);
    return atomic_load_explicit(&slot->number, memory_order_acquire) == number ? stack : 0;
}

SL_HOT sl_stack_ref sl_backward_find(sl_log *log, uint64_t size) {
    const sl_stack_ref none = {0, 0, NULL};
    if (!peek || !get_current_node)
        return none;
    uint64_t number = current_number();
    if (!number)
        return none;
    atomic_fetch_add_explicit(&all_bytes, size, memory_order_relaxed);
    if (atomic_load_explicit(&is_ambiguous, memory_order_relaxed))
        return none;
    for (uint64_t back = 0; back < SEARCH_BACK && back < number; back++) {
        uint32_t stack = stack_of(number - back);
        if (!stack)
            continue;
        atomic_fetch_add_explicit(&mapped_bytes, size, memory_order_relaxed);
        return sl_stack_cache_get_backward(log, stack,
                                           back == 0 ? SL_BACKWARD_EXACT : SL_BACKWARD_NEAREST);
    }
    return none;
}

uint64_t sl_backward_get_bytes(void) {
    return atomic_load(&all_bytes);
}

uint64_t sl_backward_get_mapped_bytes(void) {
    return atomic_load(&mapped_bytes);
}
