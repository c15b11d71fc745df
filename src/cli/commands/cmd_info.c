/* SPDX-License-Identifier: MIT */
/* Facts about this build and this machine, read from files alone: no driver is loaded, so that it
 * also answers where the driver is broken. */
#include <stdio.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "cli/core/cmd_list.h"
#include "cli/core/machine.h"
#include "cli/core/shared_options.h"
#include "cli/settings/config.h"
#include "sl_config.h"
#include "stormlog/version.h"

/* Optional libraries: whether this build has them, and what is not available without them. */
static const struct {
    const char *name;
    bool is_built_in;
    const char *purpose;
} libraries[] = {
    {"zlib", HAVE_ZLIB, "reading .gz inputs"},
    {"zstd", HAVE_ZSTD, "reading .zst inputs and compressing recordings"},
    {"liblzma", HAVE_LZMA, "reading .xz inputs"},
    {"ncursesw", HAVE_NCURSES, "the full-screen program"},
    {"cairo", HAVE_CAIRO, "pictures as PNG and SVG"},
    {"libmicrohttpd", HAVE_MICROHTTPD, "serving metrics (stormlog agent)"},
    {"libcurl", HAVE_CURL, "pushing metrics and profiles, and s3:// (agent, export, ship)"},
};

static const char *library_state(size_t i) {
    return libraries[i].is_built_in ? "yes:" : "no; not available:";
}

static void print_row(const char *name, const char *value) {
    char first[32];
    snprintf(first, sizeof first, "%-14s", name);
    sl_term_wrap(stdout, &(sl_wrap){.first = first, .rest = "              "}, value);
}

static void print_build(void) {
    char text[160];
    snprintf(text, sizeof text, "%s (C ABI %d)", SL_VERSION_STRING, SL_ABI_VERSION);
    print_row("stormlog", text);
    snprintf(text, sizeof text, "%s, %s%s%s", SL_BUILD_COMPILER, SL_BUILD_TYPE,
             strcmp(SL_BUILD_SANITIZERS, "none") == 0 ? "" : ", sanitizers ",
             strcmp(SL_BUILD_SANITIZERS, "none") == 0 ? "" : SL_BUILD_SANITIZERS);
    print_row("built with", text);
    for (size_t i = 0; i < SL_COUNT_OF(libraries); i++) {
        snprintf(text, sizeof text, "%s %s", library_state(i), libraries[i].purpose);
        print_row(libraries[i].name, text);
    }
}

static void print_machine(const sl_machine *machine) {
    char text[256], bytes[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "%s %s, %s", machine->system, machine->kernel, machine->arch);
    print_row("system", text);
    snprintf(text, sizeof text, "%ld usable", machine->cpus);
    print_row("processors", text);
    if (machine->memory_bytes.known)
        print_row("memory", sl_human_bytes(bytes, machine->memory_bytes.value));
    else
        print_row("memory", "not known");
    if (machine->nvidia_version[0])
        snprintf(text, sizeof text, "%s, %zu device%s", machine->nvidia_version,
                 machine->nvidia_devices, sl_plural(machine->nvidia_devices));
    else
        snprintf(text, sizeof text, "no (/proc/driver/nvidia/version does not exist)");
    print_row("NVIDIA driver", text);
}

static void json_build(sl_json_out *json) {
    sl_json_key(json, "version");
    sl_json_cstr(json, SL_VERSION_STRING);
    sl_json_key(json, "abi_version");
    sl_json_i64(json, SL_ABI_VERSION);
    sl_json_key(json, "compiler");
    sl_json_cstr(json, SL_BUILD_COMPILER);
    sl_json_key(json, "sanitizers");
    sl_json_cstr(json, SL_BUILD_SANITIZERS);
    sl_json_key(json, "libraries");
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_COUNT_OF(libraries); i++) {
        sl_json_key(json, libraries[i].name);
        sl_json_bool(json, libraries[i].is_built_in);
    }
    sl_json_end_object(json);
}

static void json_machine(sl_json_out *json, const sl_machine *machine) {
    sl_json_key(json, "machine");
    sl_json_begin_object(json);
    sl_json_key(json, "system");
    sl_json_cstr(json, machine->system);
    sl_json_key(json, "kernel");
    sl_json_cstr(json, machine->kernel);
    sl_json_key(json, "arch");
    sl_json_cstr(json, machine->arch);
    sl_json_key(json, "cpus");
    sl_json_i64(json, machine->cpus);
    sl_json_key(json, "memory_bytes");
    sl_json_maybe_u64(json, machine->memory_bytes);
    sl_json_key(json, "nvidia_driver");
    sl_json_cstr(json, machine->nvidia_version[0] ? machine->nvidia_version : NULL);
    sl_json_key(json, "nvidia_devices");
    sl_json_u64(json, machine->nvidia_devices);
    sl_json_end_object(json);
}

