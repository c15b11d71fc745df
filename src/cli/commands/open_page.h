/* SPDX-License-Identifier: MIT */
/* Opens a page in the browser that the desktop prefers. Without a shell: a path is never read as a
 * command. One thread. */
#ifndef SL_OPEN_PAGE_H
#define SL_OPEN_PAGE_H

#include "base/core/status.h"

/* Hands the file to xdg-open. Where that is not possible says on standard error why, and where the page
 * is: it has been made, so this is no failure. */
void sl_open_page(const char *path);

#endif
