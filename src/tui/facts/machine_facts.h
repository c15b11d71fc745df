/* SPDX-License-Identifier: MIT */
/* The machine and its cards at this moment. */
#ifndef SL_MACHINE_FACTS_H
#define SL_MACHINE_FACTS_H

#include "counters/counters.h"
#include "tui/facts/tui_model.h"

/* Asks the driver; the first call loads its library, which may take a while. One thread at a time. */
void sl_machine_facts_read(sl_tui_machine *machine);

/* The back end of the cards; NULL when there is none, and then why. */
const sl_counters_ops *sl_machine_cards(const char **why);

#endif
