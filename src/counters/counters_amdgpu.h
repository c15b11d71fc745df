/* SPDX-License-Identifier: MIT */
/* The counters of AMD's cards, from files of the kernel's amdgpu driver: no library is needed. */
#ifndef SL_COUNTERS_AMDGPU_H
#define SL_COUNTERS_AMDGPU_H

#include "counters/counters.h"

/* The same as sl_counters_amdgpu.open with these folders in the place of /sys and /proc. Both must stay
 * valid until the close. */
sl_status sl_counters_amdgpu_open_at(const char *sys, const char *proc, sl_error *err);

#endif
