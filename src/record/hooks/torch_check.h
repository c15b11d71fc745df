/* SPDX-License-Identifier: MIT */
/* Whether the recorder can record the torch in this process. */
#ifndef SL_TORCH_CHECK_H
#define SL_TORCH_CHECK_H

/* At the end of a process in which nothing was recorded: one line when it had a torch without any
 * of the functions that are hooked, so that an empty result is not mistaken for a healthy one. */
void sl_torch_check_at_end(void);

#endif
