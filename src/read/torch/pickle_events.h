/* SPDX-License-Identifier: MIT */
/* The fast way through a trace. Nearly all bytes of a snapshot are events, and nearly all events
 * have the form
 *     } MEMOIZE ( key value ... key ] MEMOIZE ( reference ... e u
 * or the same with a reference in place of the list of frames, or without a MEMOIZE. This module decodes
 * both without the machine's stack. An event that differs in any other way is left untouched for
 * pickle_vm.c: nothing is changed before the whole event has been understood. */
#ifndef SL_PICKLE_EVENTS_H
#define SL_PICKLE_EVENTS_H

#include "base/core/status.h"

struct sl_pickle_vm;

/* Takes as many events as it can, from the next byte on; the parent list must be an open trace
 * after a mark, with nothing behind the mark. *cnt is how many. */
sl_status sl_pickle_take_events(struct sl_pickle_vm *vm, uint64_t *cnt);

#endif
