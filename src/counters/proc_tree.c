/* SPDX-License-Identifier: MIT */
#include "counters/proc_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/small_file.h"

#define TEXT_CAP 1024

/* Adds a process's pages; false when it is gone. One that is ending has given its memory back before it is a
 * zombie: it has no pages at all. */
static bool add_pages(int pid, sl_proc_tree *tree) {
    char path[64], text[TEXT_CAP];
    unsigned long long vms = 0, rss = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    if (!sl_small_file_read(path, text, TEXT_CAP) || sscanf(text, "%llu %llu", &vms, &rss) != 2 ||
        vms == 0)
        return false;
    tree->vms_bytes += vms * page;
    tree->rss_bytes += rss * page;
    return true;
}

static bool is_zombie(int pid) {
    char path[64], text[TEXT_CAP];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!sl_small_file_read(path, text, TEXT_CAP))
        return true;
    /* The name in brackets may hold anything; the state is after the last one. */
    const char *name_end = strrchr(text, ')');
    return !name_end || name_end[1] == '\0' || name_end[2] == 'Z' || name_end[2] == 'X';
}

static void add_pid(sl_proc_tree *tree, int pid) {
    if (tree->cnt == SL_PROC_TREE_MAX)
        tree->is_cut = true;
    else
        tree->pids[tree->cnt++] = pid;
}

static void add_children_of_thread(sl_proc_tree *tree, int pid, const char *thread) {
    char path[128];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, thread);
    FILE *in = fopen(path, "re");
    while (in && fscanf(in, "%d", &child) == 1)
        add_pid(tree, child);
    if (in)
        fclose(in);
}

/* Every thread has the children it started. */
static void add_children(sl_proc_tree *tree, int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            add_children_of_thread(tree, pid, entry->d_name);
    if (threads)
        closedir(threads);
}

void sl_proc_tree_read(int pid, sl_proc_tree *tree) {
    tree->cnt = 0;
    tree->is_cut = false;
    tree->rss_bytes = tree->vms_bytes = 0;
    tree->is_alive = !is_zombie(pid);
    if (!tree->is_alive)
        return;
    add_pid(tree, pid);
    for (size_t i = 0; i < tree->cnt; i++)
        if (add_pages(tree->pids[i], tree))
            add_children(tree, tree->pids[i]);
        else if (i == 0)
            tree->is_alive = false;
}

/* "/sys/fs/cgroup/<path of this process>/<name>"; false without version 2. */
static bool cgroup_file(const char *name, char text[TEXT_CAP]) {
    char own[TEXT_CAP], path[TEXT_CAP];
    if (!sl_small_file_read("/proc/self/cgroup", own, TEXT_CAP))
        return false;
    char *line = strstr(own, "0::");
    if (!line)
        return false;
    line[strcspn(line, "\n")] = '\0';
    if ((size_t)snprintf(path, sizeof path, "/sys/fs/cgroup%.900s/%s", line + 3, name) >=
        sizeof path)
        return false;
    return sl_small_file_read(path, text, TEXT_CAP);
}

sl_maybe_u64 sl_host_limit_bytes(void) {
    char text[TEXT_CAP], *end;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return (sl_maybe_u64){0};
    uint64_t limit = (uint64_t)pages * (uint64_t)page;
    if (cgroup_file("memory.max", text)) {
        unsigned long long own = strtoull(text, &end, 10);
        if (end != text && own < limit)
            limit = own;
    }
    return sl_known_u64(limit);
}

sl_maybe_u64 sl_cgroup_oom_kills(void) {
    char text[TEXT_CAP];
    if (!cgroup_file("memory.events", text))
        return (sl_maybe_u64){0};
    const char *line = strstr(text, "oom_kill ");
    return line ? sl_known_u64(strtoull(line + 9, NULL, 10)) : (sl_maybe_u64){0};
}
