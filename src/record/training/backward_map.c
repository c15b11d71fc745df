/* SPDX-License-Identifier: MIT */
#include "record/training/backward_map.h"

#include <stdatomic.h>
#include <string.h>

#include "record/core/guard.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"

#define SLOT_CNT        (1u << 16) /* a forward pass of 65,536 operators; 1.5 MiB */
#define SEARCH_BACK     64         /* operators without an allocation in a row */
#define NODE_SEQ_OFF    24         /* after the vtable and the weak pointer to itself */
#define NODE_THREAD_OFF 48         /* after that: topological number, a flag */
#define THREAD_BITS     16

/* `check` holds key and stack together: of two threads that write the same slot at once neither is believed. */
typedef struct forward_slot {
    _Atomic(uint64_t) key; /* key_of, 0 = empty */
    _Atomic(uint64_t) check;
    atomic_uint stack;
} forward_slot;

static forward_slot slots[SLOT_CNT];
static _Atomic(const void *) forward_thread; /* the first one: its guard slot; NULL = none yet */
static _Atomic(uint64_t) forward_thread_id;
static atomic_bool has_two_threads;
static atomic_bool is_thread_proven; /* a node's thread has led to an entry */
static _Atomic(const void *) call_thread;
static atomic_uint call_stack;
static atomic_uint generation; /* of the log: ids of an older one mean nothing */
static atomic_ullong all_bytes, mapped_bytes;

/* The forward stack of the newest allocation of this thread that found one. */
static _Thread_local struct {
    uint32_t generation, stack;
} last __attribute__((tls_model("initial-exec")));

/* std::shared_ptr<Node>: the object and the block that counts. */
typedef struct node_ref {
    const char *node;
    char *counts;
} node_ref;

static uint64_t (*peek)(void);
static uint64_t (*get_thread_id)(void);
static void (*get_current_node)(node_ref *out); /* C++ returns it through a hidden first argument */

static bool can_map; /* all three are there */

static void *find_in_torch(const char *symbol) {
    return sl_elf_find_original(symbol, sl_hooks);
}

void sl_backward_start(void) {
    peek = NULL;
    get_thread_id = NULL;
    get_current_node = NULL;
/* Elsewhere the hidden argument travels in a register that C cannot set. */
#if defined(__x86_64__)
    *(void **)&peek = find_in_torch("_ZN2at15sequence_number4peekEv");
    *(void **)&get_thread_id = find_in_torch("_ZN2at14RecordFunction15currentThreadIdEv");
    *(void **)&get_current_node = find_in_torch("_ZN5torch8autograd16get_current_nodeEv");
#endif
    can_map = peek && get_thread_id && get_current_node;
    if (can_map) /* else they were never touched */
        memset(slots, 0, sizeof slots);
    atomic_store(&forward_thread, NULL);
    atomic_store(&has_two_threads, false);
    atomic_store(&is_thread_proven, false);
    atomic_store(&call_thread, NULL);
    atomic_store(&call_stack, 0);
    atomic_fetch_add(&generation, 1);
    atomic_store(&all_bytes, 0);
    atomic_store(&mapped_bytes, 0);
}

/* --- Forward ----------------------------------------------------------------------------------- */

static uint64_t key_of(uint64_t number, uint64_t thread_id) {
    return number << THREAD_BITS | (thread_id & ((1u << THREAD_BITS) - 1));
}

static forward_slot *slot_of(uint64_t number, uint64_t thread_id) {
    return &slots[(number + thread_id * 40503u) % SLOT_CNT];
}

static uint64_t check_of(uint64_t key, uint32_t stack) {
    return key ^ (uint64_t)stack * UINT64_C(0x9e3779b97f4a7c15);
}

/* torch's number of the calling thread, which it keeps for good. A thread that has made a node has one; others are
 * not asked for, which would give them one. */
static inline uint64_t own_thread_id(void) {
    static _Thread_local uint64_t own
        __attribute__((tls_model("initial-exec"))); /* 0 = not asked */
    if (SL_UNLIKELY(!own))
        own = get_thread_id();
    return own;
}

static inline void note_thread(uint64_t thread_id) {
    const void *nobody = NULL, *me = sl_guard_own;
    if (SL_LIKELY(atomic_load_explicit(&forward_thread, memory_order_relaxed) == me))
        return;
    if (atomic_compare_exchange_strong(&forward_thread, &nobody, me))
        atomic_store(&forward_thread_id, thread_id);
    else
        atomic_store(&has_two_threads, true);
}

SL_HOT void sl_backward_note_forward(uint32_t stack) {
    if (!can_map || !stack)
        return;
    uint64_t number = peek(); /* of the running operator's node, plus one */
    if (!number)
        return;
    uint64_t thread_id = own_thread_id(), key = key_of(number, thread_id);
    note_thread(thread_id);
    forward_slot *slot = slot_of(number, thread_id);
    if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key)
        return; /* an operator's first allocation is its output or input copy: keep that */
    atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->stack, stack, memory_order_release);
    atomic_store_explicit(&slot->check, check_of(key, stack), memory_order_release);
    atomic_store_explicit(&slot->key, key, memory_order_release);
}

