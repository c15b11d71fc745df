/* SPDX-License-Identifier: MIT */
#include "record/stacks/module_paths.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/core/clock.h"
#include "model/stack.h"
#include "record/core/recorder.h"
#include "record/hooks/elf_view.h"
#include "record/stacks/pystack.h"
#include "record/training/py_objects.h"

#define SLOT_CNT     (2 * SL_MODULE_CAP)
#define PROBE_MAX    32
#define PATH_CAP     512
#define PAUSE_MIN_NS UINT64_C(10000000)
#define PAUSE_FACTOR 100
#define VALUE_SET    (UINT64_C(1) << 63)
#define VISIT_SHIFT  55

/* value: VALUE_SET | number of the visit, 8 bits | bits of the type, 23 | frame id, 32. Written with the
 * GIL held; a reader that meets an entry half done misses it. */
typedef struct path_slot {
    _Atomic(uint64_t) module; /* address, 0 = free */
    _Atomic(uint64_t) value;  /* 0 = not complete */
} path_slot;

static path_slot *slots; /* mapped at the first start with modules on */
static atomic_uint used_cnt;
static atomic_uint visit_cnt;
/* The outermost module of each visit: a weak reference, kept for ever. [0] is not used. */
static _Atomic(const sl_pyobject *) roots[SL_MODULE_VISITS + 1];
static atomic_bool is_on;
static atomic_bool is_asked;          /* a visit is on its way */
static _Atomic(uint64_t) next_ask_ns; /* not before */
static int (*add_pending_call)(int (*)(void *), void *);

static void clear_table(void) {
    for (size_t i = 0; i < SLOT_CNT; i++) {
        atomic_store_explicit(&slots[i].module, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].value, 0, memory_order_relaxed);
    }
    used_cnt = 0;
}

