/* SPDX-License-Identifier: MIT */
#include "agent/agent_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/str.h"
#include "base/files/file_atomic.h"

#define FIRST_LINE  "stormlog-agent-state 1"
#define KEPT_MS     (INT64_C(7) * 24 * 3600 * 1000)
#define STATE_MAX   ((size_t)64 << 20)
#define ENTRIES_MAX 1000000u
#define PATH_CAP    2048

static sl_status no_memory(sl_error *err) {
    return sl_fail_no_memory(err, "the agent's cursors");
}

/* ---- lookup ---- */

static bool is_key(const sl_agent_key *a, const sl_agent_key *b) {
    return a->start_wall_ns == b->start_wall_ns && a->pid == b->pid && a->host_hash == b->host_hash;
}

const sl_agent_entry *sl_agent_state_find(const sl_agent_state *state, const sl_agent_key *key) {
    for (size_t i = 0; i < state->entries.cnt; i++)
        if (is_key(&state->entries.at[i].key, key))
            return &state->entries.at[i];
    return NULL;
}

sl_agent_entry *sl_agent_state_entry(sl_agent_state *state, const sl_agent_key *key) {
    const sl_agent_entry *found = sl_agent_state_find(state, key);
    if (found)
        return state->entries.at + (found - state->entries.at);
    sl_agent_entry entry = {.key = *key};
    return sl_vec_push(&state->entries, entry) ? &state->entries.at[state->entries.cnt - 1] : NULL;
}

const sl_agent_cursor *sl_agent_entry_find(const sl_agent_entry *entry, uint64_t sink) {
    for (size_t i = 0; i < entry->cursors.cnt; i++)
        if (entry->cursors.at[i].sink == sink)
            return &entry->cursors.at[i];
    return NULL;
}

sl_agent_cursor *sl_agent_entry_cursor(sl_agent_entry *entry, uint64_t sink) {
    const sl_agent_cursor *found = sl_agent_entry_find(entry, sink);
    if (found)
        return entry->cursors.at + (found - entry->cursors.at);
    sl_agent_cursor cursor = {.sink = sink};
    return sl_vec_push(&entry->cursors, cursor) ? &entry->cursors.at[entry->cursors.cnt - 1] : NULL;
}

static uint64_t hash(uint64_t h, const char *text) {
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t sl_agent_sink_id(const char *form, const char *url) {
    return hash(hash(hash(UINT64_C(0xcbf29ce484222325), form), " "), url);
}

static void free_entry(sl_agent_entry *entry) {
    sl_agent_labels_fini(&entry->place);
    sl_vec_free(&entry->cursors);
}

void sl_agent_state_fini(sl_agent_state *state) {
    for (size_t i = 0; i < state->entries.cnt; i++)
        free_entry(&state->entries.at[i]);
    sl_vec_free(&state->entries);
}

void sl_agent_state_prune(sl_agent_state *state, int64_t now_ms) {
    size_t kept = 0;
    for (size_t i = 0; i < state->entries.cnt; i++) {
        if (now_ms - state->entries.at[i].seen_ms > KEPT_MS)
            free_entry(&state->entries.at[i]);
        else
            state->entries.at[kept++] = state->entries.at[i];
    }
    state->entries.cnt = kept;
}

/* ---- reading ---- */

typedef enum line_result { LINE_GOOD, LINE_BAD, LINE_NO_MEMORY } line_result;

static line_result take_recording(sl_agent_state *state, const char *line) {
    sl_agent_entry entry = {0};
    int end = 0;
    if (sscanf(line, "rec %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNd64 "%n",
               &entry.key.start_wall_ns, &entry.key.pid, &entry.key.host_hash, &entry.seen_ms,
               &end) != 4 ||
        line[end] || state->entries.cnt >= ENTRIES_MAX)
        return LINE_BAD;
    return sl_vec_push(&state->entries, entry) ? LINE_GOOD : LINE_NO_MEMORY;
}

static line_result take_cursor(sl_agent_entry *entry, const char *line) {
    uint64_t sink;
    int64_t at_ms;
    unsigned is_done;
    int end = 0;
    if (sscanf(line, "at %" SCNx64 " %" SCNd64 " %u%n", &sink, &at_ms, &is_done, &end) != 3 ||
        line[end] || at_ms < 0 || is_done > 1 || entry->cursors.cnt > 64)
        return LINE_BAD;
    sl_agent_cursor *cursor = sl_agent_entry_cursor(entry, sink);
    if (!cursor)
        return LINE_NO_MEMORY;
    *cursor = (sl_agent_cursor){sink, at_ms, is_done == 1};
    return LINE_GOOD;
}

static line_result take_label(sl_agent_entry *entry, char *line) {
    char *name = line + strlen("label "), *equals = strchr(name, '=');
    if (!equals || equals == name || entry->place.list.cnt > 128)
        return LINE_BAD;
    *equals = '\0';
    return sl_agent_labels_set(&entry->place, name, sl_str_of(equals + 1)) ? LINE_GOOD
                                                                           : LINE_NO_MEMORY;
}

static line_result take_line(sl_agent_state *state, char *line) {
    if (strncmp(line, "rec ", 4) == 0)
        return take_recording(state, line);
    if (state->entries.cnt == 0)
        return LINE_BAD;
    sl_agent_entry *entry = &state->entries.at[state->entries.cnt - 1];
    if (strncmp(line, "at ", 3) == 0)
        return take_cursor(entry, line);
    return strncmp(line, "label ", 6) == 0 ? take_label(entry, line) : LINE_BAD;
}

/* Reads line by line from a copy, which it may change. */
static sl_status take_lines(sl_agent_state *state, char *text, const char *name, sl_error *err) {
    unsigned number = 1;
    for (char *line = text, *next; line && *line; line = next, number++) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        line_result result = number > 1                      ? take_line(state, line)
                             : strcmp(line, FIRST_LINE) == 0 ? LINE_GOOD
                                                             : LINE_BAD;
        if (result == LINE_NO_MEMORY)
            return no_memory(err);
        if (result == LINE_BAD || !end)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s', line %u: expected %s, found '%.40s'; remove the file to send "
                           "recordings again from their beginning",
                           name, number, number > 1 ? "rec, at or label" : FIRST_LINE, line);
    }
    return SL_OK;
}