/* ---- settings ---- */

static const char *const owner_names[] = {
    [SL_CONFIG_USER] = "user", [SL_CONFIG_PROJECT] = "project"};
static const char *const state_names[] = {
    [SL_CONFIG_ABSENT] = "absent",
    [SL_CONFIG_READ] = "read",
    [SL_CONFIG_IGNORED] = "ignored",
    [SL_CONFIG_BAD] = "bad",
};

static void print_setting(const sl_config_row *row, void *context) {
    char text[1600];
    SL_UNUSED(context);
    snprintf(text, sizeof text, "%s.%s = %s (%s:%u)%s%s", row->entry->table, row->entry->key,
             row->value, sl_base_name(row->file->path), row->entry->place.line,
             row->overruled_by ? ", overruled by " : "",
             row->overruled_by ? row->overruled_by : "");
    print_row("", text);
}

static void print_settings(const sl_config *config) {
    for (size_t i = 0; i < SL_CONFIG_OWNER_CNT; i++) {
        const sl_config_file *file = &config->files[i];
        char text[sizeof file->path + sizeof file->problem + 32];
        if (file->state == SL_CONFIG_BAD)
            snprintf(text, sizeof text, "%s", file->problem);
        else if (file->path[0])
            snprintf(text, sizeof text, "%s (%s%s%s)", file->path,
                     file->state == SL_CONFIG_ABSENT ? "does not exist" : state_names[file->state],
                     file->problem[0] ? ": " : "", file->problem);
        else
            snprintf(text, sizeof text, "%s",
                     i == SL_CONFIG_PROJECT ? "no stormlog.toml in this project" : "no file");
        print_row(i ? "" : "settings", text);
    }
    sl_config_rows_each(print_setting, NULL);
}

static void json_setting(const sl_config_row *row, void *context) {
    sl_json_out *json = context;
    char key[160];
    snprintf(key, sizeof key, "%s.%s", row->entry->table, row->entry->key);
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "key", key);
    sl_json_key_cstr(json, "value", row->value);
    sl_json_key_cstr(json, "file", row->file->path);
    sl_json_key_u64(json, "line", row->entry->place.line);
    sl_json_key_cstr(json, "overruled_by", row->overruled_by);
    sl_json_end_object(json);
}

static void json_settings(sl_json_out *json, const sl_config *config) {
    sl_json_key(json, "settings");
    sl_json_begin_object(json);
    sl_json_key(json, "files");
    sl_json_begin_array(json);
    for (size_t i = 0; i < SL_CONFIG_OWNER_CNT; i++) {
        const sl_config_file *file = &config->files[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "whose", owner_names[i]);
        sl_json_key_cstr(json, "path", file->path[0] ? file->path : NULL);
        sl_json_key_cstr(json, "state", state_names[file->state]);
        sl_json_key_cstr(json, "problem", file->problem[0] ? file->problem : NULL);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    sl_json_key(json, "values");
    sl_json_begin_array(json);
    sl_config_rows_each(json_setting, json);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static int print_json(const sl_machine *machine, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, stdout, 2);
    sl_json_begin_object(&json);
    sl_json_key(&json, "schema");
    sl_json_cstr(&json, "stormlog.info/1");
    json_build(&json);
    json_machine(&json, machine);
    json_settings(&json, sl_config_get());
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_machine machine;
    sl_machine_read(&machine);
    if (strcmp(sl_opts_text(opts, "format"), "json") == 0)
        return print_json(&machine, err);
    print_build();
    putchar('\n');
    print_machine(&machine);
    putchar('\n');
    print_settings(sl_config_get());
    return 0;
}

static const sl_opt options[] = {
    SL_SHARED_FORMAT("output format"),
};

const sl_cmd sl_cmd_info = {
    .name = "info",
    .shows_settings = true,
    .operands = "",
    .summary = "print facts about this build and this machine",
    .description = "Lists the optional libraries of this build and what is not available without "
                   "them, then processors, memory and the NVIDIA driver as the system files report "
                   "them. It loads no driver and needs no device. Last come the settings files: "
                   "where stormlog looks for them, and every setting with its file and line.",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
