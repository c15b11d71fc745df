/* SPDX-License-Identifier: MIT */
/* The recordings that are open: found, refreshed, closed when they are over and everything of them has arrived. */
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "agent/agent_place.h"
#include "base/core/order.h"
#include "base/core/str.h"

/* Times a file is tried that cannot be opened: its header is written in a moment. */
#define TRIES_MAX 5

/* When the file was made, where the file system keeps that; else 0. A file that is removed leaves its inode to the
 * next one: that is another recording. */
static int64_t birth_of(const char *path) {
    struct statx info;
    /* The call itself: the wheel is built for a libc that has no function for it. */
    if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BTIME, &info) < 0 ||
        !(info.stx_mask & STATX_BTIME))
        return 0;
    return info.stx_btime.tv_sec * INT64_C(1000000000) + info.stx_btime.tv_nsec;
}

static sl_agent_seen *find_seen(sl_agent *agent, const struct stat *st, int64_t born_ns) {
    for (size_t i = 0; i < agent->seen.cnt; i++) {
        sl_agent_seen *seen = &agent->seen.at[i];
        if (seen->device == st->st_dev && seen->inode == st->st_ino && seen->born_ns == born_ns)
            return seen;
    }
    sl_agent_seen seen = {.device = st->st_dev, .inode = st->st_ino, .born_ns = born_ns};
    return sl_vec_push(&agent->seen, seen) ? &agent->seen.at[agent->seen.cnt - 1] : NULL;
}

/* Files that are gone. Of processes not all are asked each time, so there what was seen is kept. */
static void forget_gone(sl_agent *agent) {
    size_t kept = 0;
    for (size_t i = 0; i < agent->seen.cnt; i++)
        if (agent->seen.at[i].round == agent->round)
            agent->seen.at[kept++] = agent->seen.at[i];
    agent->seen.cnt = kept;
}

/* One that could not be read may have been copied there meanwhile. */
static bool has_changed(const sl_agent_seen *seen, const struct stat *st) {
    return seen->is_unreadable && (seen->size != st->st_size || seen->changed_s != st->st_mtime);
}

static bool has_member(const sl_agent *agent, const sl_agent_key *key) {
    for (size_t i = 0; i < agent->members.cnt; i++)
        if (memcmp(&agent->members.at[i]->rank->key, key, sizeof *key) == 0)
            return true;
    return false;
}

static void free_member(sl_agent_member *member) {
    for (size_t i = 0; i < SL_AGENT_SINKS_MAX; i++)
        sl_agent_walk_fini(&member->sinks[i].walk);
    for (size_t i = 0; i < SL_AGENT_CLIENTS_MAX; i++)
        sl_agent_walk_fini(&member->clients[i]);
    sl_agent_rank_close(member->rank);
    free(member);
}

/* ---- opening ---- */

/* Where the process runs is known as long as it does; afterwards by what was kept. */
static sl_status find_place(sl_agent *agent, sl_agent_member *member, sl_agent_entry *entry,
                            sl_error *err) {
    sl_agent_rank *rank = member->rank;
    bool has_room = true;
    if (entry->place.list.cnt == 0 && !rank->has_ended)
        has_room =
            sl_agent_place_find(agent->options->proc, rank->key.pid, member->inode, &entry->place);
    if (!has_room || !sl_agent_labels_join(&rank->place, &entry->place) ||
        !sl_agent_labels_join(&rank->extra, &agent->options->labels))
        return sl_fail_no_memory(err, "labels");
    return sl_agent_rank_relabel(rank, err);
}

/* From its cursor, or from its beginning but not from too long ago. */
static bool set_progress(sl_agent *agent, sl_agent_member *member, const sl_agent_entry *entry) {
    int64_t oldest = sl__agent_wall_ms() - agent->options->backfill_ms;
    int64_t begin = sl_max_i64(sl_agent_rank_start_ms(member->rank),
                               sl_min_i64(oldest, sl_agent_rank_newest_ms(member->rank)));
    bool is_over = member->rank->has_ended && sl_agent_rank_newest_ms(member->rank) < oldest;
    bool is_wanted = agent->options->sink_cnt == 0 && !is_over;
    for (size_t i = 0; i < agent->options->sink_cnt; i++) {
        sl_agent_progress *progress = &member->sinks[i];
        const sl_agent_cursor *cursor = sl_agent_entry_find(entry, agent->sinks[i].id);
        progress->walk.at_ms = cursor ? cursor->at_ms : begin;
        progress->older_ms = progress->safe_ms = progress->walk.at_ms;
        progress->is_done = cursor ? cursor->is_done : is_over;
        is_wanted |= !progress->is_done;
    }
    return is_wanted;
}

/* *is_wanted: false when nothing of it is to be sent or served. */
static sl_status prepare(sl_agent *agent, sl_agent_member *member, bool *is_wanted, sl_error *err) {
    sl_agent_entry *entry = sl_agent_state_entry(&agent->state, &member->rank->key);
    if (!entry)
        return sl_fail_no_memory(err, "a cursor");
    entry->seen_ms = sl__agent_wall_ms();
    *is_wanted = !has_member(agent, &member->rank->key) && set_progress(agent, member, entry);
    return *is_wanted ? find_place(agent, member, entry, err) : SL_OK;
}

