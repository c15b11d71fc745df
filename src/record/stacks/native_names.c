/* SPDX-License-Identifier: MIT */
#include "record/stacks/native_names.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "record/hooks/elf_view.h"
#include "record/torch/file_symbols.h"

#define OBJECT_MAX      1024
#define INDEX_BYTES_MAX ((size_t)64 << 20)
#define BUCKET_SHIFT    12
#define SYMBOL_MAX      (1u << 24)

typedef enum object_state { OBJECT_FREE, OBJECT_IN_WORK, OBJECT_READY } object_state;

/* A library whose symbols were read. Written by the thread that took the row, read by the others
 * once it is ready. */
typedef struct named_object {
    _Atomic(uint64_t) identity;
    atomic_int state;
    uintptr_t base, low, high;
    sl_symbols table;
    /* Symbols by the page their code begins in: ends[page] is where the page's numbers end, those of
     * page 0 begin at 0. NULL when there was no room: no names then. */
    uint32_t *ends;
    uint32_t *numbers;
} named_object;

static named_object objects[OBJECT_MAX];
static atomic_size_t index_bytes;

/* --- The index -------------------------------------------------------------------------------- */

static bool is_function(const named_object *object, const Elf64_Sym *symbol) {
    uintptr_t at = object->base + symbol->st_value;
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
           symbol->st_name < object->table.string_bytes && at >= object->low && at < object->high;
}

static size_t page_of(const named_object *object, uintptr_t at) {
    return (at - object->low) >> BUCKET_SHIFT;
}

/* Counting sort: counts, places, numbers. */
static void build_index(named_object *object) {
    const sl_symbols *table = &object->table;
    size_t page_cnt = page_of(object, object->high - 1) + 1;
    size_t bytes = (page_cnt + table->cnt) * sizeof(uint32_t);
    if (table->cnt > SYMBOL_MAX || atomic_fetch_add(&index_bytes, bytes) + bytes > INDEX_BYTES_MAX)
        return;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return;
    uint32_t *ends = at, *numbers = ends + page_cnt, sum = 0;
    for (size_t i = 0; i < table->cnt; i++)
        if (is_function(object, &table->symbols[i]))
            ends[page_of(object, object->base + table->symbols[i].st_value)]++;
    for (size_t page = 0; page < page_cnt; page++) {
        uint32_t cnt = ends[page];
        ends[page] = sum; /* where the page begins; counted up to its end below */
        sum += cnt;
    }
    for (size_t i = 0; i < table->cnt; i++)
        if (is_function(object, &table->symbols[i]))
            numbers[ends[page_of(object, object->base + table->symbols[i].st_value)]++] =
                (uint32_t)i;
    object->numbers = numbers;
    object->ends = ends;
}

/* --- Libraries -------------------------------------------------------------------------------- */

typedef struct view_search {
    uintptr_t address;
    sl_elf_view view;
} view_search;

static int visit_for_view(const sl_elf_view *view, void *search_ptr) {
    view_search *search = search_ptr;
    if (!sl_elf_contains(view, (const void *)search->address))
        return 0;
    search->view = *view;
    return 1;
}

static char program[4096];

void sl_native_names_start(void) {
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
}

/* The program itself has no path in the linker's list. */
static const char *path_of(const struct link_map *map) {
    return map->l_name && map->l_name[0] ? map->l_name : program;
}

void sl_native_names_after_fork_child(void) {
    for (size_t i = 0; i < OBJECT_MAX; i++)
        if (atomic_load(&objects[i].identity) && atomic_load(&objects[i].state) != OBJECT_READY)
            atomic_store(&objects[i].identity, 0);
}

static void fill_object(named_object *object, const sl_native_code *code) {
    view_search search = {.address = code->at};
    if (!sl_elf_each(visit_for_view, &search))
        return;
    const sl_elf_view *view = &search.view;
    object->base = view->base;
    object->low = view->low;
    object->high = view->high;
    if (!sl_file_symbols_map(path_of(code->map), view->low, &object->table))
        object->table =
            (sl_symbols){view->symbols, sl_elf_symbol_cnt(view), view->strings, view->string_bytes};
    if (object->table.cnt)
        build_index(object);
}

#define WAIT_STEPS   1000
#define WAIT_STEP_US 100

/* A missing name stays missing: the frame is used in every later stack. */
static bool wait_for(const named_object *object) {
    for (int i = 0; i < WAIT_STEPS; i++) {
        if (atomic_load_explicit(&object->state, memory_order_acquire) == OBJECT_READY)
            return true;
        sl_clock_pause_us(WAIT_STEP_US);
    }
    return false;
}

/* The row of a library, filled now if it is new. NULL when all rows are taken, and when another thread is
 * filling it and does not come to an end: then *is_pending. */
static const named_object *find_object(const sl_native_code *code, bool *is_pending) {
    for (size_t i = 0; i < OBJECT_MAX; i++) {
        named_object *object = &objects[(code->object + i) % OBJECT_MAX];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&object->identity, &found, code->object)) {
            atomic_store(&object->state, OBJECT_IN_WORK);
            fill_object(object, code);
            atomic_store_explicit(&object->state, OBJECT_READY, memory_order_release);
            return object;
        }
        if (found == code->object) {
            *is_pending = !wait_for(object);
            return *is_pending ? NULL : object;
        }
    }
    return NULL;
}

/* Where several names stand for one function, one that others may call is better than a local one. */
static const Elf64_Sym *find_symbol(const named_object *object, uintptr_t function) {
    const Elf64_Sym *best = NULL;
    if (!object->ends || function < object->low || function >= object->high)
        return NULL;
    size_t page = page_of(object, function);
    for (uint32_t i = page ? object->ends[page - 1] : 0; i < object->ends[page]; i++) {
        const Elf64_Sym *symbol = &object->table.symbols[object->numbers[i]];
        if (object->base + symbol->st_value != function)
            continue;
        if (!best || (ELF64_ST_BIND(best->st_info) == STB_LOCAL &&
                      ELF64_ST_BIND(symbol->st_info) != STB_LOCAL))
            best = symbol;
    }
    return best;
}

sl_native_name sl_native_name_find(const sl_native_code *code) {
    sl_native_name name = {.file = path_of(code->map), .off = code->at - code->map->l_addr};
    const named_object *object = code->function ? find_object(code, &name.is_pending) : NULL;
    const Elf64_Sym *symbol = object ? find_symbol(object, code->function) : NULL;
    if (!symbol)
        return name;
    const char *text = object->table.strings + symbol->st_name;
    name.symbol = (sl_str){text, strnlen(text, object->table.string_bytes - symbol->st_name)};
    name.off = code->at - code->function;
    return name;
}
