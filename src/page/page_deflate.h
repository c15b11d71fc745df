/* SPDX-License-Identifier: MIT */
/* zlib compression of a page's sections, where the build has zlib. */
#ifndef SL_PAGE_DEFLATE_H
#define SL_PAGE_DEFLATE_H

#include "base/core/sl_base.h"

/* True and *out (the caller frees it) when the packed form is smaller; false and *out NULL when it
 * is not, when memory ran out, or when this build has no zlib: the bytes are then used as they
 * are, which every page can read too. */
bool sl_page_deflate(const uint8_t *bytes, size_t cnt, uint8_t **out, size_t *out_cnt);

#endif
