/* SPDX-License-Identifier: MIT */
#include "agent/agent_place.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/order.h"
#include "base/core/str.h"

#define PATH_CAP 512
#define TEXT_CAP ((size_t)256 << 10) /* of an environment */

/* The beginning of a small file, terminated; NULL when it cannot be read. Owned by the caller. */
static char *read_text(const char *path, size_t *len) {
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(TEXT_CAP + 1) : NULL;
    *len = text ? fread(text, 1, TEXT_CAP, file) : 0;
    if (file)
        fclose(file);
    if (text)
        text[*len] = '\0';
    return text;
}

static char *read_of(const char *proc, const char *pid, const char *name, size_t *len) {
    char path[PATH_CAP];
    snprintf(path, sizeof path, "%s/%s/%s", proc, pid, name);
    return read_text(path, len);
}

/* ---- which process ---- */

/* The last number of "NSpid:" is the one inside. Kernels before 4.1 have no such line. */
static bool is_called(const char *proc, const char *dir, uint32_t pid) {
    size_t len;
    bool is_it = false;
    char *status = read_of(proc, dir, "status", &len);
    char *line = status ? strstr(status, "\nNSpid:") : NULL;
    if (line) {
        line += strlen("\nNSpid:");
        line[strcspn(line, "\n")] = '\0';
        char *last = strrchr(line, '\t');
        is_it = strtoul(last ? last : line, NULL, 10) == pid;
    } else {
        is_it = status && strtoul(dir, NULL, 10) == pid;
    }
    free(status);
    return is_it;
}

static bool has_mapped(const char *proc, const char *dir, uint64_t inode) {
    char path[PATH_CAP], *line = NULL;
    size_t cap = 0;
    bool is_found = false;
    snprintf(path, sizeof path, "%s/%s/maps", proc, dir);
    FILE *file = fopen(path, "re");
    while (file && !is_found && getline(&line, &cap, file) > 0) {
        uint64_t found = 0;
        is_found = sscanf(line, "%*s %*s %*s %*s %" SCNu64, &found) == 1 && found == inode;
    }
    free(line);
    if (file)
        fclose(file);
    return is_found;
}

static bool find_process(const char *proc, uint32_t pid, uint64_t inode, char host_pid[24]) {
    DIR *dir = opendir(proc);
    bool is_found = false;
    for (struct dirent *entry; dir && !is_found && (entry = readdir(dir));) {
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name))
            continue;
        is_found = is_called(proc, entry->d_name, pid) && has_mapped(proc, entry->d_name, inode);
        if (is_found)
            snprintf(host_pid, 24, "%.20s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return is_found;
}

/* ---- its environment ---- */

typedef struct environment {
    char *text; /* owned; entries separated by zeros */
    size_t len;
} environment;

static const char *get(const environment *env, const char *name) {
    size_t name_len = strlen(name);
    for (size_t at = 0; at < env->len; at += strlen(env->text + at) + 1)
        if (strncmp(env->text + at, name, name_len) == 0 && env->text[at + name_len] == '=')
            return env->text + at + name_len + 1;
    return NULL;
}

static const char *get_first(const environment *env, const char *const *names) {
    const char *value = NULL;
    for (; *names && !(value && *value); names++)
        value = get(env, *names);
    return value && *value ? value : NULL;
}

static bool set(sl_agent_labels *place, const char *name, const char *value) {
    return !value || sl_agent_labels_set(place, name, sl_str_of(value));
}

/* ---- its container ---- */

/* "…pod1f0f3a1e_9c0e_…" or "…/pod1f0f3a1e-9c0e-…": the UUID with dashes. */
static bool find_pod_uid(const char *cgroup, char uid[37]) {
    for (const char *at = strstr(cgroup, "kubepods") ? strstr(cgroup, "pod") : NULL; at;
         at = strstr(at + 3, "pod")) {
        size_t len = 0;
        for (const char *c = at + 3;
             len < 36 && (isxdigit((unsigned char)*c) || *c == '-' || *c == '_'); c++)
            uid[len++] = *c == '_' ? '-' : *c;
        uid[len] = '\0';
        if (len == 36 && uid[8] == '-' && uid[13] == '-')
            return true;
    }
    return false;
}

/* The first twelve of 64 hexadecimal digits, as `docker ps` shows it. */
static bool find_container(const char *cgroup, char id[13]) {
    for (const char *at = cgroup; *at; at++) {
        size_t len = strspn(at, "0123456789abcdef");
        if (len == 64) {
            snprintf(id, 13, "%.12s", at);
            return true;
        }
        at += len ? len - 1 : 0;
    }
    return false;
}

