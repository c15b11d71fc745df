/* SPDX-License-Identifier: MIT */
#include "export/bundle/oom_bundle.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/vec.h"
#include "base/text/json_out.h"
#include "telemetry/telemetry_out.h"

#define PREFIX  "oom_dump_"
#define SEQ_MAX 100000

/* ---- the files ---- */

static void put_text(sl_json_out *json, const char *key, const char *text) {
    sl_json_key(json, key);
    sl_json_cstr(json, text);
}

static void put_int(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    sl_json_i64(json, value);
}

static void put_or_null(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    if (value == SL_TM_NULL)
        sl_json_null(json);
    else
        sl_json_i64(json, value);
}

static void put_id(sl_json_out *json, const char *key, const sl_telemetry *set, uint32_t id) {
    sl_json_key(json, key);
    if (id == SL_TM_NO_TEXT)
        sl_json_null(json);
    else
        sl_json_str(json, sl_tm_text(set, id));
}

/* The names of the bundle's events are those of the Python tool's own tracker. */
static void put_event(sl_json_out *json, const sl_oom_bundle *b, const sl_telemetry *set,
                      const sl_tm_record *r) {
    sl_json_begin_object(json);
    sl_json_key(json, "timestamp");
    sl_json_f64(json, (double)r->timestamp_ns / 1e9);
    put_id(json, "event_type", set, r->event_type);
    put_int(json, "memory_allocated", r->allocated_bytes);
    put_int(json, "memory_reserved", r->reserved_bytes);
    put_int(json, "memory_change", r->change_bytes);
    put_int(json, "device_id", r->device_id);
    put_id(json, "context", set, r->context);
    put_id(json, "job_id", set, r->job_id);
    put_int(json, "rank", r->rank);
    put_int(json, "local_rank", r->local_rank);
    put_int(json, "world_size", r->world_size);
    sl_json_key(json, "metadata");
    sl_json_embed(json, sl_tm_metadata(set, r));
    put_or_null(json, "active_memory", r->active_bytes);
    put_or_null(json, "inactive_memory", r->inactive_bytes);
    put_int(json, "device_used", r->used_bytes);
    put_or_null(json, "device_free", r->free_bytes);
    put_or_null(json, "device_total", r->total_bytes);
    put_text(json, "backend", b->backend);
    sl_json_end_object(json);
}

static void put_object(sl_json_out *json, const char *key, const char *object) {
    sl_json_key(json, key);
    sl_json_embed(json, object ? (sl_str){object, strlen(object)} : SL_STR("{}"));
}

static void write_metadata(sl_json_out *json, const sl_oom_bundle *b, size_t cnt) {
    sl_json_begin_object(json);
    put_text(json, "reason", b->reason);
    put_text(json, "exception_type", b->exception_type);
    put_text(json, "exception_module", b->exception_module);
    put_text(json, "exception_message", b->exception_message);
    put_text(json, "context", b->context);
    put_text(json, "backend", b->backend);
    put_int(json, "captured_event_count", (int64_t)cnt);
    put_object(json, "custom_metadata", b->custom_metadata_json);
    sl_json_end_object(json);
}

static void write_environment(sl_json_out *json, const sl_oom_bundle *b, size_t cnt) {
    char cwd[SL_BUNDLE_PATH_CAP];
    SL_UNUSED(cnt);
    sl_json_begin_object(json);
    put_int(json, "pid", b->pid);
    put_text(json, "cwd", b->cwd ? b->cwd : getcwd(cwd, sizeof cwd));
    put_object(json, "system", b->system_json);
    sl_json_end_object(json);
}

static const char *const file_names[] = {"manifest.json", "events.json", "metadata.json",
                                         "environment.json"};

