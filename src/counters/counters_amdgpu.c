/* SPDX-License-Identifier: MIT */
#include "counters/counters_amdgpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/small_file.h"

#define CARD_MAX 64
#define CLIENT_MAX \
    64 /* openings of one card by one process; more are not counted, see add_opening */
#define OWN_MAX    1024
#define PATH_CAP   512
#define TEXT_CAP   2048
#define VENDOR_AMD "0x1002"

typedef struct card {
    unsigned number;  /* of /sys/class/drm/card<number> */
    char address[32]; /* on the PCI bus: "0000:03:00.0" */
} card;

static const char *sys_root, *proc_root;
static card cards[CARD_MAX]; /* by the program's own numbering */
static int card_cnt;
static int own_pids[OWN_MAX]; /* empty = the calling process */
static size_t own_cnt;

static void set_own(const int *pids, size_t cnt) {
    own_cnt = cnt < OWN_MAX ? cnt : OWN_MAX;
    memcpy(own_pids, pids, own_cnt * sizeof *pids);
}

/* --- Which cards there are -------------------------------------------------------------------- */

static void card_path(char path[PATH_CAP], unsigned number, const char *file) {
    snprintf(path, PATH_CAP, "%s/class/drm/card%u/device/%s", sys_root, number, file);
}

static bool is_amd(unsigned number) {
    char path[PATH_CAP], text[TEXT_CAP];
    card_path(path, number, "vendor");
    return sl_small_file_read(path, text, sizeof text) &&
           strncmp(text, VENDOR_AMD, strlen(VENDOR_AMD)) == 0;
}

/* "device" is a link to the card's place on the bus. */
static void take_address(card *out) {
    char path[PATH_CAP], target[PATH_CAP];
    card_path(path, out->number, "");
    path[strlen(path) - 1] = '\0'; /* of the link itself */
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(out->address, sizeof out->address, "%.31s", slash ? slash + 1 : target);
}

static int compare_cards(const void *a, const void *b) {
    unsigned x = ((const card *)a)->number, y = ((const card *)b)->number;
    return (x > y) - (x < y);
}

/* Entries "card0"; "card0-DP-1" is a connector of it. */
static void find_cards(void) {
    char path[PATH_CAP];
    snprintf(path, sizeof path, "%s/class/drm", sys_root);
    DIR *folder = opendir(path);
    card_cnt = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char *end;
        if (strncmp(entry->d_name, "card", 4) != 0 || card_cnt == CARD_MAX)
            continue;
        unsigned long number = strtoul(entry->d_name + 4, &end, 10);
        if (end == entry->d_name + 4 || *end || !is_amd((unsigned)number))
            continue;
        cards[card_cnt] = (card){.number = (unsigned)number};
        take_address(&cards[card_cnt++]);
    }
    if (folder)
        closedir(folder);
    qsort(cards, (size_t)card_cnt, sizeof cards[0], compare_cards);
}

/* HIP numbers the cards that a variable names from 0, and stops at the first it does not know. */
static void apply_visible(const char *list) {
    card all[CARD_MAX];
    int all_cnt = card_cnt;
    if (!list)
        return;
    memcpy(all, cards, sizeof all);
    card_cnt = 0;
    while (*list && card_cnt < CARD_MAX) {
        char *end;
        unsigned long number = strtoul(list, &end, 10);
        if (end == list || (*end && *end != ',') || number >= (unsigned long)all_cnt)
            return;
        cards[card_cnt++] = all[number];
        list = end + (*end == ',');
    }
}

sl_status sl_counters_amdgpu_open_at(const char *sys, const char *proc, sl_error *err) {
    sys_root = sys;
    proc_root = proc;
    find_cards();
    if (card_cnt == 0)
        return sl_fail(err, SL_E_DEVICE, "no AMD card in %s/class/drm", sys);
    const char *hip = getenv("HIP_VISIBLE_DEVICES");
    apply_visible(getenv("ROCR_VISIBLE_DEVICES"));
    apply_visible(hip ? hip : getenv("CUDA_VISIBLE_DEVICES"));
    return SL_OK;
}

static sl_status open_amdgpu(sl_error *err) {
    return sl_counters_amdgpu_open_at("/sys", "/proc", err);
}

static void close_amdgpu(void) {
    card_cnt = 0;
}

static int count_cards(void) {
    return card_cnt;
}

/* --- The card ----------------------------------------------------------------------------------- */

