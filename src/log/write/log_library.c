/* SPDX-License-Identifier: MIT */
/* What each library has from the driver, as curves, so that it is known for the whole run and not only
 * for as long as the ring reaches back. Sums are kept in a small table of the writer; only events of
 * the driver come here, and they are rare beside its own work. Two threads that change one sum at
 * once may leave the older value in the curve until the next change; the sites have the truth. */
#include "log/write/log_writer_impl.h"

/* The slot of a library on a device, made on first use; NULL when the table is full. */
static sl_library_slot *slot_of(sl_log *log, uint64_t key) {
    for (size_t i = 0; i < SL_LIBRARY_SLOTS; i++) {
        uint64_t found = sl_get_acquire(&log->libraries[i].key);
        if (found == key || (found == 0 && sl_swap(&log->libraries[i].key, &found, key)) ||
            found == key)
            return &log->libraries[i];
    }
    return NULL;
}

void sl__library_change(sl_log *log, const sl_fmt_site *site, uint64_t bytes, uint64_t time_ns) {
    const uint64_t *labels = (const uint64_t *)(const void *)log->at[SL_SECTION_LABELS];
    bool is_inside = site->label < sl_get(&log->wm[SL_SECTION_LABELS]->reserved); /* (L12) */
    uint32_t name = site->label && is_inside ? (uint32_t)sl_get_acquire(&labels[site->label]) : 0;
    if (site->domain != SL_DOMAIN_DRIVER || name == 0)
        return;
    sl_library_slot *slot =
        slot_of(log, UINT64_C(1) << 32 | (uint64_t)(uint8_t)site->device << 16 | site->label);
    int counter = slot ? sl_log_counter(log, SL_COUNTER_DRIVER_USED, site->device, name) : -1;
    if (counter >= 0)
        sl__curve_set(log, (uint32_t)counter, (sl_add(&slot->live, bytes) + bytes) & SL_SIZE_MASK,
                      time_ns);
    else if (slot)
        sl_add(&slot->live, bytes);
}
