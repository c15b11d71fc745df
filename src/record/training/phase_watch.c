/* SPDX-License-Identifier: MIT */
#include "record/training/phase_watch.h"

#include <string.h>
#include <sys/prctl.h>

#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"

#define SITE_MAX     255
#define TAKEOVER_CNT 3

/* What guard slots keep for us in `phase`: the last flags, and whether the thread is torch's. */
enum {
    SLOT_FLAGS = 0xffff,
    SLOT_IS_KNOWN = 1 << 16,
    SLOT_IS_AUTOGRAD = 1 << 17,
    SLOT_HAS_STEPPED = 1 << 18, /* the optimizer was done; its frames were not seen to be left */
};

/* Beside the flags of the stack: a closure of the optimizer runs (H1). */
#define FLAG_CLOSURE (1u << 3)
_Static_assert(!(FLAG_CLOSURE & SL_STACK_FLAGS) && FLAG_CLOSURE < 1u << SL_STACK_SITE_SHIFT,
               "a bit of its own");

/* What every combination of flags means is worked out once: an event only looks it up. */
#define SEEN_FLAGS       (SL_STACK_FLAGS | FLAG_CLOSURE)
#define SEEN_IS_AUTOGRAD (SEEN_FLAGS + 1)
_Static_assert((SEEN_FLAGS & (SEEN_FLAGS + 1)) == 0, "the lowest bits");

static sl_phase_seen seen_by_flags[2 * SEEN_IS_AUTOGRAD];

static uint16_t labels[SL_PHASE_LIMIT], closure_label;
static bool (*is_grad_enabled)(void); /* a thread-local variable of torch's; NULL = not found */
static _Atomic(uint32_t) sites[SITE_MAX + 1]; /* caller's stack id by site number */
static atomic_uint misses[SITE_MAX + 1];      /* steps of a site since the primary's last */
static atomic_uint primary;
static atomic_ullong step_cnt;
static atomic_bool is_counted_outside;

/* The optimizer itself runs, not a closure of it. */
static bool is_stepping(uint32_t flags) {
    return (flags & (SL_FRAME_OPTIMIZER | FLAG_CLOSURE)) == SL_FRAME_OPTIMIZER;
}

static sl_phase_seen seen_of(uint32_t flags, bool is_autograd) {
    uint32_t marks = flags | (is_autograd ? (uint32_t)SL_FRAME_BACKWARD : 0);
    if (flags & FLAG_CLOSURE)
        marks &= ~(uint32_t)SL_FRAME_OPTIMIZER;
    sl_train_phase now = sl_train_phase_of(marks);
    return (sl_phase_seen){
        .label = now == SL_PHASE_NONE ? 0 : labels[now],
        .is_forward = !is_stepping(flags) && !(flags & SL_FRAME_BACKWARD),
        .is_called = (flags & SL_FRAME_BACKWARD) && !is_autograd,
        .is_autograd = is_autograd,
    };
}

void sl_phase_start(sl_log *log) {
    for (unsigned i = SL_PHASE_NONE; i < SL_PHASE_LIMIT; i++) {
        const char *name = sl_train_phase_name((sl_train_phase)i);
        labels[i] = sl_log_label(log, name, strlen(name));
    }
    for (uint32_t i = 0; i < SL_COUNT_OF(seen_by_flags); i++)
        seen_by_flags[i] = seen_of(i & SEEN_FLAGS, i & SEEN_IS_AUTOGRAD);
    closure_label = sl_log_label(log, SL_PHASE_CLOSURE_LABEL, strlen(SL_PHASE_CLOSURE_LABEL));
    *(void **)&is_grad_enabled = sl_elf_find_original("_ZN3c108GradMode10is_enabledEv", sl_hooks);
    for (unsigned i = 0; i <= SITE_MAX; i++) {
        atomic_store(&sites[i], 0);
        atomic_store(&misses[i], 0);
    }
    atomic_store(&primary, 0);
    atomic_store(&step_cnt, 0);
}

void sl_phase_count_no_steps(void) {
    atomic_store(&is_counted_outside, true);
}

uint32_t sl_phase_site(uint32_t caller_stack) {
    uint32_t wanted = caller_stack + 1; /* the bottom of a stack is 0 */
    for (uint32_t i = 1; i <= SITE_MAX; i++) {
        uint32_t found = 0;
        if (atomic_compare_exchange_strong(&sites[i], &found, wanted) || found == wanted)
            return i;
    }
    return 0;
}

static bool is_step_of(uint32_t site) {
    unsigned first = 0;
    if (atomic_compare_exchange_strong(&primary, &first, site) || first == site) {
        for (unsigned i = 1; i <= SITE_MAX && atomic_load(&sites[i]); i++)
            atomic_store(&misses[i], 0);
        return true;
    }
    if (atomic_fetch_add(&misses[site], 1) + 1 < TAKEOVER_CNT)
        return false;
    atomic_store(&primary, site);
    return true;
}

