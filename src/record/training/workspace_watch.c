/* SPDX-License-Identifier: MIT */
#include "record/training/workspace_watch.h"

#include <stdlib.h>
#include <string.h>

#include "model/tag.h"
#include "record/hooks/elf_view.h"
#include "record/stacks/native_stack.h"

#define EXCEPTION_MAX 256
#define SIZE_CNT      8 /* sizes of workspaces that are remembered */

/* Libraries by how their file names begin. */
#define ALLOCATOR "libc10"
#define ASKER     "libtorch_cuda"

/* Functions of the asker that make something else (K1): a part of their mangled names. */
static const char *const exceptions[] = {"resize_", "PluggableAllocator"};

typedef struct range_list {
    sl_code_range at[EXCEPTION_MAX]; /* ascending */
    size_t cnt;
} range_list;

static range_list allocators, askers, others;
static _Atomic(uint64_t) sizes[SIZE_CNT]; /* 0 = free */
static _Atomic(uint64_t) size_bits;       /* size_bit of each of them */
static sl_key_memo stackless[64];         /* of what has no stack, by size_hash */
static uint16_t label;
static bool is_on;

/* --- Start ------------------------------------------------------------------------------------- */

static void add_range(range_list *list, uintptr_t low, uintptr_t high) {
    if (list->cnt < EXCEPTION_MAX)
        list->at[list->cnt++] = (sl_code_range){low, high};
}

static int compare_ranges(const void *a, const void *b) {
    const sl_code_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void sort(range_list *list) {
    if (list->cnt > 1)
        qsort(list->at, list->cnt, sizeof *list->at, compare_ranges);
}

static bool is_exception(const char *name) {
    for (size_t i = 0; i < SL_COUNT_OF(exceptions); i++)
        if (strstr(name, exceptions[i]))
            return true;
    return false;
}

static void add_exceptions(const sl_elf_view *view) {
    size_t cnt = sl_elf_symbol_cnt(view);
    for (size_t i = 1; i < cnt; i++) {
        const Elf64_Sym *symbol = &view->symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
            symbol->st_name >= view->string_bytes || !is_exception(view->strings + symbol->st_name))
            continue;
        uintptr_t low = view->base + symbol->st_value;
        add_range(&others, low, low + symbol->st_size);
    }
}

static int visit_library(const sl_elf_view *view, void *unused) {
    SL_UNUSED(unused);
    const char *name = sl_elf_name(view);
    if (strncmp(name, ALLOCATOR, strlen(ALLOCATOR)) == 0)
        add_range(&allocators, view->low, view->high);
    if (strncmp(name, ASKER, strlen(ASKER)) == 0) {
        add_range(&askers, view->low, view->high);
        add_exceptions(view);
    }
    return 0;
}

void sl_workspace_start(sl_log *log) {
    allocators.cnt = askers.cnt = others.cnt = 0;
    for (size_t i = 0; i < SIZE_CNT; i++)
        atomic_store(&sizes[i], 0);
    atomic_store(&size_bits, 0);
    memset(stackless, 0, sizeof stackless);
    sl_elf_each(visit_library, NULL);
    sort(&allocators);
    sort(&askers);
    sort(&others);
    is_on = askers.cnt > 0 && sl_native_can_walk();
    if (!is_on)
        return;
    const char *name = sl_tag_name(SL_TAG_WORKSPACE);
    label = sl_log_label(log, name, strlen(name));
}

/* --- The event path ---------------------------------------------------------------------------- */

static unsigned size_hash(uint64_t size) {
    return (unsigned)((size * UINT64_C(0x9e3779b97f4a7c15)) >> 58);
}

static uint64_t size_bit(uint64_t size) {
    return UINT64_C(1) << size_hash(size);
}

/* A bloom filter of one word: it rejects nearly every size that is not in the list. */
static bool is_known_size(uint64_t size) {
    if (SL_LIKELY(!(atomic_load_explicit(&size_bits, memory_order_relaxed) & size_bit(size))))
        return false;
    for (size_t i = 0; i < SIZE_CNT; i++)
        if (atomic_load_explicit(&sizes[i], memory_order_relaxed) == size)
            return true;
    return false;
}

