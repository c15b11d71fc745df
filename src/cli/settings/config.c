/* SPDX-License-Identifier: MIT */
#include "cli/settings/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/nearest.h"
#include "base/core/str.h"
#include "base/files/file_rights.h"
#include "base/text/term.h"
#include "cli/settings/config_keys.h"

#define OFF_ENV      "STORMLOG_SETTINGS"
#define PROJECT_NAME "stormlog.toml"

static sl_config config; /* the one of the process */
static bool is_ready;

static void set_initial(void) {
    if (is_ready)
        return;
    is_ready = true;
    config.thresholds = sl_thresholds_initial;
    config.has_links = config.has_progress = true;
}

const sl_config *sl_config_get(void) {
    set_initial();
    return &config;
}

/* ---- where the files are ---- */

static void find_users(char path[1024]) {
    const char *config_home = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int used = 0;
    if (config_home && config_home[0] == '/') /* the standard ignores relative ones */
        used = snprintf(path, 1024, "%s/stormlog/config.toml", config_home);
    else if (home && home[0] == '/')
        used = snprintf(path, 1024, "%s/.config/stormlog/config.toml", home);
    if (used <= 0 || used >= 1024)
        path[0] = '\0';
}

static bool has_entry(const char *folder, const char *name) {
    char path[1024];
    struct stat info;
    int used = snprintf(path, sizeof path, "%s/%s", folder, name);
    return used > 0 && (size_t)used < sizeof path && lstat(path, &info) == 0;
}

/* Cuts the last part off; false at the root. */
static bool go_up(char *folder) {
    char *slash = strrchr(folder, '/');
    if (!slash || !folder[1])
        return false;
    slash[slash == folder] = '\0';
    return true;
}

/* Outside of a repository only this folder counts: above it others may write. */
static void find_projects(char path[1024]) {
    char here[900], root[900];
    path[0] = '\0';
    if (!getcwd(here, sizeof here))
        return;
    strcpy(root, here);
    while (!has_entry(root, ".git"))
        if (!go_up(root)) {
            strcpy(root, here);
            break;
        }
    do {
        if (has_entry(here, PROJECT_NAME)) {
            snprintf(path, 1024, "%s%s" PROJECT_NAME, here, here[1] ? "/" : "");
            return;
        }
    } while (strcmp(here, root) != 0 && go_up(here));
}

/* ---- reading ---- */

/* Whether the file can be trusted: nobody else may write to it. */
static const char *distrust(const struct stat *info) {
    if (!S_ISREG(info->st_mode))
        return "it is not a regular file";
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return "it belongs to another user";
    return info->st_mode & S_IWOTH ? "everybody may write to it" : NULL;
}

static sl_status read_bytes(int fd, const char *path, char **out, size_t *len, sl_error *err) {
    *out = malloc(SL_TOML_BYTES_MAX + 1);
    *len = 0;
    if (!*out)
        return sl_fail_no_memory(err, "'%s'", path);
    for (ssize_t got = 1; got > 0 && *len <= SL_TOML_BYTES_MAX; *len += (size_t)got) {
        do
            got = read(fd, *out + *len, SL_TOML_BYTES_MAX + 1 - *len);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return sl_fail_errno(err, SL_E_READ, "cannot read '%s'", path);
    }
    return SL_OK;
}

static sl_status parse_open(sl_config_file *file, int fd, sl_error *err) {
    struct stat info;
    char *bytes = NULL;
    size_t len = 0;
    const char *why = fstat(fd, &info) == 0 ? distrust(&info) : "it cannot be examined";
    if (why) {
        file->state = SL_CONFIG_IGNORED;
        snprintf(file->problem, sizeof file->problem, "%s", why);
        return SL_OK;
    }
    sl_status status = read_bytes(fd, file->path, &bytes, &len, err);
    if (status == SL_OK)
        status = sl_toml_parse(&file->doc, file->path, bytes, len, err);
    free(bytes);
    file->state = SL_CONFIG_READ;
    return status;
}