static void end_step(sl_log *log, uint32_t flags) {
    uint32_t site = sl_stack_flags_site(flags);
    if (site && !atomic_load(&is_counted_outside) && is_step_of(site))
        sl_log_step(log, atomic_fetch_add(&step_cnt, 1) + 1, 0);
}

/* torch names the threads of its autograd engine; they have no Python frames. */
static uint32_t thread_bits(void) {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return SLOT_IS_KNOWN | (strncmp(name, "pt_autograd", 11) == 0 ? SLOT_IS_AUTOGRAD : 0);
}

/* An annotation without an address: from here on the thread is in this phase. Most optimizers
 * allocate nothing in most steps, so events alone do not show their steps. Blocks live at the
 * beginning of a step are gradients, those live at its end are state, the others are temporaries. */
static void note_change(sl_log *log, uint16_t label) {
    sl_log_event event = {.kind = SL_EV_ANNOTATE, .device = -1, .tag = label};
    event.total_allocated = event.total_reserved = SL_LOG_UNKNOWN;
    sl_log_write(log, &event);
}

static void change_flags(sl_log *log, uint32_t before, uint32_t flags) {
    bool is_same_site = sl_stack_flags_site(before) == sl_stack_flags_site(flags);
    /* Leaving one optimizer's step for another's ends a step as well. */
    if ((before & SL_FRAME_OPTIMIZER) && !is_same_site)
        end_step(log, before);
    if (is_stepping(flags) && !(is_stepping(before) && is_same_site))
        note_change(log, labels[SL_PHASE_OPTIMIZER]);
    if ((flags & FLAG_CLOSURE) && is_stepping(before))
        note_change(log, closure_label);
}

/* A program that does everything in closures may never be seen outside the line that calls step: its next step has
 * begun when a model runs inside the optimizer after the optimizer was done. Another optimizer that
 * is stepped by the same line runs none. */
static bool is_next_step(uint32_t seen, uint32_t flags) {
    return (seen & SLOT_HAS_STEPPED) && (flags & FLAG_CLOSURE) &&
           (flags & (SL_FRAME_MODULE | SL_FRAME_BACKWARD)) &&
           sl_stack_flags_site(seen & SLOT_FLAGS) == sl_stack_flags_site(flags);
}

/* Returns the slot's new word. */
static __attribute__((noinline)) uint32_t change(sl_log *log, sl_guard_slot *slot, uint32_t flags) {
    uint32_t seen = slot->phase;
    if (!(seen & SLOT_IS_KNOWN))
        seen |= thread_bits();
    uint32_t before = seen & SLOT_FLAGS;
    if (before != flags) {
        change_flags(log, before, flags);
        if (is_next_step(seen, flags)) {
            end_step(log, before);
            seen &= ~(uint32_t)SLOT_HAS_STEPPED;
        }
        seen = (seen & ~(uint32_t)SLOT_FLAGS) | (flags & SLOT_FLAGS);
    }
    if (!(flags & SL_FRAME_OPTIMIZER))
        seen &= ~(uint32_t)SLOT_HAS_STEPPED;
    slot->phase = seen;
    return seen;
}

/* Fast path: nearly always the flags are those of the last event of this thread. */
static inline uint32_t note_flags(sl_log *log, sl_guard_slot *slot, uint32_t flags) {
    uint32_t seen = slot->phase;
    if (SL_LIKELY((seen & ~(uint32_t)SLOT_IS_AUTOGRAD) == (flags | SLOT_IS_KNOWN)))
        return seen;
    return change(log, slot, flags);
}

SL_HOT const sl_phase_seen *sl_phase_note(sl_log *log, sl_guard_slot *slot, uint32_t stack_flags) {
    uint32_t flags = stack_flags;
    if (SL_UNLIKELY(flags & SL_FRAME_OPTIMIZER) &&
        ((flags & SL_FRAME_BACKWARD) || (is_grad_enabled && is_grad_enabled())))
        flags |= FLAG_CLOSURE;
    uint32_t seen = note_flags(log, slot, flags);
    return &seen_by_flags[(flags & SEEN_FLAGS) | (seen & SLOT_IS_AUTOGRAD ? SEEN_IS_AUTOGRAD : 0)];
}

void sl_phase_note_border(sl_log *log, sl_guard_slot *slot, uint32_t stack_flags) {
    note_flags(log, slot, stack_flags);
}

void sl_phase_note_optimizer_end(sl_log *log, sl_guard_slot *slot) {
    slot->phase |= FLAG_CLOSURE | SLOT_HAS_STEPPED; /* still inside its frames, but not stepping */
    note_change(log, labels[SL_PHASE_NONE]);
}

void sl_phase_finish_thread(sl_log *log, sl_guard_slot *slot) {
    uint32_t before = slot->phase & SLOT_FLAGS;
    if (before & SL_FRAME_OPTIMIZER)
        end_step(log, before);
    slot->phase = 0;
}

static void finish_slot(sl_guard_slot *slot, void *log) {
    sl_phase_finish_thread(log, slot);
}

void sl_phase_finish(sl_log *log) {
    sl_guard_each(finish_slot, log);
}
