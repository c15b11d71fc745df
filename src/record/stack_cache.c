/* SPDX-License-Identifier: MIT */
#include "record/stack_cache.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "record/module_paths.h"
#include "record/phase_watch.h"
#include "record/pystack.h"

/* An entry is usable when value is not 0. A thread that finds its key with value 0 met another
 * thread between its two stores, and treats it as a miss. */
typedef struct cache_entry {
    _Atomic(uint64_t) key;   /* 0 = free */
    _Atomic(uint64_t) value; /* VALUE_SET | flags << 32 | id */
    uint32_t site_memo;      /* (atomic) the log's, see sl_log_event */
    uint32_t unused[3];      /* two entries fill a cache line */
} cache_entry;

#define VALUE_SET (UINT64_C(1) << 63)
#define PROBE_MAX 16

/* Only the first entries are used as long as they suffice: a program has a few hundred stacks, and
 * these should not lie in as many pages. */
typedef struct cache_table {
    cache_entry *entries; /* mapped, entry_max of them */
    size_t entry_max;     /* a power of two, like entry_cnt */
    _Atomic(size_t) entry_cnt;
    _Atomic(size_t) used_cnt;
} cache_table;

#define FIRST_ENTRY_CNT 1024u
#define GROW_FACTOR     4

static cache_table stacks = {.entry_max = 1u << 17, .entry_cnt = FIRST_ENTRY_CNT}; /* 4 MiB */
static cache_table frames = {.entry_max = 1u << 15, .entry_cnt = FIRST_ENTRY_CNT}; /* 1 MiB */