void sl_module_paths_start(bool wants_paths) {
    atomic_store(&is_on, false);
    if (!wants_paths)
        return;
    *(void **)&add_pending_call = sl_elf_find_anywhere("Py_AddPendingCall");
    if (!slots) {
        void *at = mmap(NULL, SLOT_CNT * sizeof *slots, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return;
        slots = at;
    }
    clear_table();
    atomic_store(&visit_cnt, 0);
    atomic_store(&is_asked, false);
    atomic_store(&next_ask_ns, 0);
    sl_pystack_watch_modules();
    atomic_store(&is_on, add_pending_call != NULL);
}

/* --- The table ------------------------------------------------------------------------------- */

static size_t hash_of(const void *module) {
    return (size_t)(((uint64_t)(uintptr_t)module * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

static uint64_t type_bits(const void *module) {
    uint64_t type = (uint64_t)(uintptr_t)sl_py_type(module);
    return ((type * UINT64_C(0x9e3779b97f4a7c15)) >> 41) << 32;
}

#define TYPE_MASK (((UINT64_C(1) << 23) - 1) << 32)

static uint64_t find_value(const void *module) {
    for (size_t i = 0; i < PROBE_MAX; i++) {
        path_slot *slot = &slots[(hash_of(module) + i) % SLOT_CNT];
        uint64_t found = atomic_load_explicit(&slot->module, memory_order_acquire);
        if (found == 0)
            return 0;
        if (found != (uint64_t)(uintptr_t)module)
            continue;
        uint64_t value = atomic_load_explicit(&slot->value, memory_order_acquire);
        /* Emptied and taken by another module in between: its value is not ours. */
        return atomic_load_explicit(&slot->module, memory_order_relaxed) == found ? value : 0;
    }
    return 0;
}

/* The first path of a visit stays: a module that is used in two places has two. */
static void put(const void *module, uint32_t frame) {
    uint64_t value =
        VALUE_SET | (uint64_t)atomic_load(&visit_cnt) << VISIT_SHIFT | type_bits(module) | frame;
    for (size_t i = 0; i < PROBE_MAX; i++) {
        path_slot *slot = &slots[(hash_of(module) + i) % SLOT_CNT];
        uint64_t found = atomic_load(&slot->module);
        if (found != (uint64_t)(uintptr_t)module && found != 0)
            continue;
        uint64_t old = atomic_load(&slot->value);
        if (found && (old ^ value) >> VISIT_SHIFT == 0 && ((old ^ value) & TYPE_MASK) == 0)
            return;
        used_cnt += found == 0;
        atomic_store_explicit(&slot->value, value, memory_order_release);
        atomic_store_explicit(&slot->module, (uint64_t)(uintptr_t)module, memory_order_release);
        return;
    }
}

/* (M1) */
static bool is_current(uint64_t value, const void *module, const void *root) {
    if (!value || ((value ^ type_bits(module)) & TYPE_MASK) != 0)
        return false;
    const sl_pyobject *ref =
        atomic_load_explicit(&roots[(value >> VISIT_SHIFT) & 0xff], memory_order_acquire);
    return ref && sl_py_weak_target(ref) == root;
}

/* --- A visit: the GIL is held ------------------------------------------------------------------ */

typedef struct path_text {
    char text[PATH_CAP];
    size_t len;
} path_text;

static uint32_t make_frame(sl_str path) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return 0;
    uint32_t frame =
        sl_log_frame_of(capture.log, path, SL_STR(SL_MODULE_FRAME_FILE), 0, SL_FRAME_PSEUDO);
    sl_capture_end(&capture);
    return frame;
}

static void take_children(sl_pyobject *module, path_text *path, unsigned depth);

/* The root has no name of its own: nothing is shown for it. */
static void take_module(sl_pyobject *module, path_text *path, unsigned depth) {
    if (used_cnt >= SL_MODULE_CAP)
        return;
    put(module, path->len ? make_frame((sl_str){path->text, path->len}) : 0);
    if (depth < SL_MODULE_DEPTH)
        take_children(module, path, depth);
}

static bool push_name(path_text *path, sl_str name) {
    size_t dot = path->len > 0;
    if (name.len == 0 || path->len + dot + name.len > PATH_CAP)
        return false;
    if (dot)
        path->text[path->len] = '.';
    memcpy(path->text + path->len + dot, name.ptr, name.len);
    path->len += dot + name.len;
    return true;
}

/* torch keeps a module's children by name in its _modules; a child may be None. */
static void take_children(sl_pyobject *module, path_text *path, unsigned depth) {
    sl_pyobject *children = sl_py_own_value(module, "_modules"), *key, *child;
    intptr_t pos = 0;
    size_t len = path->len;
    if (!children || !sl_py_is_dict(children))
        return;
    sl_py_hold(children);
    while (sl_py_dict_next(children, &pos, &key, &child)) {
        if (!sl_py_own_value(child, "_modules") || !push_name(path, sl_py_text(key)))
            continue;
        sl_py_hold(child);
        take_module(child, path, depth + 1);
        sl_py_drop(child);
        path->len = len;
    }
    sl_py_drop(children);
}

/* The module a frame calls; NULL for frames that call none. */
static const void *module_of(const sl_pyframe *frame, const void *first_slot) {
    return sl_pystack_is_module_frame(frame) ? sl_pyframe_first_argument(first_slot) : NULL;
}

static bool find_outermost(const sl_pyframe *frame, const void *first_slot, void *found_ptr) {
    const void *module = module_of(frame, first_slot);
    if (module)
        *(const void **)found_ptr = module;
    return true;
}

/* Those that no walk from the root has reached have no path; they are not asked for again. */
static bool mark_pathless(const sl_pyframe *frame, const void *first_slot, void *root) {
    const void *module = module_of(frame, first_slot);
    if (module && !is_current(find_value(module), module, root) && used_cnt < SL_MODULE_CAP)
        put(module, 0);
    return true;
}

static void visit_modules(void) {
    const void *root = NULL;
    path_text path = {.len = 0};
    sl_pystack_each(find_outermost, &root);
    if (used_cnt > SL_MODULE_CAP / 2)
        clear_table(); /* of modules that may be long gone; a reader meanwhile misses */
    sl_pyobject *ref = root ? sl_py_weak_ref((sl_pyobject *)(uintptr_t)root) : NULL;
    if (!ref)
        return;
    atomic_store(&roots[atomic_fetch_add(&visit_cnt, 1) + 1], ref);
    take_module((sl_pyobject *)(uintptr_t)root, &path, 0);
    sl_pystack_each(mark_pathless, (void *)(uintptr_t)root);
}

/* Called by Python's main thread between two instructions. 0 = no exception. */
static int on_pending_call(void *unused) {
    SL_UNUSED(unused);
    int saved_errno = errno;
    uint64_t begin_ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sl_py_visit visit;
    if (atomic_load(&is_on) && atomic_load(&visit_cnt) < SL_MODULE_VISITS && sl_py_enter(&visit)) {
        visit_modules();
        sl_py_leave(&visit);
    }
    uint64_t pause_ns = (sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * PAUSE_FACTOR;
    atomic_store(&next_ask_ns,
                 sl_clock_mono_ns() + (pause_ns > PAUSE_MIN_NS ? pause_ns : PAUSE_MIN_NS));
    atomic_store(&is_asked, false);
    errno = saved_errno;
    return 0;
}

/* --- The event path ---------------------------------------------------------------------------- */

/* Takes Python's small lock around its list of calls, once for each visit. */
static __attribute__((noinline)) void ask(void) {
    if (atomic_load(&visit_cnt) >= SL_MODULE_VISITS ||
        sl_clock_mono_ns() < atomic_load(&next_ask_ns) || atomic_exchange(&is_asked, true))
        return;
    if (add_pending_call(on_pending_call, NULL) != 0)
        atomic_store(&is_asked, false); /* its list is full: another time */
}

uint32_t sl_module_paths_find(const void *module, const void *root) {
    if (!atomic_load_explicit(&is_on, memory_order_acquire))
        return 0;
    uint64_t value = find_value(module);
    if (SL_LIKELY(is_current(value, module, root)))
        return (uint32_t)value;
    ask();
    return 0;
}
