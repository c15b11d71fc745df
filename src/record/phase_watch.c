/* SPDX-License-Identifier: MIT */
#include "record/phase_watch.h"

#include <string.h>
#include <sys/prctl.h>

#define SITE_MAX     255
#define TAKEOVER_CNT 3

typedef enum phase { PHASE_NONE, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_CNT } phase;

static const char *const phase_names[PHASE_CNT] = {"", "forward", "backward", "optimizer"};

/* What guard slots keep for us in `phase`: the last flags, and whether the thread is torch's. */
enum { SLOT_FLAGS = 0xffff, SLOT_IS_KNOWN = 1 << 16, SLOT_IS_AUTOGRAD = 1 << 17 };

static uint16_t labels[PHASE_CNT];
static _Atomic(uint32_t) sites[SITE_MAX + 1]; /* caller's stack id by site number */
static atomic_uint misses[SITE_MAX + 1];      /* steps of a site since the primary's last */
static atomic_uint primary;
static atomic_ullong step_cnt;
static atomic_bool is_counted_outside;

void sl_phase_start(sl_log *log) {
    for (unsigned i = 1; i < PHASE_CNT; i++)
        labels[i] = sl_log_label(log, phase_names[i], strlen(phase_names[i]));
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

static phase phase_of(uint32_t flags, bool is_autograd) {
    if (flags & SL_STACK_IN_OPTIMIZER)
        return PHASE_OPTIMIZER;
    if ((flags & SL_STACK_IN_BACKWARD) || is_autograd)
        return PHASE_BACKWARD;
    return flags & SL_STACK_IN_MODULE ? PHASE_FORWARD : PHASE_NONE;
}

SL_HOT uint16_t sl_phase_note(sl_log *log, sl_guard_slot *slot, sl_stack_ref stack) {
    uint32_t seen = slot->phase;
    if (SL_UNLIKELY(!(seen & SLOT_IS_KNOWN)))
        seen |= thread_bits();
    uint32_t before = seen & SLOT_FLAGS;
    if (SL_UNLIKELY(before != stack.flags)) {
        /* Leaving one optimizer's step for another's ends a step as well. */
        if ((before & SL_STACK_IN_OPTIMIZER) &&
            sl_stack_flags_site(before) != sl_stack_flags_site(stack.flags))
            end_step(log, before);
        seen = (seen & ~(uint32_t)SLOT_FLAGS) | (stack.flags & SLOT_FLAGS);
    }
    slot->phase = seen;
    return labels[phase_of(stack.flags, seen & SLOT_IS_AUTOGRAD)];
}

static void finish_slot(sl_guard_slot *slot, void *log) {
    uint32_t before = slot->phase & SLOT_FLAGS;
    if (before & SL_STACK_IN_OPTIMIZER)
        end_step(log, before);
    slot->phase = 0;
}

void sl_phase_finish(sl_log *log) {
    sl_guard_each(finish_slot, log);
}