static void write_manifest(sl_json_out *json, const sl_oom_bundle *b, const char *name,
                           size_t cnt) {
    char created[32];
    time_t seconds = (time_t)b->time_s;
    struct tm utc;
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    sl_json_begin_object(json);
    put_int(json, "schema_version", 1);
    put_text(json, "bundle_name", name);
    put_text(json, "created_at_utc", created);
    put_text(json, "reason", b->reason);
    put_text(json, "backend", b->backend);
    put_int(json, "event_count", (int64_t)cnt);
    sl_json_key(json, "files");
    sl_json_begin_array(json);
    for (size_t i = 0; i < SL_COUNT_OF(file_names); i++)
        sl_json_cstr(json, file_names[i]);
    for (size_t i = 0; i < b->part_cnt; i++)
        sl_json_cstr(json, b->parts[i].name);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

/* What a file is made of. */
typedef struct content {
    const sl_oom_bundle *bundle;
    const sl_telemetry *set;
    const sl_tm_record *const *records;
    size_t cnt;
    const char *name; /* of the bundle */
} content;

static void write_file(sl_json_out *json, const content *c, const char *file) {
    if (strcmp(file, "events.json") == 0) {
        sl_json_begin_array(json);
        for (size_t i = 0; i < c->cnt; i++)
            put_event(json, c->bundle, c->set, c->records[i]);
        sl_json_end_array(json);
    } else if (strcmp(file, "metadata.json") == 0) {
        write_metadata(json, c->bundle, c->cnt);
    } else if (strcmp(file, "environment.json") == 0) {
        write_environment(json, c->bundle, c->cnt);
    } else {
        write_manifest(json, c->bundle, c->name, c->cnt);
    }
}

static sl_status write_json_file(sl_bundle_folder *folder, const content *c, const char *name,
                                 sl_error *err) {
    sl_json_out json;
    FILE *file = sl_bundle_file(folder, name, err);
    if (!file)
        return SL_E_WRITE;
    sl_json_init(&json, file, 2);
    write_file(&json, c, name);
    return sl_bundle_close_file(file, name, err);
}

static sl_status write_part(sl_bundle_folder *folder, const sl_bundle_part *part, sl_error *err) {
    FILE *file = sl_bundle_file(folder, part->name, err);
    if (!file)
        return SL_E_WRITE;
    sl_status status = part->write(part->self, file, err);
    sl_status closed = sl_bundle_close_file(file, part->name, status < 0 ? NULL : err);
    return status < 0 ? status : closed;
}

/* The manifest is written last: a bundle that has one is complete. */
static sl_status write_files(sl_bundle_folder *folder, const content *c, sl_error *err) {
    static const char *const first[] = {"events.json", "metadata.json", "environment.json"};
    for (size_t i = 0; i < SL_COUNT_OF(first); i++)
        SL_TRY(write_json_file(folder, c, first[i], err));
    for (size_t i = 0; i < c->bundle->part_cnt; i++)
        SL_TRY(write_part(folder, &c->bundle->parts[i], err));
    return write_json_file(folder, c, "manifest.json", err);
}

/* ---- the name ---- */

static void clean_backend(const char *backend, char out[32]) {
    size_t len = 0;
    for (; *backend && len < 31; backend++) {
        bool is_plain = (*backend >= 'a' && *backend <= 'z') ||
                        (*backend >= 'A' && *backend <= 'Z') ||
                        (*backend >= '0' && *backend <= '9') || *backend == '_' || *backend == '-';
        if (is_plain || !len || out[len - 1] != '_')
            out[len++] = is_plain ? *backend : '_';
    }
    out[len] = '\0';
    if (!len)
        snprintf(out, 32, "unknown");
}

/* The first free name. */
static sl_status open_folder(const sl_oom_bundle *b, sl_bundle_folder *folder,
                             char name[SL_BUNDLE_NAME_CAP], sl_error *err) {
    char stamp[32], backend[32];
    time_t seconds = (time_t)b->time_s;
    struct tm utc;
    if (b->name) {
        snprintf(name, SL_BUNDLE_NAME_CAP, "%s", b->name);
        return sl_bundle_open(folder, b->dump_dir, name, err);
    }
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &utc));
    clean_backend(b->backend, backend);
    for (int seq = 1; seq < SEQ_MAX; seq++) {
        snprintf(name, SL_BUNDLE_NAME_CAP, PREFIX "%s_%d_%s_%d", stamp, b->pid, backend, seq);
        sl_status status = sl_bundle_open(folder, b->dump_dir, name, err);
        if (status != SL_E_OPEN)
            return status;
    }
    return sl_fail(err, SL_E_LIMIT, "too many bundles of one second in '%s'", b->dump_dir);
}

