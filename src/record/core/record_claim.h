/* SPDX-License-Identifier: MIT */
/* One recorder in a process. Two copies of this library can be there: two installations, or one that was
 * preloaded and one that a Python package brought. Each exports one word; the word of the copy that comes first
 * in the linker's order, whose functions the program's calls reach, holds which copy records. The others
 * stay out. */
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
