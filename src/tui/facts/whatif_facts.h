/* SPDX-License-Identifier: MIT */
/* The tab What-if: what other allocator settings, or another card, would have done. */
#ifndef SL_WHATIF_FACTS_H
#define SL_WHATIF_FACTS_H

#include "tui/facts/run_facts.h"

/* What the user asks; "" = the usual settings, and the smallest card for each. */
typedef struct sl_whatif_question {
    char settings
        [512];     /* sets of them separated by blanks, in the words of PYTORCH_CUDA_ALLOC_CONF */
    char card[64]; /* what PyTorch could reserve: "24GiB" */
} sl_whatif_question;

/* Whether both can be read; SL_E_USAGE with the reason. */
sl_status sl_whatif_question_check(const sl_whatif_question *question, sl_error *err);

/* The answer for a device. A refusal is a valid answer. SL_E_USAGE, SL_E_NOMEM. */
sl_status sl_whatif_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                          const sl_whatif_question *question, sl_tui_whatif **out, sl_error *err);

#endif
