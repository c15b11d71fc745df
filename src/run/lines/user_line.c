/* SPDX-License-Identifier: MIT */
#include "run/lines/user_line.h"

#include <string.h>

#include "base/core/str.h"

/* Native code has no place in a Python program: objects, sources, and what could not be resolved.
 * Shared objects carry versions after the suffix. */
static bool is_native_file(sl_str file) {
    static const char *const suffixes[] = {".so", ".o",   ".a",  ".c",   ".cc", ".cpp", ".cxx",
                                           ".h",  ".hpp", ".cu", ".cuh", ".S",  ".inc", ".tcc"};
    if (file.len == 0 || sl_str_is(file, "??"))
        return true;
    for (size_t i = 0; i < SL_COUNT_OF(suffixes); i++)
        if (sl_str_ends_with(file, sl_str_of(suffixes[i])))
            return true;
    return sl_str_contains(file, SL_STR(".so."));
}

/* The recorder writes native functions with the place inside them: "main+0x1f". */
static bool is_recorded_native(sl_str function) {
    size_t at = function.len;
    while (at > 0 && ((function.ptr[at - 1] >= '0' && function.ptr[at - 1] <= '9') ||
                      (function.ptr[at - 1] >= 'a' && function.ptr[at - 1] <= 'f')))
        at--;
    return at >= 3 && at < function.len && memcmp(function.ptr + at - 3, "+0x", 3) == 0;
}

/* Folders of the interpreter and of installed packages; the generated code of torch.compile. */
static bool is_library_file(sl_str file) {
    static const char *const parts[] = {
        "site-packages",  "dist-packages",     "/lib/python",         "/lib64/python",
        "torchinductor_", "/python/stormlog/", "/python/gpumemprof/", "/python/tfmemprof/",
    };
    for (size_t i = 0; i < SL_COUNT_OF(parts); i++)
        if (sl_str_contains(file, sl_str_of(parts[i])))
            return true;
    return false;
}

/* Libraries of the system, of the vendors and of the frameworks, by folder or by name wherever they lie. */
static bool is_system_library(sl_str file) {
    static const char *const folders[] = {"/lib/",     "/lib64/",         "/lib32/",
                                          "/usr/lib",  "/usr/local/lib/", "/usr/local/cuda",
                                          "/opt/rocm", "/opt/nvidia/",    "/nix/store/"};
    static const char *const names[] = {
        "libtorch",    "libc10",      "libcuda",     "libcud",        "libcublas", "libcufft",
        "libcurand",   "libcusolver", "libcusparse", "libcupti",      "libnccl",   "libnv",
        "libnpp",      "libamdhip",   "libhsa",      "libroc",        "libhip",    "libMIOpen",
        "librccl",     "libxla",      "libjax",      "libtensorflow", "libpython", "libstdc++",
        "libc++",      "libgcc",      "libgomp",     "libomp",        "libiomp",   "libmkl",
        "libopenblas", "libffi",      "libc.so",     "libm.so",       "libdl.so",  "libpthread.so",
        "librt.so",    "ld-linux",    "linux-vdso",  "python",        "pypy",
    };
    for (size_t i = 0; i < SL_COUNT_OF(folders); i++)
        if (sl_str_starts_with(file, sl_str_of(folders[i])))
            return true;
    sl_str name = sl_str_base_name(file);
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (sl_str_starts_with(name, sl_str_of(names[i])))
            return true;
    return file.len == 0 || is_library_file(file);
}

/* Names in angle brackets. A notebook's cell is the user's own code. */
static sl_owner owner_of_bracket(sl_str file) {
    if (sl_str_is(file, SL_MODULE_FRAME_FILE))
        return SL_OWNER_MODULE;
    if (sl_str_starts_with(file, SL_STR("<ipython-input")))
        return SL_OWNER_USER;
    if (sl_str_is(file, "<string>") || sl_str_is(file, "<stdin>"))
        return SL_OWNER_NAMELESS;
    return SL_OWNER_LIBRARY;
}

static sl_owner owner_of(sl_str file, sl_str function, bool is_torch_file) {
    if (is_recorded_native(function))
        return is_system_library(file) ? SL_OWNER_NATIVE : SL_OWNER_NATIVE_USER;
    if (sl_str_starts_with(file, SL_STR("<")))
        return owner_of_bracket(file);
    if (is_native_file(file))
        return SL_OWNER_NATIVE;
    return is_torch_file || is_library_file(file) ? SL_OWNER_LIBRARY : SL_OWNER_USER;
}

/* Bytes of the path up to the end of this folder; 0 when the file is not in it. */
static size_t folder_end(sl_str file, const char *folder) {
    size_t len = strlen(folder);
    for (size_t at = 0; len && at + len < file.len; at++) {
        bool is_begin = at == 0 || (file.ptr[at - 1] == '/' && folder[0] != '/');
        if (is_begin && file.ptr[at + len] == '/' && memcmp(file.ptr + at, folder, len) == 0)
            return at + len;
        if (folder[0] == '/')
            break;
    }
    return 0;
}

