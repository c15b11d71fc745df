/* SPDX-License-Identifier: MIT */
#include "record/torch/tracker_proof.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files/own_fd.h"
#include "record/hooks/elf_view.h"
#include "record/torch/file_symbols.h"

/* A class's table of functions comes after two words: an offset and the type's description. */
#define VTABLE_HEAD_BYTES 16

#define NATIVE    "_ZN3c104cuda20CUDACachingAllocator6Native22"
#define ATTACH    NATIVE "NativeCachingAllocator27attachAllocatorTraceTrackerESt8functionIFvRK"
#define MAKE      NATIVE "DeviceCachingAllocator12record_traceE"
#define OLD_ENTRY "NS1_10TraceEntry"
#define NEW_ENTRY "NS_22CachingDeviceAllocator10TraceEntry"
#define CONTEXT   "St10shared_ptrINS_15GatheredContextEE"
#define POOL      "St4pairIyyE"
#define STREAM    "P11CUstream_st"
#define TEXT      "St8optionalINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE"

#define VTABLE    "_ZTVN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocatorE"
#define ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE"

/* (Q1), (Q2). Of an entry the recorder uses the fields up to the size, which are at the same place
 * in all of these, and the pool after them. */
typedef struct release_row {
    const char *versions; /* names, each with a space before and after it */
    const char *attach;
    const char *make;
    bool has_pool;
} release_row;

static const release_row releases[] = {
    {" 2.2.0 2.2.1 2.2.2 ", ATTACH OLD_ENTRY "EEE", MAKE OLD_ENTRY "6ActionElm" STREAM "i" CONTEXT,
     false},
    {" 2.3.0 2.3.1 ", ATTACH OLD_ENTRY "EEE", MAKE OLD_ENTRY "6ActionElm" STREAM "a" CONTEXT,
     false},
    {" 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 2.7.0 2.7.1 ", ATTACH OLD_ENTRY "EEE",
     MAKE OLD_ENTRY "6ActionEmm" STREAM "a" CONTEXT, false},
    {" 2.8.0 2.9.0 2.9.1 2.10.0 ", ATTACH OLD_ENTRY "EEE",
     MAKE OLD_ENTRY "6ActionEmm" STREAM "a" POOL CONTEXT, true},
    {" 2.11.0 2.12.0 2.12.1 2.13.0 ", ATTACH NEW_ENTRY "EEE",
     MAKE NEW_ENTRY "6ActionEmm" STREAM "a" POOL CONTEXT, true},
    {" 2.14.0 2.14.1 2.15.0 ", ATTACH NEW_ENTRY "EEE",
     MAKE NEW_ENTRY "6ActionEmm" STREAM "a" POOL CONTEXT TEXT, true},
};

SL_PRINTF(2, 3) static bool refuse(sl_tracker_target *out, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->text, sizeof out->text, fmt, args);
    va_end(args);
    return false;
}

/* --- (Q1) The release ------------------------------------------------------------------------- */

#define VERSION_CAP 48

/* "…/torch/lib/libc10_cuda.so" -> "…/torch/version.py". */
static bool make_path(const char *library, char *path, size_t cap) {
    const char *name = strrchr(library, '/');
    size_t len = name ? (size_t)(name - library) : 0;
    if (len < 4 || memcmp(library + len - 4, "/lib", 4) != 0)
        return false;
    int made = snprintf(path, cap, "%.*s/version.py", (int)(len - 4), library);
    return made > 0 && (size_t)made < cap;
}

/* The text between quotes after "__version__ =". */
static bool read_version(const char *library, char version[VERSION_CAP]) {
    static char path[4096]; /* one thread at a time comes here */
    char text[2048];
    sl_own_fd own;
    if (!make_path(library, path, sizeof path) || !sl_own_fd_open(&own, path, O_RDONLY, 0))
        return false;
    ssize_t got = pread(own.fd, text, sizeof text - 1, 0);
    sl_own_fd_close(&own);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, "\n__version__ = '");
    at = at ? at + 1 : strncmp(text, "__version__ = '", 15) == 0 ? text : NULL;
    const char *end = at ? strchr(at + 15, '\'') : NULL;
    if (!end || end - at - 15 >= VERSION_CAP || end == at + 15)
        return false;
    memcpy(version, at + 15, (size_t)(end - at - 15));
    version[end - at - 15] = '\0';
    return true;
}

