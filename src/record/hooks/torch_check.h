/* SPDX-License-Identifier: MIT */
/* Whether the torch in this process is one that the recorder can see. */
#ifndef SL_TORCH_CHECK_H
#define SL_TORCH_CHECK_H

/* At the end of a process in which nothing was recorded: one line when it had a torch without any of
 * the functions that are hooked, so that silence is not taken for health. */
void sl_torch_check_at_end(void);

#endif
