/* SPDX-License-Identifier: MIT */
/* The built page, web/dist/report.html, as one NUL-terminated string. tools/embed_text.py makes
 * its source during the build. */
#ifndef SL_HTML_BUNDLE_H
#define SL_HTML_BUNDLE_H

extern const char sl_html_bundle[];

#endif
