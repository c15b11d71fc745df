/* SPDX-License-Identifier: MIT */
#include "run/process_tree.h"

#include <stdio.h>
#include <string.h>

#include "base/core/str.h"

static const struct {
    const char *name, *one, *many;
} roles[SL_PROCESS_ROLE_LIMIT] = {
#define SL_PROCESS_ROLE_ROW(enumerator, text, one, many) {text, one, many},
    SL_PROCESS_ROLE_MAP(SL_PROCESS_ROLE_ROW)
#undef SL_PROCESS_ROLE_ROW
};

const char *sl_process_role_name(sl_process_role role) {
    return roles[role].name;
}

const char *sl_process_role_words(sl_process_role role, size_t cnt) {
    return cnt == 1 ? roles[role].one : roles[role].many;
}

static const struct {
    const char *name, *words;
} ends[SL_PROCESS_END_LIMIT] = {
#define SL_PROCESS_END_ROW(enumerator, text, words) {text, words},
    SL_PROCESS_END_MAP(SL_PROCESS_END_ROW)
#undef SL_PROCESS_END_ROW
};

const char *sl_process_end_name(sl_process_end end) {
    return ends[end].name;
}

const char *sl_process_end_words(sl_process_end end) {
    return ends[end].words;
}

/* Arguments are separated by one blank, so a script whose path has one shows its last word. */
sl_str sl_process_name(const sl_process *process) {
    sl_str name = {"", 0};
    for (const char *at = process->command; *at;) {
        size_t len = strcspn(at, " ");
        bool is_script =
            at[0] != '-' && len > 3 && sl_str_ends_with((sl_str){at, len}, SL_STR(".py"));
        if (is_script || at == process->command)
            name = sl_str_base_name((sl_str){at, len});
        if (is_script)
            break;
        at += len;
        at += strspn(at, " ");
    }
    return name;
}

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

bool sl_process_is_same_run(const sl_trace *a, const sl_trace *b) {
    size_t len = folder_length(a->path);
    return a->process.is_known && b->process.is_known && len == folder_length(b->path) &&
           memcmp(a->path, b->path, len) == 0;
}

static bool is_same_host(const sl_trace *a, const sl_trace *b) {
    return sl_process_is_same_run(a, b) && strcmp(a->process.host, b->process.host) == 0;
}

/* (P1) */
static uint32_t find_parent(const sl_trace *const *traces, size_t cnt, size_t child) {
    const sl_process *own = &traces[child]->process;
    uint32_t best = SL_IDX_NONE;
    for (size_t i = 0; i < cnt && own->parent_pid; i++) {
        const sl_process *other = &traces[i]->process;
        if (i == child || other->pid != own->parent_pid || other->start_us > own->start_us ||
            !is_same_host(traces[i], traces[child]))
            continue;
        if (best == SL_IDX_NONE || other->start_us >= traces[best]->process.start_us)
            best = (uint32_t)i;
    }
    return best;
}

/* A process keeps its number over an exec, and its next recording is a new one. */
static bool is_replaced(const sl_trace *const *traces, size_t cnt, size_t idx) {
    const sl_process *own = &traces[idx]->process;
    if (own->end != SL_PROCESS_END_KILLED)
        return false;
    for (size_t i = 0; i < cnt; i++)
        if (i != idx && traces[i]->process.pid == own->pid &&
            traces[i]->process.parent_pid == own->parent_pid &&
            traces[i]->process.start_us > own->start_us && is_same_host(traces[i], traces[idx]))
            return true;
    return false;
}

static bool is_same_program(const sl_process *parent, const sl_process *child) {
    return strcmp(parent->command, child->command) == 0 ||
           strstr(child->command, "multiprocessing.spawn") ||
           strstr(child->command, "multiprocessing.forkserver");
}

/* (P3) */
static bool has_own_rank(const sl_trace *const *traces, const sl_process_place *places,
                         size_t idx) {
    const sl_maybe_i32 own = traces[idx]->process.rank;
    if (!own.known)
        return false;
    for (uint32_t at = places[idx].parent; at != SL_IDX_NONE; at = places[at].parent)
        if (traces[at]->process.rank.known && traces[at]->process.rank.value == own.value)
            return false;
    return true;
}

static sl_process_role find_role(const sl_trace *const *traces, const sl_process_place *places,
                                 size_t idx) {
    const sl_process *own = &traces[idx]->process;
    const sl_process_place *place = &places[idx];
    if (!own->is_known)
        return SL_PROCESS_NONE;
    if (own->is_loader_worker)
        return SL_PROCESS_WORKER;
    if (place->end == SL_PROCESS_END_REPLACED)
        return SL_PROCESS_HELPER;
    if (has_own_rank(traces, places, idx))
        return SL_PROCESS_RANK;
    if (place->parent == SL_IDX_NONE)
        return SL_PROCESS_MAIN;
    return is_same_program(&traces[place->parent]->process, own) ? SL_PROCESS_CHILD
                                                                 : SL_PROCESS_HELPER;
}

/* Parents began before their children, or in the same microsecond: a damaged file could make a ring of
 * those, so the way up is as long as there are processes. */
static void cut_rings(sl_process_place *places, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        uint32_t at = places[i].parent;
        for (; at != SL_IDX_NONE && places[i].depth <= cnt; at = places[at].parent)
            places[i].depth++;
        if (at == SL_IDX_NONE)
            continue;
        places[i].parent = SL_IDX_NONE;
        places[i].depth = 0;
    }
}

void sl_process_tree_find(const sl_trace *const *traces, size_t cnt, sl_process_place *places) {
    for (size_t i = 0; i < cnt; i++)
        places[i] = (sl_process_place){.parent = find_parent(traces, cnt, i),
                                       .end = is_replaced(traces, cnt, i) ? SL_PROCESS_END_REPLACED
                                                                          : traces[i]->process.end};
    cut_rings(places, cnt);
    for (size_t i = 0; i < cnt; i++)
        places[i].role = find_role(traces, places, i);
}

const char *sl_process_label(char buf[SL_PROCESS_LABEL_CAP], const sl_trace *trace,
                             const sl_process_place *place) {
    const sl_process *process = &trace->process;
    sl_str name = sl_process_name(process);
    const char *words = sl_process_role_words(place->role, 1);
    if (place->role == SL_PROCESS_RANK)
        snprintf(buf, SL_PROCESS_LABEL_CAP, "%s %d", words, (int)process->rank.value);
    else if (place->role == SL_PROCESS_WORKER || name.len == 0)
        snprintf(buf, SL_PROCESS_LABEL_CAP, "%s %u", words, (unsigned)process->pid);
    else
        snprintf(buf, SL_PROCESS_LABEL_CAP, "%s %u (%.*s)", words, (unsigned)process->pid,
                 (int)(name.len < 60 ? name.len : 60), name.ptr);
    return buf;
}