/* Out of reach is not there: `sudo -u somebody` leaves HOME as it was, and that is somebody else's. */
static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static sl_status parse_file(sl_config_file *file, sl_error *err) {
    /* Not waiting for the writer of a pipe. */
    int fd = *file->path ? open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    int failed = errno;
    if (fd < 0 && (!*file->path || !is_there(file->path)))
        return SL_OK;
    errno = failed;
    if (fd < 0)
        return sl_fail_errno(err, SL_E_READ, "cannot read '%s'", file->path);
    sl_status status = parse_open(file, fd, err);
    close(fd);
    return status;
}

/* ---- checking ---- */

/* A file, whose it is, and the program whose keys it may have. */
typedef struct check {
    const sl_program *program;
    sl_config_file *file;
    sl_config_owner owner;
    sl_error *err;
} check;

static sl_status fail(const check *c, sl_toml_place place, const char *fmt, ...) SL_PRINTF(3, 4);

static sl_status fail(const check *c, sl_toml_place place, const char *fmt, ...) {
    char text[SL_ERROR_TEXT_CAP];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sl_fail(c->err, SL_E_FORMAT, "%s:%u:%u: %s", c->file->path, place.line, place.column,
                   text);
}

/* Looks up a key and remembers the nearest ones. */
typedef struct key_search {
    const char *table, *name;
    sl_nearest tables, names;
    bool has_table;
} key_search;

static void offer_key(const sl_config_key *key, void *context) {
    key_search *s = context;
    sl_nearest_offer(&s->tables, sl_str_of(key->table));
    if (strcmp(key->table, s->table) != 0)
        return;
    s->has_table = true;
    sl_nearest_offer(&s->names, sl_str_of(key->name));
}

static sl_status fail_unknown(const check *c, const sl_toml_entry *entry) {
    key_search s = {.table = entry->table,
                    .name = entry->key,
                    .tables = {.word = entry->table},
                    .names = {.word = entry->key}};
    sl_config_keys_each(c->program, offer_key, &s);
    bool is_near = s.has_table ? s.names.best[0] : s.tables.best[0];
    const char *near = s.has_table ? s.names.best : s.tables.best;
    if (!entry->table[0])
        return fail(c, entry->place,
                    "expected a table such as [analyze] first, found the key '%.60s'", entry->key);
    if (!s.has_table)
        return fail(c, entry->table_place, "unknown table '%.60s'%s%s%s", entry->table,
                    is_near ? "; did you mean [" : "; docs/settings.md lists them",
                    is_near ? near : "", is_near ? "]?" : "");
    return fail(c, entry->place, "unknown key '%.60s' in [%s]%s%s%s", entry->key, entry->table,
                is_near ? "; did you mean '" : "; docs/settings.md lists them", is_near ? near : "",
                is_near ? "'?" : "");
}

static sl_status fail_type(const check *c, const sl_toml_value *value, const char *expected) {
    return fail(c, value->place, "expected %s, found %s", expected,
                value->type == SL_TOML_BOOL    ? (value->number ? "true" : "false")
                : value->type == SL_TOML_ARRAY ? "an array"
                                               : value->text);
}

/* ---- options ---- */

static const sl_opt *find_option(const sl_cmd *cmd, const char *name) {
    for (size_t i = 0; i < cmd->option_cnt; i++)
        if (strcmp(cmd->options[i].name, name) == 0)
            return &cmd->options[i];
    return NULL;
}

/* ["a", "b"] as "a,b"; NULL when something else is among them, or memory ran out. */
static const char *join(sl_config_file *file, const sl_toml_value *value) {
    const char *text = "";
    for (size_t i = 0; text && i < value->item_cnt; i++) {
        if (value->items[i].type != SL_TOML_STRING)
            return NULL;
        text =
            sl_arena_printf(&file->doc.arena, "%s%s%s", text, i ? "," : "", value->items[i].text);
    }
    return text && *text ? text : NULL;
}

