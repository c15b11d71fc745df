/* SPDX-License-Identifier: MIT */
/* Which torch a recorded process ran: a recording does not say, but the machine that it ran on does. */
#ifndef SL_TORCH_VERSION_H
#define SL_TORCH_VERSION_H

#include "model/trace.h"

/* From torch/version.py beside a torch library that process `pid` has mapped (0 = it is gone), or
 * beside a file of torch that a stack names. "" when neither leads to one. */
void sl_torch_version_find(const sl_trace *trace, int pid, char *to, size_t cap);

#endif
