/* SPDX-License-Identifier: MIT */
/* Which Python functions tell what a training program is doing. */
#ifndef SL_FRAME_MARKS_H
#define SL_FRAME_MARKS_H

#include "base/sl_base.h"

/* Flags (sl_stack_flag) of a frame with this function and file; 0 for nearly all. */
uint32_t sl_frame_flags_find(sl_str function, sl_str file);

#endif
