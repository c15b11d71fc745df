/* SPDX-License-Identifier: MIT */
#include "record/core/record_identity.h"

#include <stdlib.h>

/* In the order of trust: torchrun and everything that imitates it first, then the launchers. */
static const char *const rank_vars[] = {"RANK",      "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK", "PMI_RANK",     "MV2_COMM_WORLD_RANK"};
static const char *const local_rank_vars[] = {"LOCAL_RANK", "SLURM_LOCALID",
                                              "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                              "MV2_COMM_WORLD_LOCAL_RANK"};
static const char *const world_vars[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
                                         "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
static const char *const job_vars[] = {"STORMLOG_JOB", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID",
                                       "PBS_JOBID",    "LSB_JOBID",    "JOB_ID"};

static const char *first_set(const char *const *names, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        const char *text = getenv(names[i]);
        if (text && *text)
            return text;
    }
    return NULL;
}

/* The first variable that is a whole number; any other text counts as not set. */
static int32_t first_number(const char *const *names, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        const char *text = getenv(names[i]);
        char *end;
        long value = text && *text ? strtol(text, &end, 10) : -1;
        if (value >= 0 && value <= INT32_MAX && *end == '\0')
            return (int32_t)value;
    }
    return -1;
}

sl_record_identity sl_record_identity_find(void) {
    return (sl_record_identity){
        .job = first_set(job_vars, SL_COUNT_OF(job_vars)),
        .rank = first_number(rank_vars, SL_COUNT_OF(rank_vars)),
        .local_rank = first_number(local_rank_vars, SL_COUNT_OF(local_rank_vars)),
        .world_size = first_number(world_vars, SL_COUNT_OF(world_vars)),
    };
}
