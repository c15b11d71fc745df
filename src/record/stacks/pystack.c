/* SPDX-License-Identifier: MIT */
#include "record/stacks/pystack.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/files/own_fd.h"
#include "record/core/guard.h"
#include "record/hooks/elf_view.h"
#include "record/stacks/key_cache.h"
#include "record/stacks/pystack_offsets.h"

typedef struct py_runtime {
    sl_py_layout layout;
    void *(*get_tstate)(void); /* PyGILState_GetThisThreadState */
    const void *code_type;     /* &PyCode_Type and so on: what ob_type must be */
    const void *str_type;
    const void *bytes_type;
    const void *cell_type;
    const void *type_type;
    const char *reason;
} py_runtime;

/* Code of functions whose first argument is the module they call; filled as they are met. */
#define MODULE_CODE_CNT 8

static _Atomic(const char *) module_codes[MODULE_CODE_CNT];
static atomic_uint module_code_cnt;
static atomic_bool is_watching_modules;

static py_runtime py;
static _Atomic(int) py_state; /* sl_pystack_state; published last */

/* Who may be read (X1, X2): everybody, or one thread. NULL means the main thread. */
static atomic_bool is_open_to_all;
static _Atomic(const sl_guard_slot *) only_slot;

/* How long the end of the interpreter waits for threads that are just reading their stacks. */
#define CLOSE_WAIT_MS 2000