/* The text that the command line would have; NULL = a flag that is off. False: the wrong type. */
static bool option_text(sl_config_file *file, const sl_opt *opt, const sl_toml_value *value,
                        const char **text) {
    bool is_number = value->type == SL_TOML_INT || value->type == SL_TOML_FLOAT;
    *text = value->text;
    switch (opt->type) {
    case SL_OPT_FLAG: *text = value->number ? "" : NULL; return value->type == SL_TOML_BOOL;
    case SL_OPT_INT: return value->type == SL_TOML_INT;
    case SL_OPT_REAL: return is_number;
    case SL_OPT_SIZE: return value->type == SL_TOML_INT || value->type == SL_TOML_STRING;
    case SL_OPT_CHOICES:
        if (value->type == SL_TOML_ARRAY)
            *text = join(file, value);
        return *text && (value->type == SL_TOML_ARRAY || value->type == SL_TOML_STRING);
    case SL_OPT_STRING:
    case SL_OPT_FILE:
    case SL_OPT_LIMIT:
    case SL_OPT_DURATION:
    case SL_OPT_TIME:
    case SL_OPT_CHOICE: break;
    }
    return value->type == SL_TOML_STRING;
}

static const char *type_words(sl_opt_type type) {
    return type == SL_OPT_FLAG      ? "true or false"
           : type == SL_OPT_INT     ? "a whole number"
           : type == SL_OPT_REAL    ? "a number"
           : type == SL_OPT_SIZE    ? "a size such as \"1GiB\""
           : type == SL_OPT_CHOICES ? "an array of strings"
                                    : "a string";
}

static sl_status check_option(const check *c, const sl_cmd *cmd, const sl_toml_entry *entry) {
    const sl_opt *opt = find_option(cmd, entry->key);
    sl_opt_setter setter = opt ? sl_opt_setter_of(opt) : SL_SET_BY_NOBODY;
    sl_error wrong = SL_ERROR_INIT;
    sl_opt_value value;
    const char *text;
    if (!opt)
        return fail_unknown(c, entry);
    if (setter == SL_SET_BY_NOBODY)
        return fail(c, entry->place,
                    "'%s' of [%s] cannot be set in a file; give '--%s' on the command line",
                    opt->name, cmd->name, opt->name);
    if (setter == SL_SET_BY_USER && c->owner == SL_CONFIG_PROJECT)
        return fail(c, entry->place,
                    "'%s' of [%s] cannot be set in a project's file; set it in your own, '%s'",
                    opt->name, cmd->name, config.files[SL_CONFIG_USER].path);
    if (!option_text(c->file, opt, &entry->value, &text))
        return fail_type(c, &entry->value, type_words(opt->type));
    if (text && sl_opt_value_parse(opt, text, &value, &wrong) < 0)
        return fail(c, entry->value.place, "'%s': %s", opt->name, wrong.text);
    if (text && cmd->check_value && cmd->check_value(opt, &value, &wrong) < 0)
        return fail(c, entry->value.place, "'%s': %s", opt->name, wrong.text);
    return SL_OK;
}

/* ---- the other tables ---- */

static bool is_folder_text(const sl_toml_value *value) {
    return value->type == SL_TOML_STRING && value->text[0] && strcmp(value->text, "/") != 0;
}

static sl_status check_extra(const check *c, const sl_config_extra *extra,
                             const sl_toml_value *value) {
    double number;
    if (extra->kind == SL_CONFIG_KIND_BOOL) {
        if (value->type != SL_TOML_BOOL)
            return fail_type(c, value, "true or false");
        bool is_on = value->number;
        memcpy((char *)&config + extra->offset, &is_on, sizeof is_on);
        return SL_OK;
    }
    if (extra->kind != SL_CONFIG_KIND_FOLDERS) {
        if (!sl_config_number(extra->kind, value, &number))
            return fail_type(c, value, sl_config_kind_words(extra->kind));
        memcpy((char *)&config + extra->offset, &number, sizeof number);
        return SL_OK;
    }
    if (value->type != SL_TOML_ARRAY)
        return fail_type(c, value, "an array of folders");
    for (size_t i = 0; i < value->item_cnt; i++)
        if (!is_folder_text(&value->items[i]))
            return fail_type(c, &value->items[i], "a folder");
    return SL_OK;
}