static sl_status open_member(sl_agent *agent, const char *path, const struct stat *st,
                             sl_agent_seen *seen, sl_error *err) {
    sl_agent_member *member = calloc(1, sizeof *member);
    bool is_wanted = false;
    if (!member)
        return sl_fail_no_memory(err, "a recording");
    member->device = st->st_dev;
    member->inode = st->st_ino;
    sl_status status = sl_agent_rank_open(path, &member->rank, err);
    if (status == SL_OK)
        status = prepare(agent, member, &is_wanted, err);
    if (status == SL_OK) {
        seen->is_settled = true;
        seen->is_unreadable = false;
    }
    if (status == SL_OK && is_wanted && sl_vec_push(&agent->members, member))
        return SL_OK;
    free_member(member);
    return status;
}

static void take_path(void *self, const char *path) {
    sl_agent *agent = self;
    struct stat st;
    sl_error err = SL_ERROR_INIT;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    sl_agent_seen *seen = find_seen(agent, &st, birth_of(path));
    if (!seen)
        return;
    seen->round = agent->round;
    if ((seen->is_settled && !has_changed(seen, &st)) ||
        open_member(agent, path, &st, seen, &err) >= 0)
        return;
    seen->size = st.st_size;
    seen->changed_s = st.st_mtime;
    if (++seen->failures < TRIES_MAX && !agent->options->is_once)
        return;
    if (!seen->is_unreadable) {
        agent->unreadable_cnt++;
        sl__agent_say(agent, "cannot read '%s': %s", path, err.text);
    }
    seen->is_settled = seen->is_unreadable = true;
}

/* ---- workers ---- */

static bool has_card(const sl_agent_rank *rank) {
    for (size_t i = 0; i < rank->subjects.cnt; i++)
        if (!rank->subjects.at[i].is_process && rank->subjects.at[i].device >= 0)
            return true;
    return false;
}

bool sl__agent_is_worker(const sl_agent *agent, const sl_agent_member *member) {
    return member->has_parent && !agent->options->has_workers && !has_card(member->rank);
}

/* Once seen it holds: the parent may be closed first. */
static void find_parent(const sl_agent *agent, sl_agent_member *member) {
    const sl_agent_rank *own = member->rank;
    uint32_t parent_pid = sl_log_header(own->reader)->parent_pid;
    for (size_t i = 0; parent_pid && i < agent->members.cnt && !member->has_parent; i++) {
        const sl_agent_rank *other = agent->members.at[i]->rank;
        member->has_parent = other->key.pid == parent_pid &&
                             other->key.host_hash == own->key.host_hash &&
                             sl_log_rank(other->reader) == sl_log_rank(own->reader);
    }
}

/* ---- closing ---- */

static bool is_over(const sl_agent *agent, const sl_agent_member *member, int64_t now_ms) {
    if (member->busy || member->is_broken)
        return !member->busy;
    for (size_t i = 0; i < agent->options->sink_cnt && !sl__agent_is_worker(agent, member); i++)
        if (!member->sinks[i].is_done)
            return false;
    if (agent->options->profile_ms && !member->is_profiled)
        return false;
    return member->ended_ms && now_ms - member->ended_ms > agent->options->linger_ms;
}

static void refresh(sl_agent *agent, sl_agent_member *member, int64_t now_ms) {
    sl_error err = SL_ERROR_INIT;
    if (sl_agent_rank_refresh(member->rank, &err) < 0) {
        member->is_broken = true;
        agent->unreadable_cnt++;
        sl__agent_say(agent, "cannot read '%s' any more: %s", member->rank->path, err.text);
    }
    if (member->rank->has_ended && !member->ended_ms)
        member->ended_ms = now_ms;
}

static void refresh_all(sl_agent *agent) {
    int64_t now_ms = sl__agent_mono_ms();
    size_t kept = 0;
    for (size_t i = 0; i < agent->members.cnt; i++)
        find_parent(agent, agent->members.at[i]);
    for (size_t i = 0; i < agent->members.cnt; i++) {
        sl_agent_member *member = agent->members.at[i];
        refresh(agent, member, now_ms);
        if (is_over(agent, member, now_ms))
            free_member(member);
        else
            agent->members.at[kept++] = member;
    }
    agent->members.cnt = kept;
}

void sl__agent_close_members(sl_agent *agent) {
    for (size_t i = 0; i < agent->members.cnt; i++)
        free_member(agent->members.at[i]);
    sl_vec_free(&agent->members);
    sl_vec_free(&agent->seen);
}

sl_status sl__agent_look(sl_agent *agent, sl_error *err) {
    sl_status status = SL_OK;
    pthread_mutex_lock(&agent->mutex);
    agent->round++;
    for (size_t i = 0; i < agent->options->folder_cnt; i++) {
        /* One that is gone does not hide the others; the first is reported. */
        sl_error failed = SL_ERROR_INIT;
        sl_status found =
            sl_agent_scan_folder(agent->options->folders[i], take_path, agent, &failed);
        if (found < 0 && status == SL_OK) {
            *err = failed;
            status = found;
        }
    }
    if (agent->options->folder_cnt)
        forget_gone(agent);
    else
        sl_agent_scan_processes(&agent->scan, agent->options->proc, sl__agent_mono_ms(), take_path,
                                agent);
    refresh_all(agent);
    pthread_mutex_unlock(&agent->mutex);
    return status;
}