sl_status sl_oom_bundle_write(const sl_oom_bundle *bundle, const sl_telemetry *set,
                              const sl_tm_record *const *records, size_t cnt,
                              char path[SL_BUNDLE_PATH_CAP], sl_error *err) {
    sl_bundle_folder folder;
    char name[SL_BUNDLE_NAME_CAP];
    SL_TRY(open_folder(bundle, &folder, name, err));
    content c = {bundle, set, records, cnt, name};
    sl_status status = write_files(&folder, &c, err);
    if (status < 0) {
        sl_bundle_abandon(&folder);
        return status;
    }
    snprintf(path, SL_BUNDLE_PATH_CAP, "%s", folder.path);
    SL_TRY(sl_bundle_commit(&folder, err));
    sl_oom_bundle_retain(bundle->dump_dir, bundle->max_dumps, bundle->max_total_mb, name);
    return SL_OK;
}

/* ---- retention ---- */

typedef struct old_bundle {
    char name[200];
    struct timespec changed;
    int64_t bytes;
} old_bundle;

static int64_t folder_bytes(const char *path) {
    int64_t sum = 0;
    struct stat info;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            sum += info.st_size;
    if (dir)
        closedir(dir);
    return sum;
}

static int compare_age(const void *a, const void *b) {
    const old_bundle *x = a, *y = b;
    if (x->changed.tv_sec != y->changed.tv_sec)
        return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
    if (x->changed.tv_nsec != y->changed.tv_nsec)
        return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

typedef SL_VEC(old_bundle) old_bundles;

/* All bundles but the newest, oldest first; *newest_bytes is what that one takes. */
static void list_bundles(const char *dump_dir, const char *newest, old_bundles *out,
                         int64_t *newest_bytes) {
    DIR *dir = opendir(dump_dir);
    *newest_bytes = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[SL_BUNDLE_PATH_CAP];
        struct stat info;
        old_bundle found = {0};
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            strlen(entry->d_name) >= sizeof found.name)
            continue;
        snprintf(path, sizeof path, "%s/%.199s", dump_dir, entry->d_name);
        if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
            continue;
        found.changed = info.st_mtim;
        found.bytes = folder_bytes(path);
        snprintf(found.name, sizeof found.name, "%.199s", entry->d_name);
        if (strcmp(found.name, newest) == 0)
            *newest_bytes = found.bytes;
        else if (!sl_vec_push(out, found))
            break;
    }
    if (dir)
        closedir(dir);
    if (out->cnt)
        qsort(out->at, out->cnt, sizeof *out->at, compare_age);
}

size_t sl_oom_bundle_retain(const char *dump_dir, int64_t max_dumps, int64_t max_total_mb,
                            const char *newest) {
    old_bundles old = {0};
    int64_t total;
    size_t removed = 0;
    list_bundles(dump_dir, newest, &old, &total);
    for (size_t i = 0; i < old.cnt; i++)
        total += old.at[i].bytes;
    for (size_t i = 0; i < old.cnt; i++) {
        int64_t left = (int64_t)(old.cnt - i) + 1; /* with the newest */
        bool is_many = max_dumps > 0 && left > max_dumps;
        bool is_large = max_total_mb > 0 && total > max_total_mb * 1048576;
        if (!is_many && !is_large)
            break;
        char path[SL_BUNDLE_PATH_CAP];
        snprintf(path, sizeof path, "%s/%.199s", dump_dir, old.at[i].name);
        sl_remove_folder(path);
        total -= old.at[i].bytes;
        removed++;
    }
    sl_vec_free(&old);
    return removed;
}
