/* SPDX-License-Identifier: MIT */
#include "model/job/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of trust. torchrun first: its agents may be started by any of the others. Slurm last: a batch
 * script has SLURM_PROCID=0 in its environment, and so have all ranks of an mpirun inside it. */
const sl_launcher sl_launchers[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", true},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", true},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", false},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", false},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", true},
    {"PMIX_RANK", NULL, NULL, false},
};
const size_t sl_launcher_cnt = SL_COUNT_OF(sl_launchers);

static const char *const job_vars[] = {
    "STORMLOG_JOB",  "SLURM_JOB_ID",   "PBS_JOBID",
    "LSB_JOBID",     "JOB_ID",         "TORCHELASTIC_RUN_ID",
    "TORCHX_JOB_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"};

/* torchrun without --rdzv-id says "none". */
static bool is_set(const char *text) {
    return text && *text && strcmp(text, "none") != 0;
}

static const char *first_set(sl_env_fn env, const char *const *names, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        const char *text = env(names[i]);
        if (is_set(text))
            return text;
    }
    return NULL;
}

/* -1 for a text that is not a whole number, as for one that is not set. */
static int32_t number_of(sl_env_fn env, const char *name) {
    const char *text = name ? env(name) : NULL;
    char *end;
    long value = text && *text ? strtol(text, &end, 10) : -1;
    return value >= 0 && value <= INT32_MAX && *end == '\0' ? (int32_t)value : -1;
}

sl_launched sl_launcher_find(sl_env_fn env) {
    sl_launched found = {.job = first_set(env, job_vars, SL_COUNT_OF(job_vars)),
                         .rank = -1,
                         .local_rank = -1,
                         .world_size = -1};
    for (size_t i = 0; !found.by && i < sl_launcher_cnt; i++) {
        const sl_launcher *row = &sl_launchers[i];
        found.rank = number_of(env, row->rank);
        if (found.rank < 0)
            continue;
        found.by = row;
        found.local_rank = number_of(env, row->local_rank);
        found.world_size = number_of(env, row->world_size);
    }
    return found;
}

/* ---- the key of a start ---- */

/* Parts of the key by launcher; the first must be set, further ones are added with '-' where they are. The
 * id of an mpirun is made of its process number; the random key of its transports tells two apart. */
static const struct {
    const char *rank, *word, *parts[2];
} keys[] = {
    {"RANK", "torch", {"TORCHELASTIC_RUN_ID"}},
    {"RANK", "torch", {"MASTER_ADDR", "MASTER_PORT"}},
    {"OMPI_COMM_WORLD_RANK",
     "mpi",
     {"OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_precondition_transports"}},
    {"OMPI_COMM_WORLD_RANK", "mpi", {"PMIX_NAMESPACE"}},
    {"SLURM_PROCID", "slurm", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"PMIX_RANK", "mpi", {"PMIX_NAMESPACE"}},
};

static void add_part(char *key, const char *text) {
    size_t used = strlen(key);
    if (used + 2 >= SL_LAUNCH_KEY_CAP)
        return;
    key[used++] = '-';
    /* A path made of a variable would be a surprise. 36 bytes are a UUID. */
    for (size_t i = 0; i < 36 && text[i] && used + 1 < SL_LAUNCH_KEY_CAP; i++) {
        char c = text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        key[used++] = is_plain ? c : '_';
    }
    key[used] = '\0';
}

bool sl_launcher_key(sl_env_fn env, char key[SL_LAUNCH_KEY_CAP]) {
    sl_launched found = sl_launcher_find(env);
    if (!found.by)
        return false;
    bool is_slurm = strcmp(found.by->rank, "SLURM_PROCID") == 0;
    if (is_slurm && !is_set(env("SLURM_STEP_ID")))
        return false;
    const char *job = env("SLURM_JOB_ID");
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++) {
        if (strcmp(keys[i].rank, found.by->rank) != 0 || !is_set(env(keys[i].parts[0])))
            continue;
        snprintf(key, SL_LAUNCH_KEY_CAP, "%s", keys[i].word);
        if (!is_slurm && is_set(job))
            add_part(key, job);
        for (size_t k = 0; k < 2 && keys[i].parts[k]; k++)
            if (is_set(env(keys[i].parts[k])))
                add_part(key, env(keys[i].parts[k]));
        return true;
    }
    /* No name for the start: its size, and the job where there is one. */
    snprintf(key, SL_LAUNCH_KEY_CAP, "ranks%d", found.world_size);
    if (found.job)
        add_part(key, found.job);
    return true;
}

/* ---- commands ---- */

bool sl_launcher_is_command(size_t argc, const char *const *argv) {
    static const char *const names[] = {"torchrun",
                                        "mpirun",
                                        "mpiexec",
                                        "orterun",
                                        "prterun",
                                        "srun",
                                        "accelerate",
                                        "deepspeed",
                                        "horovodrun",
                                        "torch.distributed.run",
                                        "torch.distributed.launch"};
    /* The program, its script, or the module of `python -m`; what follows are its own arguments. */
    for (size_t i = 0; i < argc && i < 4; i++) {
        const char *slash = strrchr(argv[i], '/');
        const char *name = slash ? slash + 1 : argv[i];
        for (size_t k = 0; k < SL_COUNT_OF(names); k++)
            if (strcmp(name, names[k]) == 0)
                return true;
    }
    return false;
}
