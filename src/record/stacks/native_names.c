/* SPDX-License-Identifier: MIT */
#include "record/stacks/native_names.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/files/own_fd.h"
#include "record/hooks/elf_view.h"

#define OBJECT_MAX      1024
#define INDEX_BYTES_MAX ((size_t)64 << 20)
#define BUCKET_SHIFT    12
#define SYMBOL_MAX      (1u << 24)

/* Symbols and the text of their names, in memory or mapped from the file. */
typedef struct symbol_table {
    const Elf64_Sym *symbols;
    size_t cnt;
    const char *strings;
    size_t string_bytes;
} symbol_table;

typedef enum object_state { OBJECT_FREE, OBJECT_IN_WORK, OBJECT_READY } object_state;

/* A library whose symbols were read. Written by the thread that took the row, read by the others
 * once it is ready. */
typedef struct named_object {
    _Atomic(uint64_t) identity;
    atomic_int state;
    uintptr_t base, low, high;
    symbol_table table;
    /* Symbols by the page their code begins in: ends[page] is where the page's numbers end, those of
     * page 0 begin at 0. NULL when there was no room: no names then. */
    uint32_t *ends;
    uint32_t *numbers;
} named_object;

static named_object objects[OBJECT_MAX];
static atomic_size_t index_bytes;

/* --- The file's own symbol table -------------------------------------------------------------- */

/* A part of the file, mapped; NULL when the file does not have it. */
static const void *map_part(int fd, size_t file_bytes, const Elf64_Shdr *section) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skip = section->sh_offset & (page - 1);
    if (!section->sh_size || section->sh_offset > file_bytes ||
        section->sh_size > file_bytes - section->sh_offset)
        return NULL;
    void *at = mmap(NULL, section->sh_size + skip, PROT_READ, MAP_PRIVATE, fd,
                    (off_t)(section->sh_offset - skip));
    return at == MAP_FAILED ? NULL : (const char *)at + skip;
}

/* The file may have been replaced since it was loaded. Its first bytes hold the header, which says where
 * everything is, and in practice the build id. */
static bool is_same_file(int fd, uintptr_t low, size_t file_bytes) {
    char head[1024];
    size_t len = sizeof head;
    return file_bytes >= len && pread(fd, head, len, 0) == (ssize_t)len &&
           memcmp(head, ELFMAG, SELFMAG) == 0 && memcmp(head, (const void *)low, len) == 0;
}

static bool read_section(int fd, const Elf64_Ehdr *header, unsigned i, Elf64_Shdr *section) {
    off_t at = (off_t)(header->e_shoff + (uint64_t)i * sizeof *section);
    return pread(fd, section, sizeof *section, at) == (ssize_t)sizeof *section;
}

static bool map_symbols(int fd, const Elf64_Ehdr *header, size_t file_bytes, symbol_table *table) {
    Elf64_Shdr symbols, strings;
    if (header->e_shentsize != sizeof symbols)
        return false;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (!read_section(fd, header, i, &symbols))
            return false;
        if (symbols.sh_type != SHT_SYMTAB)
            continue;
        if (symbols.sh_entsize != sizeof(Elf64_Sym) || symbols.sh_link >= header->e_shnum ||
            !read_section(fd, header, symbols.sh_link, &strings))
            return false;
        table->symbols = map_part(fd, file_bytes, &symbols);
        table->strings = map_part(fd, file_bytes, &strings);
        table->cnt = symbols.sh_size / sizeof(Elf64_Sym);
        table->string_bytes = strings.sh_size;
        return table->symbols && table->strings;
    }
    return false;
}

static bool take_file_symbols(const char *path, uintptr_t low, symbol_table *table) {
    struct stat info;
    bool is_taken = false;
    sl_own_fd own;
    if (!sl_own_fd_open(&own, path, O_RDONLY, 0))
        return false;
    if (fstat(own.fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        is_same_file(own.fd, low, (size_t)info.st_size))
        is_taken = map_symbols(own.fd, (const Elf64_Ehdr *)low, (size_t)info.st_size, table);
    sl_own_fd_close(&own);
    return is_taken;
}

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
    const symbol_table *table = &object->table;
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
    if (!take_file_symbols(path_of(code->map), view->low, &object->table))
        object->table = (symbol_table){view->symbols, sl_elf_symbol_cnt(view), view->strings,
                                       view->string_bytes};
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
