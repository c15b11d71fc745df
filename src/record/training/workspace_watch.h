/* SPDX-License-Identifier: MIT */
/* Memory that no line of the program asked for: what PyTorch takes from its own allocator for cuBLAS, cuDNN and the
 * kernels of CUB to compute in. It is known by who asks.
 *
 * (K1) The storage of every tensor is made by at::detail::empty_generic and its kin in libtorch_cpu, on every device.
 *      Code of libtorch_cuda that calls the allocator itself wants a workspace: setWorkspaceForHandle,
 *      getCUDABlasLtWorkspace, run_conv_plan, … The exceptions have names: functions that resize a storage,
 *      and allocators of the program's own (`exceptions` in the .c file).
 *
 * The way from an allocation to who asks is some five native frames, walked as in native_stack.h: too much for each
 * allocation. So it is done for device memory of SL_WORKSPACE_MIN bytes and more, and there
 *   - for the first SL_WORKSPACE_LOOKS allocations of each stack and power of two,
 *   - for stacks and powers of two that have had a workspace; but cuBLASLt takes one of the same size at every call of a
 *     layer: a size of which a stack's first SL_WORKSPACE_TRUST were all workspaces is taken for one, and only
 *     every SL_WORKSPACE_AGAIN-th is looked at again,
 *   - and for the first few sizes that were those of a workspace: cuBLAS makes one for each thread and stream.
 * Where frames cannot be walked (processors other than x86-64, glibc before 2.35) no workspace is known. */
#ifndef SL_WORKSPACE_WATCH_H
#define SL_WORKSPACE_WATCH_H

#include "record/stacks/stack_cache.h"

#define SL_WORKSPACE_MIN   (UINT64_C(64) << 10)
#define SL_WORKSPACE_LOOKS 6
#define SL_WORKSPACE_TRUST 6
#define SL_WORKSPACE_AGAIN 16

/* A log was opened: finds the libraries, makes the label, forgets what was seen. */
void sl_workspace_start(sl_log *log);

/* Event path, from inside the hook: the label of a workspace when this allocation is one, else 0. `stack` is where it
 * comes from as far as the log knows. */
uint16_t sl_workspace_find(sl_stack_ref stack, uint64_t size);

#endif
