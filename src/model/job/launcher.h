/* SPDX-License-Identifier: MIT */
/* Who this process is among the others of its job: the variables that launchers set (torchrun and what
 * imitates it, Open MPI, MPICH and Intel MPI, MVAPICH2, Slurm). libc only, no allocation: the recorder
 * uses it inside the target. */
#ifndef SL_LAUNCHER_H
#define SL_LAUNCHER_H

#include "base/core/sl_base.h"

/* The value of a variable, NULL when it is not set; getenv has this form. */
typedef char *(*sl_env_fn)(const char *name);

/* One launcher's variables; NULL = it has none for this. */
typedef struct sl_launcher {
    const char *rank, *local_rank, *world_size;
    bool is_of_tool; /* one of the three that the Python tool knows (model/rank_identity.h) */
} sl_launcher;

extern const sl_launcher sl_launchers[];
extern const size_t sl_launcher_cnt;

typedef struct sl_launched {
    const char *job;                      /* borrowed from the environment; NULL = not known */
    int32_t rank, local_rank, world_size; /* -1 = not known */
    const sl_launcher *by;                /* whose variables the rank is from; NULL = no rank */
} sl_launched;

/* The first launcher whose rank is a whole number; its other variables, where they are numbers, too. Reads
 * the environment; call it in a thread of the program, not in the recorder's own, because the environment
 * has no lock. */
sl_launched sl_launcher_find(sl_env_fn env);

/* What all ranks of one start have in common and, as far as the launcher allows, no other start has: the
 * name of their run folder. Only letters, digits, '.', '_' and '-'. False without a launcher, and in
 * a Slurm batch script outside srun, which is one process with a rank in its environment. */
#define SL_LAUNCH_KEY_CAP 80
bool sl_launcher_key(sl_env_fn env, char key[SL_LAUNCH_KEY_CAP]);

/* Whether the command starts ranks of its own: torchrun, mpirun, srun, `python -m torch.distributed.run`, … A
 * rank in its environment is then that of a node (PyTorchJob of Kubernetes sets RANK so), not of a process. */
bool sl_launcher_is_command(size_t argc, const char *const *argv);

#endif
