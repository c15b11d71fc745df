/* SPDX-License-Identifier: MIT */
#include "record/training/tag_scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/clock.h"
#include "model/tag.h"
#include "record/core/recorder.h"
#include "record/stacks/pystack.h"
#include "record/stacks/stack_cache.h"
#include "record/training/phase_watch.h"
#include "record/training/py_objects.h"

#define OPTIMIZER_CNT 32 /* known at a time; the one that stepped longest ago gives way */
#define GROUP_MAX     4096

/* What is remembered of an optimizer. Its address is only compared, never dereferenced. If a new
 * optimizer gets the address of a freed one, its first scans may be skipped, until its step count
 * has doubled. */
typedef struct seen_optimizer {
    const sl_pyobject *object; /* NULL = free */
    uint64_t step_cnt;
    uint64_t next_scan; /* at this step */
    uint64_t param_cnt;
    uint64_t last_use;
} seen_optimizer;

/* Used with the GIL held. The flag guards against a finalizer that steps an optimizer during a
 * scan, and against interpreters with their own GIL. */
static atomic_flag is_scanning = ATOMIC_FLAG_INIT;
static seen_optimizer optimizers[OPTIMIZER_CNT];
static uint64_t use_cnt;
static uint16_t labels[SL_TAG_LIMIT], looked_label;
static atomic_ullong scan_cnt, spent_ns;

void sl_tag_scan_start(sl_log *log) {
    static const sl_tag tags[] = {SL_TAG_PARAMETER, SL_TAG_GRADIENT, SL_TAG_OPTIMIZER_STATE};
    for (size_t i = 0; i < SL_COUNT_OF(tags); i++) {
        const char *name = sl_tag_name(tags[i]);
        labels[tags[i]] = sl_log_label(log, name, strlen(name));
    }
    looked_label = sl_log_label(log, SL_TAG_LOOKED_LABEL, strlen(SL_TAG_LOOKED_LABEL));
    memset(optimizers, 0, sizeof optimizers);
    atomic_flag_clear(&is_scanning);
    atomic_store(&scan_cnt, 0);
    atomic_store(&spent_ns, 0);
    sl_py_forget();
}

sl_tag_scan_cost sl_tag_scan_get_cost(void) {
    return (sl_tag_scan_cost){atomic_load(&scan_cnt), sl_py_call_cnt(), atomic_load(&spent_ns)};
}

/* --- The optimizer on the stack --------------------------------------------------------------- */

typedef struct owner_search {
    sl_log *log;
    const void *first_argument;
} owner_search;

/* Only the functions that turn gradients on may be between us and torch's wrapper of step():
 * anything else is a closure or a model that the step runs, and the step goes on after it. */
static bool find_owner(const sl_pyframe *frame, const void *first_slot, void *search_ptr) {
    owner_search *search = search_ptr;
    sl_frame_look look = sl_stack_cache_look(search->log, frame);
    if (look.is_shim)
        return true;
    if (look.marks & SL_FRAME_OPTIMIZER)
        search->first_argument = sl_pyframe_first_argument(first_slot);
    return !(look.marks & SL_FRAME_OPTIMIZER) && (look.marks & SL_FRAME_GRAD_MODE);
}

/* The first argument of the optimizer's step that is ending on this thread; NULL when none is. */
static const void *find_ending_step(void) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return NULL;
    owner_search search = {capture.log, NULL};
    sl_pystack_each(find_owner, &search);
    if (search.first_argument)
        sl_phase_note_optimizer_end(capture.log, capture.guard.slot);
    sl_capture_end(&capture);
    return search.first_argument;
}

/* torch's wrappers take self, or everything in one tuple. Borrowed: the frame holds it. */
static sl_pyobject *optimizer_of(const void *first_argument) {
    sl_pyobject *object = (sl_pyobject *)(uintptr_t)first_argument;
    return sl_py_is_tuple(object) ? sl_py_item(object, 0) : object;
}

/* --- Tensors --------------------------------------------------------------------------------- */

typedef struct scan {
    const void *tensor_type, *parameter_type; /* torch's, borrowed */
    uint64_t left;                            /* tensors that may still be scanned */
    uint64_t refused;                         /* that came after */
} scan;

static bool annotate(int64_t addr, int64_t device, sl_tag tag) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return true;
    bool is_live =
        sl_log_annotate(capture.log, (uint64_t)addr, device < 0 ? -1 : (int8_t)device, labels[tag]);
    sl_capture_end(&capture);
    return is_live;
}

