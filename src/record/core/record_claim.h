/* SPDX-License-Identifier: MIT */
/* One recorder per process. Two copies of this library may be loaded: from two installations, or
 * one preloaded and one from a Python package. Each exports one word; the word of the copy that
 * comes first in the linker's order, whose functions the program's calls reach, holds which copy
 * records. The others do nothing. */
#ifndef SL_RECORD_CLAIM_H
#define SL_RECORD_CLAIM_H

#include "record/hooks/elf_view.h"

/* False when another copy records, or is the one that the program's calls reach. Again and again is fine. */
bool sl_record_claim_take(void);
void sl_record_claim_give(void);

/* Whether this copy comes first in the linker's order. */
bool sl_record_claim_is_first(void);

/* Whether this is a copy of the recorder, this one or another. */
bool sl_record_claim_is_in(const sl_elf_view *view);

#endif