/* Autograd's threads serve all callers: with a second caller it is unknown which one. */
void sl_backward_note_call(uint32_t stack) {
    static const char several;
    const void *caller = NULL, *me = sl_guard_own;
    if (SL_LIKELY(atomic_load_explicit(&call_stack, memory_order_relaxed) == stack &&
                  atomic_load_explicit(&call_thread, memory_order_relaxed) == me))
        return;
    if (!atomic_compare_exchange_strong(&call_thread, &caller, me) && caller != me) {
        atomic_store(&call_thread, &several);
        stack = 0;
    }
    atomic_store_explicit(&call_stack, stack, memory_order_relaxed);
}

/* --- Backward ---------------------------------------------------------------------------------- */

/* Gives the reference back that get_current_node took. The engine holds another one, so this is
 * never the last; the count is the first word after the block's vtable. */
static void drop_reference(const node_ref *ref) {
    atomic_fetch_sub((atomic_int *)(void *)(ref->counts + 8), 1);
}

/* The node that runs on this thread. */
typedef struct running_node {
    bool is_there;      /* and looks as it should */
    uint64_t number;    /* plus one; 0 for a node without: it adds a gradient up */
    uint64_t thread_id; /* that made it */
} running_node;

static SL_HOT running_node find_node(void) {
    running_node found = {false, 0, 0};
    node_ref ref = {NULL, NULL}, self;
    get_current_node(&ref);
    if (!ref.node || !ref.counts)
        return found;
    memcpy(&self, ref.node + 8, sizeof self);
    found.is_there = self.node == ref.node && self.counts == ref.counts;
    if (found.is_there) {
        memcpy(&found.number, ref.node + NODE_SEQ_OFF, sizeof found.number);
        found.number++;
        memcpy(&found.thread_id, ref.node + NODE_THREAD_OFF, sizeof found.thread_id);
    }
    drop_reference(&ref);
    return found;
}

static SL_HOT uint32_t stack_of(uint64_t number, uint64_t thread_id) {
    forward_slot *slot = slot_of(number, thread_id);
    uint64_t key = key_of(number, thread_id);
    if (atomic_load_explicit(&slot->key, memory_order_acquire) != key)
        return 0;
    uint32_t stack = atomic_load_explicit(&slot->stack, memory_order_acquire);
    return atomic_load_explicit(&slot->check, memory_order_acquire) == check_of(key, stack) ? stack
                                                                                            : 0;
}

typedef struct forward_match {
    uint32_t stack; /* 0 = none */
    sl_backward_match match;
} forward_match;

static SL_HOT forward_match search(uint64_t number, uint64_t thread_id) {
    for (uint64_t back = 0; back < SEARCH_BACK && back < number; back++) {
        uint32_t stack = stack_of(number - back, thread_id);
        if (stack)
            return (forward_match){stack, back == 0 ? SL_BACKWARD_EXACT : SL_BACKWARD_NEAREST};
    }
    return (forward_match){0, SL_BACKWARD_EXACT};
}

/* The offset of a node's thread id is trusted only after it has matched once. With one forward
 * thread it is not needed. */
static SL_HOT forward_match find_forward(const running_node *node) {
    forward_match found = search(node->number, node->thread_id);
    if (found.stack)
        atomic_store_explicit(&is_thread_proven, true, memory_order_relaxed);
    else if (!atomic_load_explicit(&has_two_threads, memory_order_relaxed) &&
             !atomic_load_explicit(&is_thread_proven, memory_order_relaxed))
        found = search(node->number, atomic_load(&forward_thread_id));
    return found;
}

static SL_HOT forward_match find_match(const running_node *node) {
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (node->number) {
        forward_match found = find_forward(node);
        if (found.stack) {
            last.generation = now;
            last.stack = found.stack;
        }
        return found;
    }
    bool has_last = node->is_there && last.generation == now;
    return (forward_match){has_last ? last.stack : 0, SL_BACKWARD_ACCUMULATE};
}

SL_HOT sl_stack_ref sl_backward_find(sl_log *log, uint64_t size, bool is_autograd) {
    const sl_stack_ref none = {0, 0, NULL};
    running_node node = {false, 0, 0};
    if (can_map)
        node = find_node();
    if (!node.is_there && !is_autograd)
        return none;
    atomic_fetch_add_explicit(&all_bytes, size, memory_order_relaxed);
    forward_match found = find_match(&node);
    if (found.stack)
        atomic_fetch_add_explicit(&mapped_bytes, size, memory_order_relaxed);
    else
        found = (forward_match){atomic_load_explicit(&call_stack, memory_order_relaxed),
                                SL_BACKWARD_CALL};
    return found.stack ? sl_stack_cache_get_backward(log, found.stack, found.match) : none;
}

uint64_t sl_backward_get_bytes(void) {
    return atomic_load(&all_bytes);
}

uint64_t sl_backward_get_mapped_bytes(void) {
    return atomic_load(&mapped_bytes);
}