sl_status sl_agent_state_parse(sl_agent_state *state, const char *text, size_t len,
                               const char *name, sl_error *err) {
    char *copy = malloc(len + 1);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, len);
    copy[len] = '\0';
    sl_status status = take_lines(state, copy, name, err);
    free(copy);
    return status;
}

sl_status sl_agent_state_load(sl_agent_state *state, const char *folder, sl_error *err) {
    char path[PATH_CAP];
    struct stat st;
    snprintf(path, sizeof path, "%s/" SL_AGENT_STATE_NAME, folder);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? SL_OK : sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", path);
    size_t size = fstat(fileno(file), &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    sl_status status = SL_OK;
    char *text = size <= STATE_MAX ? malloc(size + 1) : NULL;
    if (!text)
        status =
            sl_fail(err, SL_E_LIMIT, "'%s': expected at most 64 MiB, found %zu bytes", path, size);
    else
        status = sl_agent_state_parse(state, text, fread(text, 1, size, file), path, err);
    free(text);
    fclose(file);
    return status;
}

/* ---- writing ---- */

static void print_entry(const sl_agent_entry *entry, FILE *to) {
    fprintf(to, "rec %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRId64 "\n", entry->key.start_wall_ns,
            entry->key.pid, entry->key.host_hash, entry->seen_ms);
    for (size_t i = 0; i < entry->cursors.cnt; i++)
        fprintf(to, "at %" PRIx64 " %" PRId64 " %d\n", entry->cursors.at[i].sink,
                entry->cursors.at[i].at_ms, entry->cursors.at[i].is_done);
    for (size_t i = 0; i < entry->place.list.cnt; i++)
        fprintf(to, "label %s=%s\n", entry->place.list.at[i].name, entry->place.list.at[i].value);
}

sl_status sl_agent_state_print(const sl_agent_state *state, char **text, size_t *len,
                               sl_error *err) {
    FILE *to = open_memstream(text, len);
    if (!to)
        return no_memory(err);
    fputs(FIRST_LINE "\n", to);
    for (size_t i = 0; i < state->entries.cnt; i++)
        print_entry(&state->entries.at[i], to);
    return fclose(to) == 0 ? SL_OK : no_memory(err);
}

sl_status sl_agent_state_write(const char *folder, const char *text, size_t len, sl_error *err) {
    char path[PATH_CAP];
    sl_file_out out;
    snprintf(path, sizeof path, "%s/" SL_AGENT_STATE_NAME, folder);
    SL_TRY(sl_file_out_open(&out, path, err));
    if (fwrite(text, 1, len, out.stream) != len) {
        sl_status status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

/* ---- the lock ---- */

static sl_status make_folder(const char *folder, sl_error *err) {
    char path[PATH_CAP];
    if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path)
        return sl_fail(err, SL_E_USAGE, "the path of the state folder is too long");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* what is really missing shows in the last one */
        *slash = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return sl_fail_errno(err, SL_E_WRITE, "cannot make the state folder '%s'", folder);
    return SL_OK;
}

static sl_status refuse_second(int fd, const char *folder, sl_error *err) {
    char owner[24] = "";
    ssize_t len = pread(fd, owner, sizeof owner - 1, 0);
    owner[len > 0 ? strspn(owner, "0123456789") : 0] = '\0';
    close(fd);
    return sl_fail(err, SL_E_BUSY,
                   "another agent%s%s%s uses the state folder '%s'; stop it, or give --state",
                   owner[0] ? ", process " : "", owner, owner[0] ? "," : "", folder);
}

sl_status sl_agent_state_lock(const char *folder, int *lock_fd, sl_error *err) {
    char path[PATH_CAP + 16];
    SL_TRY(make_folder(folder, err));
    snprintf(path, sizeof path, "%s/" SL_AGENT_LOCK_NAME, folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot open '%s'", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return refuse_second(fd, folder, err);
    /* Only for the message above: a full disk must not keep the agent from starting. */
    if (ftruncate(fd, 0) == 0)
        dprintf(fd, "%d\n", (int)getpid());
    *lock_fd = fd;
    return SL_OK;
}