static void remember_size(uint64_t size) {
    uint64_t nothing = 0;
    for (size_t i = 0; i < SIZE_CNT && !is_known_size(size); i++, nothing = 0)
        if (atomic_compare_exchange_strong(&sizes[i], &nothing, size))
            atomic_fetch_or(&size_bits, size_bit(size));
}

/* (K1) */
static bool is_workspace(void) {
    uintptr_t call = sl_native_find_caller(allocators.at, allocators.cnt);
    return call && sl_code_is_in(askers.at, askers.cnt, call) &&
           !sl_code_is_in(others.at, others.cnt, call);
}

/* How often a stack was walked: four bits for each power of two from SL_WORKSPACE_MIN on; a count,
 * or that a workspace was found. */
#define LOOK_BITS     4
#define HAS_WORKSPACE 15u
#define LAST_POWER    15u
_Static_assert(SL_WORKSPACE_LOOKS < HAS_WORKSPACE, "they share four bits");

static unsigned look_shift(uint64_t size) {
    unsigned power = (unsigned)(__builtin_clzll(SL_WORKSPACE_MIN) - __builtin_clzll(size));
    return LOOK_BITS * (power < LAST_POWER ? power : LAST_POWER);
}

static void count_look(uint64_t *looks, uint64_t size, bool is_one) {
    unsigned shift = look_shift(size);
    uint64_t seen = __atomic_load_n(looks, __ATOMIC_RELAXED);
    uint64_t cnt = seen >> shift & HAS_WORKSPACE;
    if (!is_one && cnt >= SL_WORKSPACE_LOOKS)
        return;
    uint64_t next = is_one ? HAS_WORKSPACE : cnt + 1;
    seen = (seen & ~((uint64_t)HAS_WORKSPACE << shift)) | next << shift;
    __atomic_store_n(looks, seen, __ATOMIC_RELAXED);
}

/* A stack's workspace: a hash of its size, and how many there were in a row; or that something else has this size. */
#define ROW_BITS 4
#define IS_MIXED 15u
_Static_assert(SL_WORKSPACE_TRUST < IS_MIXED, "they share four bits");

static uint32_t trust_of(uint64_t size, uint32_t row) {
    return (uint32_t)((size * UINT64_C(0x9e3779b97f4a7c15)) >> 32) << ROW_BITS | row;
}

static void count_trust(uint32_t *workspace, uint64_t size, bool is_one) {
    uint32_t seen = __atomic_load_n(workspace, __ATOMIC_RELAXED), row = seen & IS_MIXED;
    bool is_same = seen == trust_of(size, row);
    if (!is_one && (!is_same || !seen))
        return;
    uint32_t next = !is_one ? IS_MIXED : !is_same ? 1 : row < SL_WORKSPACE_TRUST ? row + 1 : row;
    __atomic_store_n(workspace, trust_of(size, next), __ATOMIC_RELAXED);
}

/* Whether a trusted size is due for another check. Counts of several threads may be lost. */
static bool is_again(void) {
    static atomic_uint trusted_cnt;
    uint32_t cnt = atomic_load_explicit(&trusted_cnt, memory_order_relaxed) + 1;
    atomic_store_explicit(&trusted_cnt, cnt, memory_order_relaxed);
    return cnt % SL_WORKSPACE_AGAIN == 0;
}

static __attribute__((noinline)) uint16_t look(sl_key_memo *memo, uint64_t size) {
    uint32_t trusted = trust_of(size, SL_WORKSPACE_TRUST);
    if (__atomic_load_n(&memo->workspace, __ATOMIC_RELAXED) == trusted && !is_again())
        return label;
    bool is_one = is_workspace();
    if (is_one)
        remember_size(size);
    count_look(&memo->looks, size, is_one);
    count_trust(&memo->workspace, size, is_one);
    return is_one ? label : 0;
}

SL_HOT uint16_t sl_workspace_find(sl_stack_ref stack, uint64_t size) {
    if (SL_LIKELY(!is_on || size < SL_WORKSPACE_MIN))
        return 0;
    sl_key_memo *memo = stack.memo ? stack.memo : &stackless[size_hash(size)];
    uint64_t looks = __atomic_load_n(&memo->looks, __ATOMIC_RELAXED);
    bool is_settled = (looks >> look_shift(size) & HAS_WORKSPACE) == SL_WORKSPACE_LOOKS;
    if (SL_LIKELY(is_settled) && !is_known_size(size))
        return 0;
    return look(memo, size);
}
