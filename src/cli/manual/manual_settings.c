/* SPDX-License-Identifier: MIT */
/* The keys of settings files as Markdown, for docs/settings.md; a test compares them. */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/settings/config.h"

/* '|' would end the cell. */
static void put_cell(const char *text) {
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void put_key(const sl_config_key *key, void *context) {
    const char **table = context;
    if (strcmp(*table, key->table) != 0) {
        printf("%s### `[%s]`\n\n| key | value | default | in a project's file | meaning |\n"
               "| --- | --- | --- | --- | --- |\n",
               **table ? "\n" : "", key->table);
        *table = key->table;
    }
    printf("| `%s` | ", key->name);
    put_cell(key->value);
    printf(" | ");
    put_cell(key->initial);
    printf(" | %s | ", key->setter == SL_SET_BY_PROJECT ? "yes" : "no");
    put_cell(key->help);
    printf(" |\n");
}

static int run(const sl_opts *opts, sl_error *err) {
    const char *table = "";
    SL_UNUSED(opts);
    SL_UNUSED(err);
    sl_config_keys_each(sl_cli_program(), put_key, &table);
    return 0;
}

const sl_cmd sl_cmd_settings = {
    .name = "__settings",
    .operands = "",
    .is_hidden = true,
    .summary = "print the keys of settings files as Markdown",
    .run = run,
};