static const sl_config_extra *find_extra(const sl_toml_entry *entry) {
    for (size_t i = 0; i < sl_config_extra_cnt; i++)
        if (strcmp(sl_config_extras[i].table, entry->table) == 0 &&
            strcmp(sl_config_extras[i].name, entry->key) == 0)
            return &sl_config_extras[i];
    return NULL;
}

static sl_status check_entry(const check *c, const sl_toml_entry *entry) {
    const sl_cmd *cmd = sl_cmd_find(c->program, entry->table);
    const sl_config_extra *extra = find_extra(entry);
    if (cmd && !cmd->is_hidden && !cmd->is_unsettable)
        return check_option(c, cmd, entry);
    return extra ? check_extra(c, extra, &entry->value) : fail_unknown(c, entry);
}

/* ---- folders of code ---- */

/* "./x" of a project's file and "~/x" as full paths; no '/' at the end. */
static const char *full_folder(sl_config_file *file, const char *text) {
    const char *home = getenv("HOME");
    size_t base = (size_t)(sl_base_name(file->path) - file->path);
    char *full;
    if (text[0] == '~' && text[1] == '/' && home)
        full = sl_arena_printf(&file->doc.arena, "%s%s", home, text + 1);
    else if (text[0] == '.' && (!text[1] || text[1] == '/'))
        full = sl_arena_printf(&file->doc.arena, "%.*s%s", (int)base, file->path,
                               text[1] ? text + 2 : "");
    else
        full = sl_arena_printf(&file->doc.arena, "%s", text);
    for (size_t len = full ? strlen(full) : 0; len > 1 && full[len - 1] == '/'; len--)
        full[len - 1] = '\0';
    return full;
}

/* The project's list of a key replaces the user's. */
static const sl_toml_entry *folders_entry(const char *name, sl_config_file **file) {
    for (int owner = SL_CONFIG_OWNER_CNT; owner-- > 0;) {
        *file = &config.files[owner];
        for (size_t i = 0; i < (*file)->doc.entries.cnt; i++)
            if (strcmp((*file)->doc.entries.at[i].table, "code") == 0 &&
                strcmp((*file)->doc.entries.at[i].key, name) == 0)
                return &(*file)->doc.entries.at[i];
    }
    return NULL;
}

static sl_status take_folders(sl_error *err) {
    static const struct {
        const char *name;
        bool is_users;
    } lists[] = {{"library", false}, {"user", true}};
    static SL_VEC(sl_code_folder) folders; /* as long as the process */
    for (size_t i = 0; i < SL_COUNT_OF(lists); i++) {
        sl_config_file *file;
        const sl_toml_entry *entry = folders_entry(lists[i].name, &file);
        for (size_t k = 0; entry && k < entry->value.item_cnt; k++) {
            sl_code_folder folder = {full_folder(file, entry->value.items[k].text),
                                     lists[i].is_users};
            if (!folder.path || !sl_vec_push(&folders, folder))
                return sl_fail_no_memory(err, "the settings");
        }
    }
    config.code = (sl_code_folders){folders.at, folders.cnt};
    return SL_OK;
}

/* ---- loading and applying ---- */

static sl_status load_file(const sl_program *program, sl_config_owner owner, sl_error *err) {
    sl_config_file *file = &config.files[owner];
    check c = {program, file, owner, err};
    sl_status status = parse_file(file, err);
    for (size_t i = 0; status == SL_OK && i < file->doc.entries.cnt; i++)
        status = check_entry(&c, &file->doc.entries.at[i]);
    if (status == SL_OK)
        return SL_OK;
    file->state = SL_CONFIG_BAD;
    snprintf(file->problem, sizeof file->problem, "%s", err->text);
    file->doc.entries.cnt = 0; /* a bad file has no effect at all */
    return status;
}