/* The block of a tensor is that of its storage; nearly always the tensor begins where it does. */
static void tag_plain(sl_pyobject *tensor, sl_tag tag) {
    int64_t addr, device, offset, item_bytes;
    if (!sl_py_call_i64(tensor, SL_PY_DATA_PTR, &addr) || !addr ||
        !sl_py_call_i64(tensor, SL_PY_GET_DEVICE, &device) || annotate(addr, device, tag) ||
        !sl_py_call_i64(tensor, SL_PY_STORAGE_OFFSET, &offset) || !offset ||
        !sl_py_call_i64(tensor, SL_PY_ELEMENT_SIZE, &item_bytes))
        return;
    annotate(addr - offset * item_bytes, device, tag);
}

static bool is_plain(const scan *s, const sl_pyobject *object) {
    const void *type = sl_py_type(object);
    return type == s->tensor_type || type == s->parameter_type;
}

/* Distributed tensors are a shell around the part that lives here. */
static bool is_shell(const sl_pyobject *object) {
    return strcmp(sl_py_type_name(object), "DTensor") == 0;
}

/* The caller's reference keeps the storage, and so the block, while it is annotated (L7). */
static void tag_tensor(scan *s, sl_pyobject *tensor, sl_tag tag) {
    if (!is_plain(s, tensor) && !is_shell(tensor))
        return;
    if (s->left == 0) {
        s->refused++;
        return;
    }
    s->left--;
    if (is_plain(s, tensor)) {
        tag_plain(tensor, tag);
        return;
    }
    sl_pyobject *part = sl_py_get(tensor, SL_PY_LOCAL_TENSOR);
    if (part && is_plain(s, part))
        tag_plain(part, tag);
    sl_py_drop(part);
}

/* torch prints a warning when the gradient of a tensor that is not a leaf is read. */
static void tag_gradient(scan *s, sl_pyobject *parameter) {
    if (!is_plain(s, parameter) && !is_shell(parameter))
        return;
    sl_pyobject *is_leaf = sl_py_get(parameter, SL_PY_IS_LEAF);
    sl_pyobject *gradient =
        is_leaf && sl_py_is_true(is_leaf) ? sl_py_get(parameter, SL_PY_GRAD) : NULL;
    if (gradient)
        tag_tensor(s, gradient, SL_TAG_GRADIENT);
    sl_py_drop(gradient);
    sl_py_drop(is_leaf);
}

/* --- The optimizer's lists -------------------------------------------------------------------- */

static sl_pyobject *list_of(sl_pyobject *holder, const char *name, bool is_own) {
    sl_pyobject *list = is_own ? sl_py_own_value(holder, name) : sl_py_dict_value(holder, name);
    return list && sl_py_is_list(list) ? list : NULL;
}

typedef void (*param_visit)(scan *s, sl_pyobject *parameter);

/* Calls visit (NULL: none) for the parameters of all groups; returns their number. */
static uint64_t each_parameter(scan *s, sl_pyobject *optimizer, param_visit visit) {
    sl_pyobject *groups = list_of(optimizer, "param_groups", true), *group, *params, *param;
    uint64_t cnt = 0;
    for (size_t i = 0; groups && i < GROUP_MAX && (group = sl_py_item(groups, i)); i++) {
        params = list_of(group, "params", false);
        cnt += params ? sl_py_length(params) : 0;
        if (!params || !visit)
            continue;
        sl_py_hold(params);
        for (size_t k = 0; (param = sl_py_item(params, k)); k++) {
            sl_py_hold(param);
            visit(s, param);
            sl_py_drop(param);
        }
        sl_py_drop(params);
    }
    return cnt;
}

static void tag_parameter(scan *s, sl_pyobject *parameter) {
    tag_tensor(s, parameter, SL_TAG_PARAMETER);
}

static void tag_items(scan *s, sl_pyobject *sequence) {
    sl_pyobject *item;
    for (size_t i = 0; s->left && (item = sl_py_item(sequence, i)); i++) {
        sl_py_hold(item);
        tag_tensor(s, item, SL_TAG_OPTIMIZER_STATE);
        sl_py_drop(item);
    }
}

/* What one parameter's state holds: tensors, or lists of them (LBFGS keeps its history so). */
static void tag_state_of_one(scan *s, sl_pyobject *state) {
    sl_pyobject *key, *value;
    intptr_t pos = 0;
    while (sl_py_dict_next(state, &pos, &key, &value)) {
        sl_py_hold(value);
        if (sl_py_is_list(value) || sl_py_is_tuple(value))
            tag_items(s, value);
        else
            tag_tensor(s, value, SL_TAG_OPTIMIZER_STATE);
        sl_py_drop(value);
    }
}