/* The release of a version, without the suffix for the build ("+cu128"). */
static const release_row *find_release(const char *version) {
    char wanted[VERSION_CAP + 2];
    snprintf(wanted, sizeof wanted, " %.*s ", (int)strcspn(version, "+"), version);
    for (size_t i = 0; i < SL_COUNT_OF(releases); i++)
        if (strstr(releases[i].versions, wanted))
            return &releases[i];
    return NULL;
}

/* --- (Q2), (Q3) The library -------------------------------------------------------------------- */

typedef struct library {
    sl_elf_view view;
    char path[4096];
} library;

static int visit_library(const sl_elf_view *view, void *library_ptr) {
    library *found = library_ptr;
    if (strncmp(sl_elf_name(view), "libc10_cuda.so", strlen("libc10_cuda.so")) != 0)
        return 0;
    found->view = *view;
    snprintf(found->path, sizeof found->path, "%s", view->path);
    return 1;
}

/* The one symbol of a name that lies in the library; 0 when there is none, or more than one. */
static uintptr_t find_symbol(const library *lib, const sl_symbols *symbols, const char *name,
                             unsigned type) {
    uintptr_t found = 0;
    for (size_t i = 0; i < symbols->cnt; i++) {
        const Elf64_Sym *symbol = &symbols->symbols[i];
        uintptr_t at = lib->view.base + symbol->st_value;
        if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != type ||
            !sl_elf_contains(&lib->view, (const void *)at) ||
            strcmp(sl_symbol_name(symbols, symbol), name) != 0)
            continue;
        if (found && found != at)
            return 0;
        found = at;
    }
    return found;
}

static bool find_functions(const library *lib, const release_row *release,
                           const sl_symbols *symbols, sl_tracker_target *out) {
    uintptr_t attach = find_symbol(lib, symbols, release->attach, STT_FUNC);
    uintptr_t vtable = find_symbol(lib, symbols, VTABLE, STT_OBJECT);
    void *const *const *place = sl_elf_find_symbol(&lib->view, ALLOCATOR);
    if (!attach || !vtable || !place || !find_symbol(lib, symbols, release->make, STT_FUNC))
        return refuse(out, "its allocator is not that of the release (%s)",
                      attach ? "entries" : "attach");
    void *const *allocator = *place;
    if (!allocator || (uintptr_t)*allocator != vtable + VTABLE_HEAD_BYTES)
        return refuse(out, "another allocator than PyTorch's native one is in use");
    out->allocator = (void *)(uintptr_t)allocator;
    out->has_pool = release->has_pool;
    *(void **)&out->attach = (void *)attach;
    return true;
}

bool sl_tracker_prove(sl_tracker_target *out) {
    static library lib; /* large; one thread at a time comes here */
    sl_symbols symbols;
    char version[VERSION_CAP];
    *out = (sl_tracker_target){0};
#if !defined(__x86_64__)
    return refuse(out, "tried on x86-64 only");
#endif
    if (!sl_elf_each(visit_library, &lib))
        return refuse(out, "no libc10_cuda.so is loaded");
    if (!read_version(lib.path, version))
        return refuse(out, "no version.py of torch beside libc10_cuda.so");
    const release_row *release = find_release(version);
    if (!release)
        return refuse(out, "torch %s is not a release that was tried", version);
    if (!sl_file_symbols_map(lib.path, lib.view.low, &symbols))
        return refuse(out, "torch %s has no symbol table", version);
    bool is_proven = find_functions(&lib, release, &symbols, out);
    sl_file_symbols_unmap(&symbols);
    if (is_proven)
        snprintf(out->text, sizeof out->text, "torch %s", version);
    return is_proven;
}
