/* SPDX-License-Identifier: MIT */
/* Backward allocations and the forward lines they belong to.
 *
 * torch's autograd threads have no Python frames. Each node of the graph has a sequence number, taken
 * when its forward operator ran; at::sequence_number::peek() is then one above it. So a forward
 * allocation is kept under peek() - 1 (one that happens between two operators counts to the earlier),
 * and a backward one asks for the number of the node that runs
 * (torch::autograd::get_current_node()). Operators that allocate nothing have no entry: the nearest
 * earlier one stands for them, and the frame says so.
 *
 * Both functions read thread-local variables and take no lock. The node's layout is checked on every
 * call: a node holds a weak pointer to itself right before its number. Sequence numbers count per
 * thread, so with a second forward thread nothing is mapped any more. */
#ifndef SL_BACKWARD_MAP_H
#define SL_BACKWARD_MAP_H

#include "record/stacks/stack_cache.h"

/* A log was opened: finds torch's functions, forgets the old log's stacks. */
void sl_backward_start(void);

/* An allocation of the forward pass happened with this stack, on the calling thread. */
void sl_backward_note_forward(uint32_t stack);

/* The stack for an allocation on a thread without Python frames; id 0 when it cannot be told. */
sl_stack_ref sl_backward_find(sl_log *log, uint64_t size);

/* Bytes allocated on autograd's threads so far, and the part that got a forward line. */
uint64_t sl_backward_get_bytes(void);
uint64_t sl_backward_get_mapped_bytes(void);

#endif
