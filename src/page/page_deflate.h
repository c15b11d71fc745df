/* SPDX-License-Identifier: MIT */
/* zlib compression of a page's sections, if the build has zlib. */
#ifndef SL_PAGE_DEFLATE_H
#define SL_PAGE_DEFLATE_H

#include "base/core/sl_base.h"

/* True and *out (the caller frees it) when the compressed form is smaller. False and *out NULL
 * when it is not, when memory ran out, or when this build has no zlib: then the bytes are used
 * uncompressed, which every page can read too. */
bool sl_page_deflate(const uint8_t *bytes, size_t cnt, uint8_t **out, size_t *out_cnt);

#endif
