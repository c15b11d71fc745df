/* SPDX-License-Identifier: MIT */
/* Backward allocations and the forward lines they belong to.
 *
 * torch's autograd threads have no Python frames. Each node of the graph has a sequence number, taken
 * when its forward operator ran; at::sequence_number::peek() is then one above it. So a forward
 * allocation is kept under peek() - 1 (one that happens between two operators counts to the earlier),
 * and a backward one asks for the number of the node that runs
 * (torch::autograd::get_current_node()). What is found, in this order, and what the frame says:
 *
 *   <backward>                                          the node's own forward operator
 *   <backward, nearest forward operator>                operators that allocate nothing have no entry
 *   <backward, gradient accumulation after this operator>  the node has no number: it adds the gradient of a
 *                                                       parameter up, right after the operator that made it
 *   <backward, called here>                             none of these: the line that called backward()
 *
 * All functions of torch's that are called read thread-local variables and take no lock. The node's layout is
 * checked on every call: a node holds a weak pointer to itself right before its number.
 *
 * (W1) Sequence numbers count per thread. A node keeps the id of the thread that made it, so an entry is known by
 *      both. */
#ifndef SL_BACKWARD_MAP_H
#define SL_BACKWARD_MAP_H

#include "record/stacks/stack_cache.h"

/* A log was opened: finds torch's functions, forgets the old log's stacks. */
void sl_backward_start(void);

/* An allocation of the forward pass happened with this stack, on the calling thread. */
void sl_backward_note_forward(uint32_t stack);

/* The calling thread has called torch's backward, with this stack. */
void sl_backward_note_call(uint32_t stack);

/* The stack for an allocation of a backward pass, on a thread of autograd's (`is_autograd`) or one
 * that Python does not know; id 0 when unknown. A request that failed has size 0: it is not
 * counted. */
sl_stack_ref sl_backward_find(sl_log *log, uint64_t size, bool is_autograd);

/* Bytes allocated on autograd's threads so far, and the part that got a forward line. */
uint64_t sl_backward_get_bytes(void);
uint64_t sl_backward_get_mapped_bytes(void);

#endif
