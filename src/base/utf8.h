/* SPDX-License-Identifier: MIT */
/* Validity of UTF-8, one character at a time. */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include "base/sl_base.h"

/* Bytes of the character that starts here (1..4), or 0 when the bytes are not valid UTF-8. */
size_t sl_utf8_length(const char *at, size_t left);

#endif