static bool table_init(cache_table *table) {
    if (table->entries)
        return true;
    void *at = mmap(NULL, table->entry_max * sizeof(cache_entry), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    table->entries = at;
    return true;
}

static void table_clear(cache_table *table) {
    if (table->entries)
        madvise(table->entries, table->entry_max * sizeof(cache_entry), MADV_DONTNEED);
    atomic_store(&table->used_cnt, 0);
}

/* A full table is emptied, and larger from then on if it can be. */
static void table_make_room(cache_table *table) {
    size_t cnt = atomic_load(&table->entry_cnt);
    if (atomic_load(&table->used_cnt) < cnt / 4 * 3)
        return;
    size_t more = cnt * GROW_FACTOR;
    atomic_store(&table->entry_cnt, more < table->entry_max ? more : table->entry_max);
    table_clear(table);
}

static sl_stack_ref ref_of(cache_entry *entry, uint64_t value) {
    return (sl_stack_ref){(uint32_t)value, (uint32_t)(value >> 32) & 0x7fffffff, &entry->site_memo};
}

static inline bool table_find(const cache_table *table, uint64_t key, sl_stack_ref *ref) {
    size_t mask = atomic_load_explicit(&table->entry_cnt, memory_order_relaxed) - 1;
    for (size_t i = 0; i < PROBE_MAX; i++) {
        cache_entry *entry = &table->entries[(key + i) & mask];
        uint64_t found = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (SL_LIKELY(found == key)) {
            uint64_t value = atomic_load_explicit(&entry->value, memory_order_acquire);
            *ref = ref_of(entry, value);
            return value != 0;
        }
        if (found == 0)
            return false;
    }
    return false;
}

static void table_add(cache_table *table, uint64_t key, uint64_t value) {
    /* Emptying gives zero pages: a thread that probes meanwhile sees misses, never a mixture,
     * because a key and its value lie in one page. */
    table_make_room(table);
    size_t mask = atomic_load(&table->entry_cnt) - 1;
    for (size_t i = 0; i < PROBE_MAX; i++) {
        cache_entry *entry = &table->entries[(key + i) & mask];
        uint64_t found = 0;
        bool is_new = atomic_compare_exchange_strong(&entry->key, &found, key);
        if (!is_new && found != key)
            continue;
        atomic_store_explicit(&entry->value, value, memory_order_release);
        if (is_new)
            atomic_fetch_add(&table->used_cnt, 1);
        return;
    }
}

bool sl_stack_cache_init(void) {
    return table_init(&stacks) && table_init(&frames);
}

void sl_stack_cache_clear(void) {
    table_clear(&stacks);
    table_clear(&frames);
}

static uint64_t value_of(sl_stack_ref ref) {
    return VALUE_SET | ((uint64_t)ref.flags << 32) | ref.id;
}

static sl_stack_ref intern_frame(sl_log *log, const sl_pyframe *frame) {
    sl_pyframe_text text;
    if (!sl_pyframe_describe(frame, &text)) {
        sl_log_health_add(log, SL_HEALTH_STACK_FAILURE, 1);
        text.function = SL_STR("<unreadable>");
        text.file = SL_STR("");
        text.line = 0;
    }
    sl_log_frame row = {
        .function = sl_log_string(log, text.function.ptr, text.function.len),
        .file = sl_log_string(log, text.file.ptr, text.file.len),
        .line = text.line,
        .kind = SL_FRAME_PYTHON,
    };
    uint32_t marks = sl_frame_marks_find(text.function, text.file);
    if (marks & SL_FRAME_MODULE)
        sl_pystack_add_module_code(frame);
    return (sl_stack_ref){sl_log_frame_id(log, &row), marks & SL_STACK_FLAGS, NULL};
}

static sl_stack_ref find_frame(sl_log *log, const sl_pyframe *frame) {
    uint64_t key = sl_pyframe_key(frame) | 1;
    sl_stack_ref ref;
    if (table_find(&frames, key, &ref))
        return ref;
    ref = intern_frame(log, frame);
    table_add(&frames, key, value_of(ref));
    return ref;
}

/* The stack "a frame that is no code, on top of `parent`". */
static uint32_t pseudo_child(sl_log *log, uint32_t parent, sl_str text) {
    sl_log_frame row = {.function = sl_log_string(log, text.ptr, text.len),
                        .kind = SL_FRAME_PSEUDO};
    return sl_log_stack_child(log, parent, sl_log_frame_id(log, &row));
}

/* Stands at the bottom of a stack whose outermost frames were left out. */
static uint32_t cut_mark(sl_log *log) {
    return pseudo_child(log, 0, SL_STR("<more frames>"));
}

/* `module_frame` (0 = none) goes right inside the call of the innermost module. */
static __attribute__((noinline)) sl_stack_ref intern_stack(sl_log *log, const sl_pystack *stack,
                                                           uint32_t module_frame) {
    sl_stack_ref ref = {stack->is_cut ? cut_mark(log) : 0, 0, NULL};
    for (uint32_t i = stack->depth; i-- > 0;) {
        sl_stack_ref frame = find_frame(log, &stack->frames[i]);
        if ((frame.flags & ~ref.flags) & SL_FRAME_OPTIMIZER)
            ref.flags |= sl_phase_site(ref.id) << SL_STACK_SITE_SHIFT;
        ref.id = sl_log_stack_child(log, ref.id, frame.id);
        ref.flags |= frame.flags;
        if (module_frame && i == stack->module_pos)
            ref.id = sl_log_stack_child(log, ref.id, module_frame);
    }
    table_add(&stacks, stack->key, value_of(ref));
    return ref;
}

SL_HOT sl_stack_ref sl_stack_cache_get(sl_log *log) {
    sl_pystack stack;
    sl_pystack_walk(&stack);
    sl_stack_ref ref = {0, 0, NULL};
    if (stack.depth == 0)
        return ref;
    uint32_t module_frame = 0;
    if (SL_UNLIKELY(stack.module)) {
        /* Two layers of one class are two stacks. */
        module_frame = sl_module_paths_find(stack.module, stack.root_module);
        stack.key += module_frame * UINT64_C(0x9e3779b97f4a7c15);
        stack.key |= 1;
    }
    if (SL_LIKELY(table_find(&stacks, stack.key, &ref)))
        return ref;
    return intern_stack(log, &stack, module_frame);
}

/* --- Backward ------------------------------------------------------------------------------------ */

/* The frame says how the line was found. */
static const sl_str backward_texts[] = {
    [SL_BACKWARD_EXACT] = SL_STR("<backward>"),
    [SL_BACKWARD_NEAREST] = SL_STR("<backward, nearest forward operator>"),
};

/* Ids of stacks are below 2^32 and keys of walked stacks are spread over 64 bits: the two kinds of
 * keys in one table meet as seldom as two stacks do. */
SL_HOT sl_stack_ref sl_stack_cache_get_backward(sl_log *log, uint32_t forward,
                                                sl_backward_match match) {
    uint64_t key = (((uint64_t)forward << 1 | match) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    sl_stack_ref ref = {0, 0, NULL};
    if (SL_LIKELY(table_find(&stacks, key, &ref)))
        return ref;
    ref = (sl_stack_ref){pseudo_child(log, forward, backward_texts[match]), 0, NULL};
    table_add(&stacks, key, value_of(ref));
    return ref;
}
