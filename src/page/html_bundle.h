/* SPDX-License-Identifier: MIT */
/* The built page, web/dist/report.html, as one terminated string; the build makes its source with
 * tools/embed_text.py. */
#ifndef SL_HTML_BUNDLE_H
#define SL_HTML_BUNDLE_H

extern const char sl_html_bundle[];

#endif
