/* SPDX-License-Identifier: MIT */
/* The keys of settings files that are not options of a command, and what a value must be. Internal to
 * config.c and its tests. */
#ifndef SL_CONFIG_KEYS_H
#define SL_CONFIG_KEYS_H

#include "cli/settings/config.h"

typedef enum sl_config_kind {
    SL_CONFIG_KIND_BOOL,
    SL_CONFIG_KIND_FOLDERS,
    SL_CONFIG_KIND_SHARE,
    SL_CONFIG_KIND_RATIO,
    SL_CONFIG_KIND_BYTES,
    SL_CONFIG_KIND_COUNT,
} sl_config_kind;

typedef struct sl_config_extra {
    const char *table, *name;
    sl_config_kind kind;
    size_t offset;  /* of the member of sl_config; not of FOLDERS */
    bool is_users;  /* of FOLDERS */
    double initial; /* of a number */
    const char *help;
} sl_config_extra;

extern const sl_config_extra sl_config_extras[];
extern const size_t sl_config_extra_cnt;

/* What a value of this kind is: "a number from 0 to 1". */
const char *sl_config_kind_words(sl_config_kind kind);

/* The number of a SHARE, RATIO, BYTES or COUNT; false when it is none. */
bool sl_config_number(sl_config_kind kind, const sl_toml_value *value, double *number);

#endif