static bool label_container(const char *proc, const char *host_pid, const environment *env,
                            sl_agent_labels *place) {
    static const char *const pods[] = {"POD_NAME", "MY_POD_NAME", NULL};
    static const char *const spaces[] = {"POD_NAMESPACE", "MY_POD_NAMESPACE", NULL};
    char uid[37], id[13];
    size_t len;
    char *cgroup = read_of(proc, host_pid, "cgroup", &len);
    bool is_pod = cgroup && find_pod_uid(cgroup, uid), has_room = true;
    char *space = is_pod
                      ? read_of(proc, host_pid,
                                "root/var/run/secrets/kubernetes.io/serviceaccount/namespace", &len)
                      : NULL;
    if (is_pod) {
        const char *pod = get_first(env, pods), *given = get_first(env, spaces);
        has_room = set(place, "k8s_pod_uid", uid) &&
                   set(place, "pod", pod ? pod : get(env, "HOSTNAME")) &&
                   set(place, "namespace", given ? given : space);
    }
    const char *container = get(env, "CONTAINER_NAME");
    if (!container && cgroup && find_container(cgroup, id))
        container = id;
    has_room = has_room && set(place, "container", container);
    free(space);
    free(cgroup);
    return has_room;
}

/* ---- its cards ---- */

#define CARDS_MAX 16

typedef struct card {
    int index; /* as nvidia-smi and dcgm-exporter count: by bus */
    char uuid[64];
} card;

typedef struct cards {
    card at[CARDS_MAX];
    size_t cnt;
} cards;

static int keep_bus(const struct dirent *entry) {
    return strchr(entry->d_name, ':') != NULL;
}

/* The driver lists its cards by bus address, with their UUIDs; its library is not needed. */
static void list_cards(const char *proc, cards *out) {
    char path[PATH_CAP];
    struct dirent **names = NULL;
    out->cnt = 0;
    snprintf(path, sizeof path, "%s/driver/nvidia/gpus", proc);
    int cnt = scandir(path, &names, keep_bus, alphasort);
    for (int i = 0; i < cnt; i++) {
        size_t len;
        snprintf(path, sizeof path, "%s/driver/nvidia/gpus/%.64s/information", proc,
                 names[i]->d_name);
        char *text = out->cnt < CARDS_MAX ? read_text(path, &len) : NULL;
        char *uuid = text ? strstr(text, "GPU-") : NULL;
        if (uuid) {
            card *c = &out->at[out->cnt++];
            c->index = i;
            snprintf(c->uuid, sizeof c->uuid, "%.*s", (int)strcspn(uuid, " \t\n"), uuid);
        }
        free(text);
        free(names[i]);
    }
    free(names);
}

/* A card by "2" or by the beginning of its UUID; NULL when there is none. */
static const card *find_card(const cards *all, sl_str word) {
    bool is_number = word.len && strspn(word.ptr, "0123456789") >= word.len;
    size_t number = is_number ? strtoul(word.ptr, NULL, 10) : 0;
    for (size_t i = 0; i < all->cnt; i++)
        if (is_number ? i == number
                      : word.len && sl_str_starts_with(sl_str_of(all->at[i].uuid), word))
            return &all->at[i];
    return NULL;
}

/* The cards of a list such as "1,0" or "GPU-1f…,GPU-2a…", in its order or, for those a container was given, by bus. */
static void choose(const char *list, bool is_by_bus, cards *all) {
    cards chosen = {.cnt = 0};
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ",");
        const card *c = find_card(all, (sl_str){at, len});
        if (!c)
            break; /* CUDA, too, ends the list at the first that it does not know */
        chosen.at[chosen.cnt++] = *c;
        at += len + (at[len] == ',');
        if (chosen.cnt == CARDS_MAX)
            break;
    }
    if (is_by_bus)
        for (size_t i = 0; i < chosen.cnt; i++)
            for (size_t k = i + 1; k < chosen.cnt; k++)
                if (chosen.at[k].index < chosen.at[i].index) {
                    card other = chosen.at[i];
                    chosen.at[i] = chosen.at[k];
                    chosen.at[k] = other;
                }
    *all = chosen;
}

static bool label_cards(const char *proc, const environment *env, sl_agent_labels *place) {
    cards all;
    const char *given = get(env, "NVIDIA_VISIBLE_DEVICES"),
               *visible = get(env, "CUDA_VISIBLE_DEVICES");
    bool has_room = true;
    list_cards(proc, &all);
    if (given && *given && strcmp(given, "all") != 0 && strcmp(given, "void") != 0 &&
        strcmp(given, "none") != 0)
        choose(given, true, &all);
    if (visible)
        choose(visible, false, &all);
    for (size_t i = 0; has_room && i < all.cnt; i++) {
        char name[32];
        snprintf(name, sizeof name, "gpu:%zu", i);
        has_room = sl_agent_labels_set_number(place, name, all.at[i].index);
        snprintf(name, sizeof name, "UUID:%zu", i);
        has_room = has_room && set(place, name, all.at[i].uuid);
    }
    return has_room;
}

bool sl_agent_place_find(const char *proc, uint32_t pid, uint64_t inode, sl_agent_labels *place) {
    char host_pid[24];
    if (!find_process(proc, pid, inode, host_pid))
        return true;
    environment env = {0};
    env.text = read_of(proc, host_pid, "environ", &env.len);
    bool has_room = set(place, "pid", host_pid) && label_container(proc, host_pid, &env, place) &&
                    label_cards(proc, &env, place);
    free(env.text);
    return has_room;
}