sl_status sl_config_load(const sl_program *program, sl_error *err) {
    const char *off = getenv(OFF_ENV);
    sl_error first = SL_ERROR_INIT;
    set_initial();
    if (off && (strcmp(off, "0") == 0 || strcmp(off, "off") == 0))
        return SL_OK;
    find_users(config.files[SL_CONFIG_USER].path);
    find_projects(config.files[SL_CONFIG_PROJECT].path);
    for (int owner = 0; owner < SL_CONFIG_OWNER_CNT; owner++) {
        sl_error here = SL_ERROR_INIT;
        if (load_file(program, (sl_config_owner)owner, &here) < 0 && first.code == SL_OK)
            first = here;
    }
    if (first.code == SL_OK)
        take_folders(&first);
    if (first.code < 0)
        *err = first;
    return first.code;
}

/* Variables that say the same as an option and win over the files. */
static const char *overruling_variable(const char *table, const char *key) {
    static const struct {
        const char *table, *key, *env;
    } rows[] = {{"run", "share", SL_SHARE_ENV}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (strcmp(rows[i].table, table) == 0 && strcmp(rows[i].key, key) == 0 &&
            getenv(rows[i].env))
            return rows[i].env;
    return NULL;
}

sl_status sl_config_apply(const sl_cmd *cmd, sl_opts *opts, sl_error *err) {
    for (int owner = 0; owner < SL_CONFIG_OWNER_CNT; owner++) {
        sl_config_file *file = &config.files[owner];
        for (size_t i = 0; i < file->doc.entries.cnt; i++) {
            const sl_toml_entry *entry = &file->doc.entries.at[i];
            const sl_opt *opt = find_option(cmd, entry->key);
            const char *text;
            if (strcmp(entry->table, cmd->name) != 0 || !opt ||
                overruling_variable(entry->table, entry->key) ||
                !option_text(file, opt, &entry->value, &text))
                continue;
            SL_TRY(sl_opts_preset(opts, opt->name, text, err));
        }
    }
    return SL_OK;
}

/* ---- what is in effect ---- */

static void say_value(const sl_toml_value *value, char *buf, size_t cap) {
    if (value->type == SL_TOML_BOOL)
        snprintf(buf, cap, "%s", value->number ? "true" : "false");
    else if (value->type == SL_TOML_STRING)
        snprintf(buf, cap, "\"%s\"", value->text);
    else if (value->type != SL_TOML_ARRAY)
        snprintf(buf, cap, "%s", value->text);
    else {
        size_t used = (size_t)snprintf(buf, cap, "[");
        for (size_t i = 0; i < value->item_cnt && used + 1 < cap; i++) {
            char item[160];
            say_value(&value->items[i], item, sizeof item);
            used += (size_t)snprintf(buf + used, cap - used, "%s%s", i ? ", " : "", item);
        }
        if (used + 1 < cap)
            snprintf(buf + used, cap - used, "]");
    }
    sl_term_clean(buf);
}

static bool project_has(const sl_toml_entry *entry) {
    const sl_toml *doc = &config.files[SL_CONFIG_PROJECT].doc;
    for (size_t i = 0; i < doc->entries.cnt; i++)
        if (strcmp(doc->entries.at[i].table, entry->table) == 0 &&
            strcmp(doc->entries.at[i].key, entry->key) == 0)
            return true;
    return false;
}

void sl_config_rows_each(void (*take)(const sl_config_row *row, void *context), void *context) {
    for (int owner = 0; owner < SL_CONFIG_OWNER_CNT; owner++) {
        const sl_config_file *file = &config.files[owner];
        for (size_t i = 0; i < file->doc.entries.cnt; i++) {
            const sl_toml_entry *entry = &file->doc.entries.at[i];
            sl_config_row row = {.entry = entry,
                                 .file = file,
                                 .overruled_by = overruling_variable(entry->table, entry->key)};
            if (owner == SL_CONFIG_USER && project_has(entry))
                row.overruled_by = PROJECT_NAME;
            say_value(&entry->value, row.value, sizeof row.value);
            take(&row, context);
        }
    }
}
