/* SPDX-License-Identifier: MIT */
#include "record/stack_cache.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "record/frame_marks.h"
#include "record/phase_watch.h"
#include "record/pystack.h"

/* An entry is usable when value is not 0. A thread that finds its key with value 0 met another
 * thread between its two stores, and treats it as a miss. */
typedef struct cache_entry {
    _Atomic(uint64_t) key;   /* 0 = free */
    _Atomic(uint64_t) value; /* VALUE_SET | flags << 32 | id */
} cache_entry;

#define VALUE_SET (UINT64_C(1) << 63)
#define PROBE_MAX 16

typedef struct cache_table {
    cache_entry *entries; /* mapped */
    size_t entry_cnt;     /* a power of two */
    _Atomic(size_t) used_cnt;
} cache_table;

static cache_table stacks = {.entry_cnt = 1u << 18}; /* 4 MiB, touched as it fills */
static cache_table frames = {.entry_cnt = 1u << 16}; /* 1 MiB */

static bool table_init(cache_table *table) {
    if (table->entries)
        return true;
    void *at = mmap(NULL, table->entry_cnt * sizeof(cache_entry), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    table->entries = at;
    return true;
}

static void table_clear(cache_table *table) {
    if (table->entries)
        madvise(table->entries, table->entry_cnt * sizeof(cache_entry), MADV_DONTNEED);
    atomic_store(&table->used_cnt, 0);
}

static inline uint64_t table_find(const cache_table *table, uint64_t key) {
    size_t mask = table->entry_cnt - 1;
    for (size_t i = 0; i < PROBE_MAX; i++) {
        cache_entry *entry = &table->entries[(key + i) & mask];
        uint64_t found = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (found == key)
            return atomic_load_explicit(&entry->value, memory_order_acquire);
        if (found == 0)
            return 0;
    }
    return 0;
}

static void table_add(cache_table *table, uint64_t key, uint64_t value) {
    size_t mask = table->entry_cnt - 1;
    /* Emptying gives zero pages: a thread that probes meanwhile sees misses, never a mixture,
     * because a key and its value lie in one page. */
    if (atomic_load(&table->used_cnt) >= table->entry_cnt / 4 * 3)
        table_clear(table);
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

static sl_stack_ref ref_of(uint64_t value) {
    return (sl_stack_ref){(uint32_t)value, (uint32_t)(value >> 32) & 0x7fffffff};
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
    return (sl_stack_ref){sl_log_frame_id(log, &row),
                          sl_frame_flags_find(text.function, text.file)};
}

static sl_stack_ref find_frame(sl_log *log, const sl_pyframe *frame) {
    uint64_t key = sl_pyframe_key(frame) | 1;
    uint64_t value = table_find(&frames, key);
    if (value)
        return ref_of(value);
    sl_stack_ref ref = intern_frame(log, frame);
    table_add(&frames, key, value_of(ref));
    return ref;
}

/* Stands at the bottom of a stack whose outermost frames were left out. */
static uint32_t cut_mark(sl_log *log) {
    sl_str text = SL_STR("<more frames>");
    sl_log_frame row = {.function = sl_log_string(log, text.ptr, text.len),
                        .kind = SL_FRAME_PSEUDO};
    return sl_log_stack_child(log, 0, sl_log_frame_id(log, &row));
}

static __attribute__((noinline)) sl_stack_ref intern_stack(sl_log *log, const sl_pystack *stack) {
    sl_stack_ref ref = {stack->is_cut ? cut_mark(log) : 0, 0};
    for (uint32_t i = stack->depth; i-- > 0;) {
        sl_stack_ref frame = find_frame(log, &stack->frames[i]);
        if ((frame.flags & ~ref.flags) & SL_STACK_IN_OPTIMIZER)
            ref.flags |= sl_phase_site(ref.id) << SL_STACK_SITE_SHIFT;
        ref.id = sl_log_stack_child(log, ref.id, frame.id);
        ref.flags |= frame.flags;
    }
    table_add(&stacks, stack->key, value_of(ref));
    return ref;
}

sl_stack_ref sl_stack_cache_get(sl_log *log) {
    sl_pystack stack;
    sl_pystack_walk(&stack);
    if (stack.depth == 0)
        return (sl_stack_ref){0, 0};
    uint64_t value = table_find(&stacks, stack.key);
    return SL_LIKELY(value) ? ref_of(value) : intern_stack(log, &stack);
}
