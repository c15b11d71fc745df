/* SPDX-License-Identifier: MIT */
/* The forms of the merge: text, Markdown, JSON (docs/schemas/ranks-1.json) and a page without scripts. Texts of the
 * input are cleaned. */
#ifndef SL_FLEET_FORMAT_H
#define SL_FLEET_FORMAT_H

#include <stdio.h>

#include "base/text/json_out.h"
#include "ranks/fleet.h"

/* Rows of the table: ranks about which there is something to say, and those at the borders of the rest; all with
 * `is_all`. */
void sl_fleet_text(FILE *to, sl_fleet *fleet, bool is_all);
void sl_fleet_md(FILE *to, sl_fleet *fleet, bool is_all);

/* Writes the members of an object that the caller has begun and ends: those of the Python tool are his to add. */
void sl_fleet_json(sl_json_out *json, sl_fleet *fleet);

void sl_fleet_html(FILE *to, sl_fleet *fleet);

#endif
