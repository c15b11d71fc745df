/* SPDX-License-Identifier: MIT */
/* Finds which blocks are parameters, gradients and optimizer state, by reading an optimizer when it
 * has finished a step. docs/decisions/0003-tags.md says why it is done so.
 *
 * The moment: an optimizer's step ends by turning gradients on again, in a C function of torch that
 * Python code calls. The calling thread holds the GIL there, and the optimizer is the first
 * argument of a frame right below. It is not the event path, and the rules of py_objects.h hold.
 *
 * Bounded: an optimizer is scanned after its steps 1, 2, 4, 8, ... and whenever the number of its
 * parameters has changed; at most SL_TAG_SCAN_TENSORS tensors at a time, what is left out counts in
 * the health table. */
#ifndef SL_TAG_SCAN_H
#define SL_TAG_SCAN_H

#include "log/write/log_writer.h"

#define SL_TAG_SCAN_TENSORS 65536

typedef struct sl_tag_scan_cost {
    uint64_t scans;
    uint64_t calls; /* into Python */
    uint64_t ns;    /* CPU time of the program's threads, ends of steps without a scan included */
} sl_tag_scan_cost;

/* A log was opened: makes the names of the tags, forgets the optimizers. */
void sl_tag_scan_start(sl_log *log);

/* Gradients were just turned on inside an optimizer's step, by Python code of this thread. Not
 * inside the guard (O5). Scans the optimizer if it is due. */
void sl_tag_scan_border(void);

sl_tag_scan_cost sl_tag_scan_get_cost(void);

#endif
