/* SPDX-License-Identifier: MIT */
/* Base64 with the usual alphabet and padding, no line breaks. */
#ifndef SL_BASE64_H
#define SL_BASE64_H

#include <stdio.h>

#include "base/core/sl_base.h"

/* Writes the bytes to the stream; a failure sets the stream's error flag. */
void sl_base64_write(FILE *to, const uint8_t *bytes, size_t cnt);

#endif
