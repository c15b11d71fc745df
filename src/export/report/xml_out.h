/* SPDX-License-Identifier: MIT */
/* Text inside XML: escaped, valid UTF-8, without the characters that XML 1.0 forbids. */
#ifndef SL_XML_OUT_H
#define SL_XML_OUT_H

#include <stdio.h>

void sl_xml_text(FILE *to, const char *text);

/* ` name="value"`. */
void sl_xml_attribute(FILE *to, const char *name, const char *value);

#endif
