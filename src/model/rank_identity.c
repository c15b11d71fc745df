/* SPDX-License-Identifier: MIT */
#include "model/rank_identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const job_variables[] = {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"};

/* The text without blanks around it, in out; false when nothing is left. */
static bool trimmed(const char *text, char *out, size_t cap) {
    if (!text)
        return false;
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    snprintf(out, cap, "%.*s", (int)(len < cap ? len : cap - 1), text);
    return len > 0;
}

static sl_status read_integer(sl_env_fn env, const char *name, sl_maybe_i32 *out, sl_error *err) {
    char text[64], *end;
    if (!trimmed(env(name), text, sizeof text))
        return SL_OK;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (*end || errno || value < INT32_MIN || value > INT32_MAX)
        return sl_fail(err, SL_E_USAGE, "%s must be an integer, found '%s'", name, text);
    *out = (sl_maybe_i32){(int32_t)value, true};
    return SL_OK;
}

/* The group counts when rank and size are both there. */
static bool is_complete(sl_env_fn env, size_t i) {
    char text[8];
    return sl_launchers[i].is_of_tool && trimmed(env(sl_launchers[i].rank), text, sizeof text) &&
           trimmed(env(sl_launchers[i].world_size), text, sizeof text);
}

static sl_status read_launcher(sl_env_fn env, sl_identity_claim *claim, sl_error *err) {
    for (size_t i = 0; i < sl_launcher_cnt; i++) {
        if (!is_complete(env, i))
            continue;
        SL_TRY(read_integer(env, sl_launchers[i].rank, &claim->rank, err));
        SL_TRY(read_integer(env, sl_launchers[i].world_size, &claim->world_size, err));
        SL_TRY(read_integer(env, sl_launchers[i].local_rank, &claim->local_rank, err));
        if (!claim->local_rank.known)
            claim->local_rank = claim->rank;
        return SL_OK;
    }
    return SL_OK;
}

static sl_maybe_i32 first_known(sl_maybe_i32 a, sl_maybe_i32 b, sl_maybe_i32 c) {
    return a.known ? a : b.known ? b : c;
}

static sl_status check(const sl_identity *id, sl_error *err) {
    if (id->rank < 0)
        return sl_fail(err, SL_E_USAGE, "rank must be >= 0, found %d", id->rank);
    if (id->local_rank < 0)
        return sl_fail(err, SL_E_USAGE, "local_rank must be >= 0, found %d", id->local_rank);
    if (id->world_size < 1)
        return sl_fail(err, SL_E_USAGE, "world_size must be >= 1, found %d", id->world_size);
    if (id->rank >= id->world_size)
        return sl_fail(err, SL_E_USAGE, "rank must be < world_size, found %d of %d", id->rank,
                       id->world_size);
    if (id->local_rank >= id->world_size)
        return sl_fail(err, SL_E_USAGE, "local_rank must be < world_size, found %d of %d",
                       id->local_rank, id->world_size);
    return SL_OK;
}

static sl_status take_job(const sl_identity_claim *a, const sl_identity_claim *b, sl_env_fn env,
                          sl_identity *out, sl_error *err) {
    const char *given = a->job_id ? a->job_id : b->job_id;
    char text[sizeof out->job_id];
    if (given) {
        if (!trimmed(given, text, sizeof text))
            return sl_fail(err, SL_E_USAGE, "job_id must be a non-empty string");
        snprintf(out->job_id, sizeof out->job_id, "%s", given);
        return SL_OK;
    }
    for (size_t i = 0; env && i < SL_COUNT_OF(job_variables); i++)
        if (trimmed(env(job_variables[i]), out->job_id, sizeof out->job_id))
            return SL_OK;
    return SL_OK;
}

sl_status sl_identity_resolve(const sl_identity_claim *explicit_claim,
                              const sl_identity_claim *metadata, sl_env_fn env, sl_identity *out,
                              sl_error *err) {
    static const sl_identity_claim nothing;
    const sl_identity_claim *a = explicit_claim ? explicit_claim : &nothing;
    const sl_identity_claim *b = metadata ? metadata : &nothing;
    sl_identity_claim launcher = {0};
    sl_identity id = {.world_size = 1};
    /* With everything said, what the launcher wrote may be anything. */
    bool is_all_said = a->rank.known && a->local_rank.known && a->world_size.known;
    if (env && !is_all_said)
        SL_TRY(read_launcher(env, &launcher, err));
    sl_maybe_i32 rank = first_known(a->rank, b->rank, launcher.rank);
    sl_maybe_i32 local = first_known(a->local_rank, b->local_rank, launcher.local_rank);
    sl_maybe_i32 world = first_known(a->world_size, b->world_size, launcher.world_size);
    id.rank = rank.known ? rank.value : 0;
    id.local_rank = local.known ? local.value : id.rank;
    id.world_size = world.known ? world.value : 1;
    SL_TRY(take_job(a, b, env, &id, err));
    SL_TRY(check(&id, err));
    *out = id;
    return SL_OK;
}
