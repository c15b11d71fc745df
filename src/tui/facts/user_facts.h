/* SPDX-License-Identifier: MIT */
/* The processes that use the cards, and those that are being recorded, with their history since the screen was
 * opened. One thread. */
#ifndef SL_USER_FACTS_H
#define SL_USER_FACTS_H

#include "tui/facts/tui_model.h"

/* Reads them once more; `live` is the recording that is written now, NULL = none. Those that ended are kept
 * until their place is needed. */
void sl_user_facts_read(sl_tui_users *users, const sl_tui_source *live);

/* Largest first, or those that grew most. */
void sl_user_facts_sort(sl_tui_users *users, bool by_growth);

/* How much more it has than when it was first seen. */
int64_t sl_tui_user_growth(const sl_tui_user *user);

#endif
