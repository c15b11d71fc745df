/* SPDX-License-Identifier: MIT */
/* Checks one value against what its key expects and puts it into the draft. */
#ifndef SL_TORCH_TAKE_H
#define SL_TORCH_TAKE_H

#include "read/torch/torch_build.h"

sl_status sl_torch_take_value(sl_torch_build *build, const sl_torch_field *field,
                              const sl_torch_value *value, sl_error *err);

#endif
