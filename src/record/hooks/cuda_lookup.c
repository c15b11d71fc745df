/* SPDX-License-Identifier: MIT */
/* How libraries find the driver's functions, and how they find ours instead: libcudart, libcublasLt
 * and libnccl ask dlsym for cuGetProcAddress_v2, then ask that for cuGetProcAddress again and use the
 * second answer, so both are ours; others ask dlsym for the functions themselves. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "record/core/recorder.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_cuda.h"
#include "record/hooks/hook_table.h"

/* cuGetProcAddress(..., flags): streams are the calling thread's own. */
#define FLAG_PER_THREAD_STREAM 2
/* The version from which cuGetProcAddress has its fifth parameter. */
#define VERSION_WITH_STATUS    12000

static bool is_driver_hook(unsigned id) {
    return strncmp(sl_hooks[id].symbol, "cu", 2) == 0 &&
           strncmp(sl_hooks[id].symbol, "cuda", 4) != 0;
}

/* "cuMemAlloc_v2" has the base name "cuMemAlloc". */
static bool has_base(const char *symbol, const char *base) {
    size_t len = strlen(base);
    if (strncmp(symbol, base, len) != 0)
        return false;
    const char *rest = symbol + len;
    return !*rest || strcmp(rest, "_v2") == 0 || strcmp(rest, "_ptsz") == 0;
}

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* The hook for a base name; *id is SL_HOOK_CNT when there is none. */
static sl_hook_id find_by_base(const char *base, int version, uint64_t flags) {
    bool wants_ptsz = flags & FLAG_PER_THREAD_STREAM;
    if (strcmp(base, "cuGetProcAddress") == 0)
        return version >= VERSION_WITH_STATUS ? SL_HOOK_cuGetProcAddress_v2
                                              : SL_HOOK_cuGetProcAddress;
    sl_hook_id plain = SL_HOOK_CNT;
    for (unsigned id = 0; id < SL_HOOK_CNT; id++) {
        if (!is_driver_hook(id) || !has_base(sl_hooks[id].symbol, base))
            continue;
        if (ends_with(sl_hooks[id].symbol, "_ptsz") == wants_ptsz)
            return (sl_hook_id)id;
        if (!ends_with(sl_hooks[id].symbol, "_ptsz"))
            plain = (sl_hook_id)id; /* functions without streams have one form only */
    }
    return plain;
}

/* Our replacement for a driver function. The driver may have several addresses for one function
 * (what dlsym gives, what cuGetProcAddress gives); the first one met serves all callers. */
static void *exchange(sl_hook_id id, void *found) {
    void *known = NULL;
    if (id == SL_HOOK_CNT || !found || found == sl_hooks[id].replacement)
        return found;
    atomic_compare_exchange_strong(&sl_hooks[id].original, &known, found);
    return sl_hooks[id].replacement;
}

cu_result SL_CU(cuGetProcAddress)(const char *symbol, void **out, int version, uint64_t flags) {
    cu_result (*original)(const char *, void **, int, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_cuGetProcAddress);
    if (!original)
        return 500; /* CUDA_ERROR_NOT_FOUND */
    cu_result result = original(symbol, out, version, flags);
    if (result == 0 && symbol && out)
        *out = exchange(find_by_base(symbol, version, flags), *out);
    return result;
}

cu_result SL_CU(cuGetProcAddress_v2)(const char *symbol, void **out, int version, uint64_t flags,
                                     void *status) {
    cu_result (*original)(const char *, void **, int, uint64_t, void *);
    *(void **)&original = sl_hook_original(SL_HOOK_cuGetProcAddress_v2);
    if (!original)
        return 500; /* CUDA_ERROR_NOT_FOUND */
    cu_result result = original(symbol, out, version, flags, status);
    if (result == 0 && symbol && out)
        *out = exchange(find_by_base(symbol, version, flags), *out);
    return result;
}

/* --- dlsym ---------------------------------------------------------------------------------------- */

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* Read by the assembly below; set before it first jumps. */
__attribute__((visibility("hidden"))) _Atomic(dlsym_fn) sl_real_dlsym;

/* libc's own (libdl's before glibc 2.34), never another library's: a second copy of this one, or another
 * tool, may have a dlsym too, which asks ours. */
static int visit_libc(const sl_elf_view *view, void *found_ptr) {
    const char *name = sl_elf_name(view);
    void **found = found_ptr;
    if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libdl.so", 8) == 0 ||
        strncmp(name, "ld-musl", 7) == 0)
        *found = sl_elf_find_symbol(view, "dlsym");
    return *found != NULL;
}

static dlsym_fn find_real(void) {
    dlsym_fn real = atomic_load_explicit(&sl_real_dlsym, memory_order_acquire);
    if (SL_UNLIKELY(!real)) {
        void *found = NULL;
        sl_elf_each(visit_libc, &found);
        *(void **)&real = found ? found : sl_elf_find_original("dlsym", sl_hooks);
        atomic_store(&sl_real_dlsym, real);
    }
    return real;
}

static sl_hook_id find_by_symbol(const char *name) {
    for (unsigned id = 0; id < SL_HOOK_CNT; id++)
        if (strcmp(sl_hooks[id].symbol, name) == 0)
            return (sl_hook_id)id;
    return SL_HOOK_CNT;
}

/* "cu...", "hip...": the names of the two vendors. */
static inline bool may_be_hooked(const char *name) {
    return name && ((name[0] == 'c' && name[1] == 'u') || (name[0] == 'h' && name[1] == 'i'));
}

/* RTLD_NEXT and RTLD_DEFAULT depend on who asks, so the caller must ask itself. It may find our
 * exported name, which is right, unless there is no driver: then there must be no function. */
sl_dlsym_answer sl_dlsym_find(void *handle, const char *name) {
    const sl_dlsym_answer ask_real = {NULL, 0};
    dlsym_fn real = find_real();
    /* A program that loads a library looks up its functions before it calls them. */
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT)
        sl_recorder_note_library(handle, name);
    if (SL_LIKELY(!may_be_hooked(name)) || !real)
        return ask_real;
    sl_hook_id id = find_by_symbol(name);
    if (id == SL_HOOK_CNT)
        return ask_real;
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT)
        return (sl_dlsym_answer){exchange(id, real(handle, name)), 1};
    if (sl_hook_original(id))
        return ask_real;
    return (sl_dlsym_answer){real(RTLD_DEFAULT, "no such library of the GPU's vendor is loaded"),
                             1}; /* NULL, and a dlerror */
}

/* A sanitizer's own start asks dlsym before instrumented code can run; there the name stays libc's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#elif defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call sl_dlsym_find\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rdx, %rdx\n"
        "    jne 1f\n"
        "    jmpq *sl_real_dlsym(%rip)\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    stp x0, x1, [sp, #16]\n"
        "    mov x29, sp\n"
        "    bl sl_dlsym_find\n"
        "    mov x9, x0\n"
        "    mov x11, x1\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_def_cfa_offset 0\n"
        "    cbnz x11, 1f\n"
        "    adrp x10, sl_real_dlsym\n"
        "    ldr x10, [x10, #:lo12:sl_real_dlsym]\n"
        "    br x10\n"
        "1:  mov x0, x9\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#endif