/* What the deepest folder that holds the file says; the last of equals. */
static const sl_code_folder *find_folder(const sl_code_folders *code, sl_str file) {
    const sl_code_folder *found = NULL;
    size_t deepest = 1;
    for (size_t i = 0; code && i < code->cnt; i++) {
        size_t end = folder_end(file, code->at[i].path);
        if (end >= deepest) {
            deepest = end;
            found = &code->at[i];
        }
    }
    return found;
}

static sl_owner told_owner(sl_owner owner, bool is_users) {
    if (owner == SL_OWNER_LIBRARY || owner == SL_OWNER_USER)
        return is_users ? SL_OWNER_USER : SL_OWNER_LIBRARY;
    if (owner == SL_OWNER_NATIVE || owner == SL_OWNER_NATIVE_USER)
        return is_users ? SL_OWNER_NATIVE_USER : SL_OWNER_NATIVE;
    return owner;
}

sl_frame_class sl_frame_classify(const sl_code_folders *code, sl_str file, sl_str function) {
    sl_torch_frame torch = sl_torch_frame_find(function, file);
    sl_owner owner = owner_of(file, function, torch.is_torch_file);
    const sl_code_folder *folder = find_folder(code, file);
    if (folder)
        owner = told_owner(owner, folder->is_users);
    uint8_t roles = owner > SL_OWNER_NATIVE_USER ? torch.roles
                    : sl_str_contains(function, SL_STR("autograd::Engine"))
                        ? SL_ROLE_ENGINE
                        : torch.roles & SL_ROLE_BACKWARD;
    return (sl_frame_class){(uint8_t)owner, roles};
}

static sl_origin origin_without_line(const sl_trace *trace, size_t depth, uint8_t roles) {
    if (depth == 0)
        return trace->has_event_stacks ? SL_ORIGIN_BACKWARD : SL_ORIGIN_UNRECORDED;
    return roles & SL_ROLE_ENGINE ? SL_ORIGIN_BACKWARD : SL_ORIGIN_NATIVE;
}

static sl_stack_class classify_stack(const sl_trace *trace, const sl_frame_class *frames,
                                     uint32_t stack_id) {
    sl_stack_span span = trace->stacks.spans.at[stack_id];
    sl_stack_class class = {0};
    sl_owner best = SL_OWNER_NATIVE;
    size_t code_depth = 0; /* modules are not code */
    for (uint32_t i = 0; i < span.depth; i++) {
        sl_frame_class frame = frames[trace->stacks.frame_ids.at[span.first + i]];
        class.roles |= frame.roles;
        code_depth += frame.owner != SL_OWNER_MODULE;
        if ((sl_owner)frame.owner > best) {
            best = (sl_owner)frame.owner;
            class.frame_pos = i;
        }
    }
    class.is_library = best < SL_OWNER_NAMELESS && best != SL_OWNER_NATIVE_USER;
    class.origin = best > SL_OWNER_NATIVE
                       ? SL_ORIGIN_LINE
                       : (uint8_t)origin_without_line(trace, code_depth, class.roles);
    return class;
}

static sl_frame_class classify_frame(const sl_trace *trace, sl_frame frame) {
    return sl_frame_classify(trace->code, sl_strtab_get(&trace->strings, frame.file),
                             sl_strtab_get(&trace->strings, frame.function));
}

sl_stack_class *sl_stacks_classify(const sl_trace *trace) {
    size_t frame_cnt = trace->stacks.frames.cnt, stack_cnt = trace->stacks.spans.cnt;
    sl_frame_class *frames = malloc((frame_cnt + 1) * sizeof *frames);
    sl_stack_class *stacks = malloc((stack_cnt + 1) * sizeof *stacks);
    if (!frames || !stacks) {
        free(frames);
        free(stacks);
        return NULL;
    }
    for (size_t i = 0; i < frame_cnt; i++)
        frames[i] = classify_frame(trace, trace->stacks.frames.at[i]);
    for (size_t i = 0; i < stack_cnt; i++)
        stacks[i] = classify_stack(trace, frames, (uint32_t)i);
    free(frames);
    return stacks;
}

sl_site sl_user_site(const sl_trace *trace, uint32_t stack_id) {
    size_t depth = sl_stack_depth(&trace->stacks, stack_id), code_depth = 0;
    sl_owner best = SL_OWNER_NATIVE;
    uint8_t roles = 0;
    sl_site site = {trace, stack_id, 0, SL_ORIGIN_LINE};
    for (size_t i = 0; i < depth; i++) {
        sl_frame_class frame = classify_frame(trace, sl_stack_frame(&trace->stacks, stack_id, i));
        roles |= frame.roles;
        code_depth += frame.owner != SL_OWNER_MODULE;
        if ((sl_owner)frame.owner > best) {
            best = (sl_owner)frame.owner;
            site.frame_pos = (uint32_t)i;
        }
    }
    if (best == SL_OWNER_NATIVE)
        site.origin = origin_without_line(trace, code_depth, roles);
    return site;
}

bool sl_frame_is_users(const sl_trace *trace, sl_frame frame) {
    sl_frame_class class =
        sl_frame_classify(trace->code, sl_strtab_get(&trace->strings, frame.file),
                          sl_strtab_get(&trace->strings, frame.function));
    return class.owner >= SL_OWNER_NAMELESS || class.owner == SL_OWNER_NATIVE_USER;
}
