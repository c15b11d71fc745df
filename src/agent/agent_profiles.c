/* SPDX-License-Identifier: MIT */
/* Profiles by line, once per interval and recording. Somebody else makes them (the options' `profile`): a profile
 * needs all events of a recording in memory, and the agent is to stay small. What was not taken is asked for again with
 * the next interval; the intervals have fixed borders, so a store that got one twice has it once. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent_impl.h"

/* The newest events of an interval are in the recording by then. */
#define SETTLE_MS 1000

/* One that is due and has not been asked for in this round; the mutex is held. */
static sl_agent_member *find_due(const sl_agent *agent, int64_t border_us, uint64_t round) {
    for (size_t i = 0; i < agent->members.cnt; i++) {
        sl_agent_member *member = agent->members.at[i];
        bool is_due = member->rank->has_ended || member->profiled_us < border_us;
        if (!member->is_profiled && !member->is_broken && is_due && member->profile_round != round)
            return member;
    }
    return NULL;
}

/* Complete intervals only, unless the recording has ended. */
static bool send_member(sl_agent *agent, sl_agent_member *member, const char *path, bool has_ended,
                        int64_t border_us) {
    int64_t every_us = agent->options->profile_ms * 1000;
    int64_t oldest_us = (sl__agent_wall_ms() - agent->options->backfill_ms) * 1000;
    int64_t start_us = sl_agent_rank_start_ms(member->rank) * 1000;
    sl_agent_profile_part part = {
        .path = path,
        .has_since = true,
        .since_us = member->profiled_us > oldest_us ? member->profiled_us : oldest_us,
        .has_until = !has_ended,
        .until_us = border_us - every_us,
    };
    part.has_since = part.since_us > start_us;
    if (part.has_until && part.until_us + every_us <= start_us)
        return false;
    return agent->options->profile(agent->options->self, &part);
}

void sl__agent_profile_round(sl_agent *agent, uint64_t round) {
    int64_t every_us = agent->options->profile_ms * 1000;
    int64_t border_us = (sl__agent_wall_ms() - SETTLE_MS) * 1000 / every_us * every_us;
    pthread_mutex_lock(&agent->mutex);
    for (sl_agent_member *member; (member = find_due(agent, border_us, round)) != NULL;) {
        bool has_ended = member->rank->has_ended;
        char *path = strdup(member->rank->path);
        member->profile_round = round;
        member->busy++;
        pthread_mutex_unlock(&agent->mutex);
        bool is_sent = path && send_member(agent, member, path, has_ended, border_us);
        free(path);
        pthread_mutex_lock(&agent->mutex);
        member->busy--;
        if (is_sent) {
            member->profiled_us = border_us;
            member->is_profiled = has_ended;
        }
        if (agent->is_stopping)
            break;
    }
    pthread_mutex_unlock(&agent->mutex);
}

bool sl__agent_is_profiled(sl_agent *agent) {
    bool is_all = true;
    pthread_mutex_lock(&agent->mutex);
    for (size_t i = 0; i < agent->members.cnt; i++)
        is_all &= agent->members.at[i]->profiled_us > 0 || agent->members.at[i]->is_profiled;
    pthread_mutex_unlock(&agent->mutex);
    return is_all;
}

int64_t sl__agent_profile_wait_ms(const sl_agent *agent) {
    int64_t every_ms = agent->options->profile_ms, now_ms = sl__agent_wall_ms();
    return (now_ms / every_ms + 1) * every_ms - now_ms + SETTLE_MS;
}