static inline uint64_t load_u64(const char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline const char *load_ptr(const char *at) {
    const char *value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int32_t load_i32(const char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* --- Keys (P1) ------------------------------------------------------------------------------- */

static inline uint64_t code_identity(const char *code) {
    const sl_py_layout *layout = &py.layout;
    if (layout->code_version != SL_PY_NO_FIELD) {
        uint32_t version = (uint32_t)load_i32(code + layout->code_version);
        if (SL_LIKELY(version))
            return version;
    }
    const char *name = load_ptr(code + layout->code_name);
    uint64_t id = (uint64_t)(uint32_t)load_i32(code + layout->code_first_line);
    id = id * SL_KEY_A + load_u64(code + layout->code_filename);
    id = id * SL_KEY_A + load_u64(code + layout->code_linetable);
    id = id * SL_KEY_A + (uint64_t)(uintptr_t)name;
    return id * SL_KEY_A + (name ? load_u64(name + SL_PY_STR_HASH) : 0);
}

static inline uint64_t key_of(const char *code, uint32_t instr_off) {
    return sl_key_mix((uint64_t)(uintptr_t)code ^ SL_KEY_A,
                      code_identity(code) ^ SL_KEY_B ^ instr_off);
}

uint64_t sl_pyframe_key(const sl_pyframe *frame) {
    return key_of(frame->code, frame->instr_off);
}

/* --- The walk -------------------------------------------------------------------------------- */

static inline const char *innermost_frame(void) {
    const char *tstate = py.get_tstate();
    if (!tstate)
        return NULL;
    const char *frame = load_ptr(tstate + py.layout.tstate_frame);
    if (frame && py.layout.cframe_frame != SL_PY_NO_FIELD)
        frame = load_ptr(frame + py.layout.cframe_frame);
    return frame;
}

/* From 3.14 on the low bits of the pointer are a tag. */
static inline const char *code_of(const char *frame) {
    return (const char *)((uintptr_t)load_ptr(frame + py.layout.frame_code) & ~(uintptr_t)7);
}

static inline bool is_python_frame(const char *frame) {
    uint16_t owner = py.layout.frame_owner;
    return owner == SL_PY_NO_FIELD || (uint8_t)frame[owner] < SL_PY_OWNER_SHIM;
}

/* Byte offset of the frame's instruction; negative before its first one ran. */
static inline int64_t instr_off_of(const char *frame, const char *code) {
    const sl_py_layout *layout = &py.layout;
    if (layout->instr_is_index)
        return (int64_t)load_i32(frame + layout->frame_instr) * layout->instr_unit_bytes;
    return load_ptr(frame + layout->frame_instr) - (code + layout->code_start);
}

/* Python's tagged references (3.14) keep their tag in the low bits of the pointer. */
static inline const char *first_slot_of(const char *frame) {
    return (const char *)((uintptr_t)load_ptr(frame + py.layout.frame_locals) & ~(uintptr_t)7);
}

/* An argument that an inner function uses as well lies in a cell. */
static inline const char *argument_of(const char *slot) {
    if (slot && load_ptr(slot + SL_PY_OB_TYPE) == py.cell_type)
        return load_ptr(slot + SL_PY_CELL_VALUE);
    return slot;
}

static inline bool is_module_code(const char *code) {
    unsigned cnt = atomic_load_explicit(&module_code_cnt, memory_order_acquire);
    for (unsigned i = 0; i < cnt; i++)
        if (atomic_load_explicit(&module_codes[i], memory_order_relaxed) == code)
            return true;
    return false;
}

/* That the frame has an argument there was proven when its code was added. */
static inline void note_module(sl_pystack *stack, const char *frame, uint32_t depth) {
    const char *module = argument_of(first_slot_of(frame));
    if (!module)
        return;
    stack->root_module = module;
    if (stack->module)
        return;
    stack->module = module;
    stack->module_pos = depth;
}

/* Inlined twice, so that a walk that does not look for modules pays nothing for those that do.
 *
 * The key is a polynomial over the frames' keys, which are spread over 64 bits already: from frame to frame
 * only a shift and two additions wait for each other, not a multiplication to 128 bits. */
static inline __attribute__((always_inline)) void walk(sl_pystack *stack, bool watches_modules) {
    uint64_t key = 0;
    stack->module = NULL;
    uint32_t depth = 0;
    const char *frame = innermost_frame();
    for (; frame && depth < SL_PYSTACK_DEPTH_MAX;
         frame = load_ptr(frame + py.layout.frame_previous)) {
        if (SL_UNLIKELY(!is_python_frame(frame)))
            continue;
        const char *code = code_of(frame);
        int64_t instr_off = instr_off_of(frame, code);
        if (SL_UNLIKELY(instr_off < 0))
            continue;
        if (watches_modules && is_module_code(code))
            note_module(stack, frame, depth);
        stack->frames[depth++] = (sl_pyframe){code, (uint32_t)instr_off};
        key = key * 9 + key_of(code, (uint32_t)instr_off);
    }
    stack->depth = depth;
    stack->is_cut = frame != NULL;
    stack->key = sl_key_mix(key ^ SL_KEY_A, SL_KEY_B) | (depth > 0);
}

static bool is_open_to_this_thread(void) {
    const sl_guard_slot *only = atomic_load(&only_slot), *own = sl_guard_own;
    if (atomic_load(&is_open_to_all))
        return true;
    return own && (only ? own == only : sl_guard_is_main(own));
}

static bool may_walk(sl_pystack_state state) {
    return state == SL_PYSTACK_ON || (state == SL_PYSTACK_ONE && is_open_to_this_thread());
}

void sl_pystack_each(sl_pyframe_visit visit, void *arg) {
    if (!may_walk(sl_pystack_get_state()))
        return;
    for (const char *frame = innermost_frame(); frame;
         frame = load_ptr(frame + py.layout.frame_previous)) {
        if (!is_python_frame(frame))
            continue;
        const char *code = code_of(frame);
        int64_t instr_off = instr_off_of(frame, code);
        sl_pyframe row = {code, (uint32_t)instr_off};
        if (instr_off >= 0 && !visit(&row, first_slot_of(frame), arg))
            return;
    }
}

/* --- The proof: the first stack, read so that a wrong guess cannot fault ----------------------- */

#define PROOF_DEPTH_MAX 100000

static bool read_safely(const void *from, void *to, size_t len) {
    struct iovec local = {to, len}, remote = {(void *)(uintptr_t)from, len};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)len)
        return true;
    /* Forbidden in some containers; the file is not, and fails the same way on a bad address. */
    sl_own_fd own;
    if (!sl_own_fd_open(&own, "/proc/self/mem", O_RDONLY, 0))
        return false;
    ssize_t got = pread(own.fd, to, len, (off_t)(uintptr_t)from);
    sl_own_fd_close(&own);
    return got == (ssize_t)len;
}

static bool read_ptr_safely(const char *from, const char **to) {
    return read_safely(from, to, sizeof *to);
}

static bool has_type(const char *object, const void *type) {
    const char *found = NULL;
    return object && read_ptr_safely(object + SL_PY_OB_TYPE, &found) && found == type;
}

static bool field_has_type(const char *object, uint16_t field, const void *type) {
    const char *value = NULL;
    return read_ptr_safely(object + field, &value) && has_type(value, type);
}

static bool prove_code(const char *code) {
    int32_t first_line = -1;
    return has_type(code, py.code_type) &&
           field_has_type(code, py.layout.code_filename, py.str_type) &&
           field_has_type(code, py.layout.code_name, py.str_type) &&
           field_has_type(code, py.layout.code_linetable, py.bytes_type) &&
           read_safely(code + py.layout.code_first_line, &first_line, sizeof first_line) &&
           first_line >= 0;
}

static bool prove_frame(const char *frame) {
    const char *code;
    uint8_t owner = 0;
    if (py.layout.frame_owner != SL_PY_NO_FIELD &&
        !read_safely(frame + py.layout.frame_owner, &owner, 1))
        return false;
    if (owner >= SL_PY_OWNER_SHIM)
        return true;
    if (!read_ptr_safely(frame + py.layout.frame_code, &code))
        return false;
    code = (const char *)((uintptr_t)code & ~(uintptr_t)7);
    char instr[8];
    return prove_code(code) && read_safely(frame + py.layout.frame_instr, instr, sizeof instr);
}

/* Whether `at` looks like a Python object: the type of its type's type is `type` itself. */
static bool is_object(const char *at) {
    const char *type = NULL, *meta = NULL, *top = NULL;
    return read_ptr_safely(at + SL_PY_OB_TYPE, &type) && type &&
           read_ptr_safely(type + SL_PY_OB_TYPE, &meta) && meta &&
           read_ptr_safely(meta + SL_PY_OB_TYPE, &top) && top == (const char *)py.type_type;
}

const void *sl_pyframe_first_argument(const void *first_slot) {
    static atomic_bool is_proven;
    if (!first_slot || (!atomic_load(&is_proven) && !is_object(first_slot)))
        return NULL;
    atomic_store(&is_proven, true);
    return argument_of(first_slot);
}

/* The innermost frame of the calling thread; false when the thread state is not readable. */
static bool find_innermost_safely(const char **frame) {
    const char *tstate = py.get_tstate();
    *frame = NULL;
    if (!tstate)
        return true;
    if (!read_ptr_safely(tstate + py.layout.tstate_frame, frame))
        return false;
    if (!*frame || py.layout.cframe_frame == SL_PY_NO_FIELD)
        return true;
    return read_ptr_safely(*frame + py.layout.cframe_frame, frame);
}

static bool prove_chain(const char *frame) {
    for (unsigned depth = 0; frame; depth++) {
        const char *previous;
        if (depth > PROOF_DEPTH_MAX || !prove_frame(frame) ||
            !read_ptr_safely(frame + py.layout.frame_previous, &previous))
            return false;
        frame = previous;
    }
    return true;
}

/* Two threads may prove at the same time; they come to the same result. */
static sl_pystack_state prove(void) {
    const char *frame;
    bool is_readable = find_innermost_safely(&frame);
    if (is_readable && !frame)
        return SL_PYSTACK_UNPROVEN;
    sl_pystack_state state = atomic_load(&is_open_to_all) ? SL_PYSTACK_ON : SL_PYSTACK_ONE;
    if (!is_readable || !prove_chain(frame)) {
        py.reason = "its frames are not laid out as this version of Python should have them";
        state = SL_PYSTACK_REFUSED;
    }
    atomic_store_explicit(&py_state, (int)state, memory_order_release);
    return state;
}

SL_HOT void sl_pystack_walk(sl_pystack *stack) {
    sl_pystack_state state = sl_pystack_get_state();
    if (SL_UNLIKELY(state == SL_PYSTACK_UNPROVEN && is_open_to_this_thread()))
        state = prove();
    if (SL_LIKELY(state == SL_PYSTACK_ON) || may_walk(state)) {
        if (SL_LIKELY(atomic_load_explicit(&module_code_cnt, memory_order_acquire) == 0))
            walk(stack, false);
        else
            walk(stack, true);
        return;
    }
    stack->key = 0;
    stack->depth = 0;
    stack->is_cut = false;
    stack->module = NULL;
}

/* --- Who may be read -------------------------------------------------------------------------- */

static void change_state(sl_pystack_state from, sl_pystack_state to) {
    int expected = (int)from;
    atomic_compare_exchange_strong(&py_state, &expected, (int)to);
}

void sl_pystack_open_to_all(void) {
    atomic_store(&is_open_to_all, true);
    change_state(SL_PYSTACK_ONE, SL_PYSTACK_ON);
}

bool sl_pystack_is_open_to_all(void) {
    return atomic_load_explicit(&is_open_to_all, memory_order_acquire);
}

/* A thread that was proving the layout meanwhile may set the state once more before it leaves the guard. */
void sl_pystack_close_to_others(void) {
    const sl_guard_slot *own = sl_guard_own;
    atomic_store(&only_slot, own ? own : sl_guard_take_slot());
    atomic_store(&is_open_to_all, false);
    change_state(SL_PYSTACK_ON, SL_PYSTACK_ONE);
    sl_guard_wait_empty(CLOSE_WAIT_MS);
    change_state(SL_PYSTACK_ON, SL_PYSTACK_ONE);
}

/* --- Modules --------------------------------------------------------------------------------- */

void sl_pystack_watch_modules(void) {
    atomic_store(&module_code_cnt, 0);
    atomic_store(&is_watching_modules, true);
}

/* False as soon as the frame was met; an argument that is not set proves nothing. */
static bool prove_module_frame(const sl_pyframe *frame, const void *first_slot, void *code_ptr) {
    const char **code = code_ptr;
    if (frame->code != *code)
        return true;
    if (first_slot && !sl_pyframe_first_argument(first_slot))
        *code = NULL;
    return false;
}

/* Two threads may add at the same time; then one code is there twice, or one must be met again. */
void sl_pystack_add_module_code(const sl_pyframe *frame) {
    unsigned cnt = atomic_load(&module_code_cnt);
    const char *code = frame->code;
    if (!atomic_load(&is_watching_modules) || cnt >= MODULE_CODE_CNT || is_module_code(code))
        return;
    sl_pystack_each(prove_module_frame, &code);
    if (!code)
        return;
    atomic_store(&module_codes[cnt], code);
    atomic_store_explicit(&module_code_cnt, cnt + 1, memory_order_release);
}

bool sl_pystack_is_module_frame(const sl_pyframe *frame) {
    return is_module_code(frame->code);
}

/* --- Words ----------------------------------------------------------------------------------- */

/* Bits of PyASCIIObject.state. */
#define STR_KIND(state)       (((state) >> 2) & 7)
#define STR_IS_COMPACT(state) (((state) >> 5) & 1)
#define STR_IS_ASCII(state)   (((state) >> 6) & 1)

static size_t put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | (c >> 6));
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | (c >> 12));
        to[1] = (char)(0x80 | ((c >> 6) & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | ((c >> 18) & 7));
    to[1] = (char)(0x80 | ((c >> 12) & 63));
    to[2] = (char)(0x80 | ((c >> 6) & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

static uint32_t char_at(const char *data, unsigned kind, size_t i) {
    uint16_t two;
    uint32_t four;
    switch (kind) {
    case 1: return (uint8_t)data[i];
    case 2: memcpy(&two, data + 2 * i, 2); return two;
    default: memcpy(&four, data + 4 * i, 4); return four;
    }
}

/* A Python string as bytes: in place when it is ASCII, else encoded (and cut) into buf. */
static bool text_of(const char *object, char buf[SL_PYFRAME_TEXT_CAP], sl_str *out) {
    if (!object || load_ptr(object + SL_PY_OB_TYPE) != py.str_type)
        return false;
    uint32_t state = (uint32_t)load_i32(object + SL_PY_STR_STATE);
    size_t len = (size_t)load_u64(object + SL_PY_STR_LENGTH);
    if (!STR_IS_COMPACT(state))
        return false;
    if (STR_IS_ASCII(state)) {
        *out = (sl_str){object + py.layout.ascii_data, len};
        return true;
    }
    size_t used = 0;
    for (size_t i = 0; i < len && used + 4 <= SL_PYFRAME_TEXT_CAP; i++)
        used += put_utf8(buf + used, char_at(object + py.layout.compact_data, STR_KIND(state), i));
    *out = (sl_str){buf, used};
    return true;
}

bool sl_pyframe_describe(const sl_pyframe *frame, sl_pyframe_text *text) {
    const sl_py_layout *layout = &py.layout;
    const char *code = frame->code;
    if (load_ptr(code + SL_PY_OB_TYPE) != py.code_type)
        return false;
    const char *table = load_ptr(code + layout->code_linetable);
    if (load_ptr(table + SL_PY_OB_TYPE) != py.bytes_type)
        return false;
    text->line = sl_py_line_find((sl_py_line_format)layout->line_format,
                                 (const uint8_t *)table + SL_PY_BYTES_DATA,
                                 (size_t)load_u64(table + SL_PY_BYTES_SIZE),
                                 load_i32(code + layout->code_first_line), frame->instr_off);
    return text_of(load_ptr(code + layout->code_name), text->function_buf, &text->function) &&
           text_of(load_ptr(code + layout->code_filename), text->file_buf, &text->file);
}

bool sl_pyframe_is_shim(const sl_pyframe_text *text) {
    static const sl_str name = SL_STR("__init__"); /* also in place of a file */
    return text->file.len == name.len && text->function.len == name.len &&
           memcmp(text->file.ptr, name.ptr, name.len) == 0 &&
           memcmp(text->function.ptr, name.ptr, name.len) == 0;
}

/* --- Start ----------------------------------------------------------------------------------- */

/* Minor version of Python 3, 0 when it is another one. */
static unsigned find_minor(void) {
    const unsigned long *hex = sl_elf_find_anywhere("Py_Version"); /* since 3.11 */
    if (hex)
        return (*hex >> 24) == 3 ? (unsigned)(*hex >> 16) & 0xff : 0;
    const char *(*get_version)(void);
    *(void **)&get_version = sl_elf_find_anywhere("Py_GetVersion");
    const char *text = get_version ? get_version() : "";
    return strncmp(text, "3.", 2) == 0 ? (unsigned)strtoul(text + 2, NULL, 10) : 0;
}

static sl_pystack_state choose_layout(void) {
    *(void **)&py.get_tstate = sl_elf_find_anywhere("PyGILState_GetThisThreadState");
    py.code_type = sl_elf_find_anywhere("PyCode_Type");
    py.str_type = sl_elf_find_anywhere("PyUnicode_Type");
    py.bytes_type = sl_elf_find_anywhere("PyBytes_Type");
    py.cell_type = sl_elf_find_anywhere("PyCell_Type");
    py.type_type = sl_elf_find_anywhere("PyType_Type");
    py.reason = "";
    if (!py.get_tstate)
        return SL_PYSTACK_ABSENT;
    if (!py.code_type || !py.str_type || !py.bytes_type) {
        py.reason = "it does not export its types";
        return SL_PYSTACK_REFUSED;
    }
    const void *runtime = sl_elf_find_anywhere("_PyRuntime");
    if (!sl_py_layout_find(find_minor(), runtime, &py.layout, &py.reason))
        return SL_PYSTACK_REFUSED;
    return SL_PYSTACK_UNPROVEN;
}

sl_pystack_state sl_pystack_attach(void) {
    if (sl_pystack_get_state() != SL_PYSTACK_ABSENT)
        return sl_pystack_get_state();
    sl_pystack_state state = choose_layout();
    atomic_store_explicit(&py_state, (int)state, memory_order_release);
    return state;
}

void sl_pystack_detach(void) {
    atomic_store_explicit(&py_state, SL_PYSTACK_ABSENT, memory_order_release);
}

sl_pystack_state sl_pystack_get_state(void) {
    return (sl_pystack_state)atomic_load_explicit(&py_state, memory_order_acquire);
}

const char *sl_pystack_get_reason(void) {
    return sl_pystack_get_state() == SL_PYSTACK_REFUSED ? py.reason : "";
}

unsigned sl_pystack_get_minor(void) {
    return sl_pystack_get_state() == SL_PYSTACK_ABSENT ? 0 : find_minor();
}
