/* SPDX-License-Identifier: MIT */
#include "record/core/record_claim.h"

#include <stdatomic.h>

/* Found by name in every copy: it must never be renamed. 0 = nobody records. */
SL_API _Atomic(uintptr_t) stormlog_record_claim;

static const char symbol[] = "stormlog_record_claim";

bool sl_record_claim_is_in(const sl_elf_view *view) {
    return sl_elf_contains(view, &stormlog_record_claim) || sl_elf_find_symbol(view, symbol);
}

static int visit_first(const sl_elf_view *view, void *found_ptr) {
    void **found = found_ptr;
    *found = sl_elf_find_symbol(view, symbol);
    return *found != NULL;
}

static _Atomic(uintptr_t) *first_claim(void) {
    void *found = NULL;
    sl_elf_each(visit_first, &found);
    return found ? found : &stormlog_record_claim;
}

bool sl_record_claim_is_first(void) {
    return first_claim() == &stormlog_record_claim;
}

bool sl_record_claim_take(void) {
    uintptr_t own = (uintptr_t)&stormlog_record_claim, holder = 0;
    return atomic_compare_exchange_strong(first_claim(), &holder, own) || holder == own;
}

void sl_record_claim_give(void) {
    uintptr_t own = (uintptr_t)&stormlog_record_claim;
    atomic_compare_exchange_strong(first_claim(), &own, 0);
}
