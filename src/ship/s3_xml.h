/* SPDX-License-Identifier: MIT */
/* The few texts that are needed of an S3 server's answers: elements without attributes, whose text has
 * no elements in it. No tree, no memory; anything else is passed over. */
#ifndef SL_S3_XML_H
#define SL_S3_XML_H

#include "base/core/sl_base.h"

/* The text of the next <name> from *at on, as it is; *at moves behind it. False when there is none. */
bool sl_s3_xml_next(sl_str answer, size_t *at, const char *name, sl_str *text);

/* The same with &amp; and the other entities replaced. False when there is none, or it does not fit. */
bool sl_s3_xml_text(sl_str answer, const char *name, char *to, size_t cap);

/* Replaces the entities of a text. False when it does not fit. */
bool sl_s3_xml_decode(sl_str text, char *to, size_t cap);

#endif
