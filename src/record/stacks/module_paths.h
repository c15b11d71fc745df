/* SPDX-License-Identifier: MIT */
/* The path of the module that runs, "encoder.layers.3.attn", for stacks (--modules; off by default).
 *
 * The event path looks the module's address up in a fixed table. The table is filled from the outermost
 * module on the stack, which knows its children's names. That needs the GIL, so the event path only
 * asks Python to call us back (Py_AddPendingCall): the main thread does so when the operator that
 * allocated returns, with the same modules still on its stack, which keeps them alive. No Python code
 * runs (py_objects.h).
 *
 * Bounded: SL_MODULE_CAP modules, SL_MODULE_DEPTH levels, SL_MODULE_VISITS visits, and after each visit
 * a pause of a hundred times what it cost.
 *
 * (M1) A module may be freed and another made at its address. An entry is therefore used only under
 *      the outermost module it was found from, if that is still alive (a weak reference shows it),
 *      and if bits of the type's address agree. What remains: within a model that lives on, a
 *      module that was exchanged for one of the same class that came to lie at the same address
 *      shows the old path until the next visit. */
#ifndef SL_MODULE_PATHS_H
#define SL_MODULE_PATHS_H

#include "log/write/log_writer.h"

#define SL_MODULE_CAP    8192
#define SL_MODULE_DEPTH  32
#define SL_MODULE_VISITS 255

/* A log was opened: empties the table. */
void sl_module_paths_start(bool is_on);

/* Event path: the frame "<module> path" of this module below this outermost one, 0 = none. The caller's
 * stack holds both. */
uint32_t sl_module_paths_find(const void *module, const void *root);

#endif