static sl_maybe_u64 read_number(const char *path) {
    char text[TEXT_CAP], *end;
    if (!sl_small_file_read(path, text, sizeof text))
        return (sl_maybe_u64){0, false};
    unsigned long long value = strtoull(text, &end, 10);
    return end != text ? sl_known_u64(value) : (sl_maybe_u64){0, false};
}

static sl_maybe_u64 read_card(const card *from, const char *file) {
    char path[PATH_CAP];
    card_path(path, from->number, file);
    return read_number(path);
}

/* Sensors lie in the one folder hwmon/hwmon<n>, with n of its own. */
static sl_maybe_u64 read_sensor(const card *from, const char *file, uint64_t divisor) {
    char path[PATH_CAP];
    sl_maybe_u64 value = {0, false};
    card_path(path, from->number, "hwmon");
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !value.known && (entry = readdir(folder)) != NULL;) {
        char part[320];
        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        snprintf(part, sizeof part, "hwmon/%.255s/%s", entry->d_name, file);
        value = read_card(from, part);
    }
    if (folder)
        closedir(folder);
    value.value /= divisor;
    return value;
}

/* --- This process ------------------------------------------------------------------------------- */

/* What one process has open on one card. A file that was opened once and duplicated counts once. */
typedef struct openings {
    const card *card;
    uint64_t clients[CLIENT_MAX];
    size_t client_cnt;
    uint64_t bytes;
    bool is_any;
} openings;

/* The text after "key:" at the start of a line, without the blanks; NULL when there is no such
 * line. */
static const char *find_value(const char *text, const char *key) {
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " \t");
    }
    return NULL;
}

static bool is_new_client(openings *seen, uint64_t client) {
    for (size_t i = 0; i < seen->client_cnt; i++)
        if (seen->clients[i] == client)
            return false;
    if (seen->client_cnt == CLIENT_MAX)
        return false;
    seen->clients[seen->client_cnt++] = client;
    return true;
}

/* "drm-memory-vram:\t2048 KiB"; the unit may be KiB, MiB or absent. */
static uint64_t take_bytes(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    end += strspn(end, " ");
    unsigned shift = strncmp(end, "KiB", 3) == 0 ? 10 : strncmp(end, "MiB", 3) == 0 ? 20 : 0;
    return value << shift;
}

static void add_opening(openings *seen, const char *text) {
    const char *address = find_value(text, "drm-pdev"), *client = find_value(text, "drm-client-id");
    const char *bytes = find_value(text, "drm-memory-vram");
    size_t len = strlen(seen->card->address);
    if (!address || !bytes || !len || strncmp(address, seen->card->address, len) != 0)
        return;
    seen->is_any = true;
    if (is_new_client(seen, client ? strtoull(client, NULL, 10) : 0))
        seen->bytes += take_bytes(bytes);
}

static void add_process(openings *seen, const char *process) {
    char path[PATH_CAP], text[TEXT_CAP];
    snprintf(path, sizeof path, "%s/%s/fdinfo", proc_root, process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/fdinfo/%.32s", proc_root, process, entry->d_name);
        if (sl_small_file_read(path, text, sizeof text))
            add_opening(seen, text);
    }
    if (folder)
        closedir(folder);
}

static void read_process(const card *from, sl_device_sample *sample) {
    openings seen = {.card = from};
    char process[32];
    if (own_cnt == 0)
        add_process(&seen, "self");
    for (size_t i = 0; i < own_cnt; i++) {
        snprintf(process, sizeof process, "%d", own_pids[i]);
        add_process(&seen, process);
    }
    if (seen.is_any)
        sample->process_bytes = sl_known_u64(seen.bytes);
    else
        sample->process_why = "the kernel does not report this process's memory on the card";
}

static sl_status read_device(int device, sl_device_sample *sample, sl_error *err) {
    *sample = (sl_device_sample){0};
    if (device < 0 || device >= card_cnt)
        return sl_fail(err, SL_E_DEVICE, "there is no AMD card %d; %d are visible", device,
                       card_cnt);
    const card *from = &cards[device];
    sample->used_bytes = read_card(from, "mem_info_vram_used");
    sample->total_bytes = read_card(from, "mem_info_vram_total");
    sample->utilization_pct = read_card(from, "gpu_busy_percent");
    sample->temperature_c = read_sensor(from, "temp1_input", 1000);
    sample->power_mw = read_sensor(from, "power1_average", 1000);
    read_process(from, sample);
    return SL_OK;
}

const sl_counters_ops sl_counters_amdgpu = {
    .name = "amdgpu",
    .open = open_amdgpu,
    .count = count_cards,
    .read = read_device,
    .close = close_amdgpu,
    .set_own = set_own,
};