static void tag_state(scan *s, sl_pyobject *optimizer) {
    sl_pyobject *states = sl_py_own_value(optimizer, "state"), *key, *value;
    intptr_t pos = 0;
    if (!states || !sl_py_is_dict(states))
        return;
    sl_py_hold(states);
    while (sl_py_dict_next(states, &pos, &key, &value)) {
        sl_py_hold(value);
        if (sl_py_is_dict(value))
            tag_state_of_one(s, value);
        sl_py_drop(value);
    }
    sl_py_drop(states);
}

/* --- When and what ----------------------------------------------------------------------------- */

/* Inside a mode that sees every call on a tensor, ours would be seen as well. Versions of torch
 * without these functions have no such modes. */
static bool is_watched_by_a_mode(void) {
    static const char *const depths[] = {"_len_torch_function_stack", "_len_torch_dispatch_stack"};
    for (size_t i = 0; i < SL_COUNT_OF(depths); i++) {
        sl_pyobject *function = sl_py_module_value("torch._C", depths[i]);
        int64_t depth = 0;
        if (function && (!sl_py_call_function_i64(function, &depth) || depth > 0))
            return true;
    }
    return false;
}

/* Readers may now conclude which blocks are not gradients; not if something was skipped. */
static void end_scan(const scan *s) {
    sl_capture capture;
    atomic_fetch_add(&scan_cnt, 1);
    if (!sl_capture_begin(&capture))
        return;
    sl_log_event event = {.kind = SL_EV_ANNOTATE, .device = -1, .tag = looked_label};
    event.total_allocated = event.total_reserved = SL_LOG_UNKNOWN;
    if (s->refused)
        sl_log_health_add(capture.log, SL_HEALTH_TAG_LIMIT, s->refused);
    else
        sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

static void run_scan(sl_pyobject *optimizer) {
    scan s = {
        .tensor_type = sl_py_module_value("torch", "Tensor"),
        .parameter_type = sl_py_module_value("torch.nn.parameter", "Parameter"),
        .left = SL_TAG_SCAN_TENSORS,
    };
    if (!s.tensor_type || is_watched_by_a_mode())
        return;
    /* A block that is both keeps the last: parameters are the strongest claim. */
    tag_state(&s, optimizer);
    each_parameter(&s, optimizer, tag_gradient);
    each_parameter(&s, optimizer, tag_parameter);
    end_scan(&s);
}

static seen_optimizer *remember(const sl_pyobject *optimizer) {
    seen_optimizer *oldest = &optimizers[0];
    for (size_t i = 0; i < OPTIMIZER_CNT; i++) {
        if (optimizers[i].object == optimizer)
            return &optimizers[i];
        if (optimizers[i].last_use < oldest->last_use)
            oldest = &optimizers[i];
    }
    *oldest = (seen_optimizer){.object = optimizer, .next_scan = 1};
    return oldest;
}

static void note_step(sl_pyobject *optimizer) {
    seen_optimizer *seen = remember(optimizer);
    uint64_t param_cnt = each_parameter(NULL, optimizer, NULL);
    seen->last_use = ++use_cnt;
    seen->step_cnt++;
    if (seen->step_cnt < seen->next_scan && param_cnt == seen->param_cnt)
        return;
    seen->param_cnt = param_cnt;
    seen->next_scan = seen->step_cnt * 2;
    run_scan(optimizer);
}

static void visit_optimizer(const void *first_argument) {
    sl_py_visit visit;
    if (!sl_py_enter(&visit))
        return;
    sl_pyobject *optimizer = optimizer_of(first_argument);
    if (optimizer) {
        sl_py_hold(optimizer);
        note_step(optimizer);
        sl_py_drop(optimizer);
    }
    sl_py_leave(&visit);
}

/* What the program pays, however busy the machine is. */
static uint64_t cpu_ns(void) {
    return sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sl_tag_scan_border(void) {
    int saved_errno = errno;
    if (atomic_flag_test_and_set(&is_scanning))
        return;
    uint64_t begin_ns = cpu_ns();
    const void *first_argument = find_ending_step();
    if (first_argument)
        visit_optimizer(first_argument);
    atomic_fetch_add(&spent_ns, cpu_ns() - begin_ns);
    atomic_flag_clear(&is_scanning);
    errno = saved_errno;
}
