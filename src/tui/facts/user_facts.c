/* SPDX-License-Identifier: MIT */
#include "tui/facts/user_facts.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/str.h"
#include "base/text/term.h"
#include "counters/counters.h"
#include "tui/facts/job_words.h"
#include "tui/facts/machine_facts.h"

#define PROCESSES_MAX 128

int64_t sl_tui_user_growth(const sl_tui_user *user) {
    return user->bytes.known ? (int64_t)user->bytes.value - (int64_t)user->first_bytes : 0;
}

/* ---- who it is ---- */

static void read_command(sl_tui_user *user) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", user->pid);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(user->command, 1, sizeof user->command - 1, file) : 0;
    if (file)
        fclose(file);
    while (len && !user->command[len - 1])
        len--;
    for (size_t i = 0; i < len; i++)
        if (!user->command[i])
            user->command[i] = ' ';
    user->command[len] = '\0';
    sl_term_clean(user->command);
}

static void read_owner(sl_tui_user *user) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d", user->pid);
    if (stat(path, &info) != 0)
        return;
    const struct passwd *row = getpwuid(info.st_uid);
    if (row)
        snprintf(user->owner, sizeof user->owner, "%.31s", row->pw_name);
    else
        snprintf(user->owner, sizeof user->owner, "%u", (unsigned)info.st_uid);
}

static sl_maybe_u64 resident_bytes(int pid) {
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    int found = file ? fscanf(file, "%*s %llu", &pages) : 0;
    if (file)
        fclose(file);
    if (found != 1)
        return (sl_maybe_u64){0};
    return sl_known_u64((uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

/* ---- the list ---- */

/* The row of a process; a new one where there is room, or in place of one that ended. */
static sl_tui_user *find_row(sl_tui_users *users, int pid, int card) {
    sl_tui_user *place = NULL;
    for (size_t i = 0; i < users->cnt; i++) {
        sl_tui_user *row = &users->rows[i];
        if (row->pid == pid && row->card == card)
            return row;
        if (row->is_gone)
            place = row;
    }
    if (users->cnt < SL_TUI_USERS_MAX)
        place = &users->rows[users->cnt++];
    if (!place)
        return NULL;
    memset(place, 0, sizeof *place);
    place->pid = pid, place->card = card;
    read_command(place);
    read_owner(place);
    sl_job_of_process(place->job, pid);
    return place;
}

static void note_bytes(sl_tui_users *users, int pid, int card, sl_maybe_u64 bytes,
                       bool is_recorded) {
    sl_tui_user *row = find_row(users, pid, card);
    if (!row)
        return;
    row->is_gone = false;
    row->is_recorded |= is_recorded;
    row->bytes = bytes;
    if (!bytes.known)
        return;
    if (row->history_cnt == 0)
        row->first_bytes = bytes.value;
    if (row->history_cnt == SL_TUI_HISTORY) {
        memmove(row->history, row->history + 1, (SL_TUI_HISTORY - 1) * sizeof *row->history);
        row->history_cnt--;
    }
    row->history[row->history_cnt++] = (double)bytes.value;
}

static void read_cards(sl_tui_users *users) {
    sl_device_process found[PROCESSES_MAX];
    const sl_counters_ops *ops = sl_machine_cards(NULL);
    users->problem = NULL;
    if (!ops || !ops->list) {
        users->problem = ops ? "this driver does not list the processes of a card" : NULL;
        return;
    }
    for (int card = 0; card < ops->count(); card++) {
        size_t cnt = 0;
        if (ops->list(card, found, PROCESSES_MAX, &cnt, NULL) < 0)
            users->problem = "the driver does not list the processes of a card";
        for (size_t i = 0; i < cnt; i++)
            note_bytes(users, found[i].pid, card, found[i].bytes, false);
    }
}

static bool is_on_a_card(sl_tui_users *users, int pid) {
    for (size_t i = 0; i < users->cnt; i++)
        if (users->rows[i].pid == pid && users->rows[i].card >= 0 && !users->rows[i].is_gone)
            return users->rows[i].is_recorded = true;
    return false;
}

void sl_user_facts_read(sl_tui_users *users, const sl_tui_source *live) {
    for (size_t i = 0; i < users->cnt; i++)
        users->rows[i].is_gone = true;
    read_cards(users);
    for (size_t i = 0; live && i < live->processes.cnt; i++) {
        const sl_tui_process *process = &live->processes.at[i];
        if (!process->is_live || !process->pid.known)
            continue;
        int pid = (int)process->pid.value;
        sl_maybe_u64 bytes = resident_bytes(pid);
        if (bytes.known && !is_on_a_card(users, pid))
            note_bytes(users, pid, -1, bytes, true);
    }
}

/* ---- order ---- */

static int compare_bytes(const void *a, const void *b) {
    const sl_tui_user *x = a, *y = b;
    if (x->is_gone != y->is_gone)
        return x->is_gone ? 1 : -1;
    if (x->bytes.value != y->bytes.value)
        return x->bytes.value < y->bytes.value ? 1 : -1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int compare_growth(const void *a, const void *b) {
    int64_t x = sl_tui_user_growth(a), y = sl_tui_user_growth(b);
    bool is_x_gone = ((const sl_tui_user *)a)->is_gone;
    if (is_x_gone != ((const sl_tui_user *)b)->is_gone)
        return is_x_gone ? 1 : -1;
    return x != y ? (x < y ? 1 : -1) : compare_bytes(a, b);
}

void sl_user_facts_sort(sl_tui_users *users, bool by_growth) {
    qsort(users->rows, users->cnt, sizeof *users->rows, by_growth ? compare_growth : compare_bytes);
}
