/* SPDX-License-Identifier: MIT */
/* Options of commands that send to a server. */
#ifndef SL_NET_OPTIONS_H
#define SL_NET_OPTIONS_H

#include "base/core/options.h"

#define SL_NET_CA_FILE                                                                \
    {                                                                                 \
        .name = "ca-file", .type = SL_OPT_FILE, .metavar = "FILE",                    \
        .help = "certificates (PEM) to check the server with (default: the system's)" \
    }

#define SL_NET_TRIES                                                                             \
    {                                                                                            \
        .name = "tries", .type = SL_OPT_INT, .min = 1, .max = 100, .initial = "5",               \
        .help =                                                                                  \
            "how often a request is sent that finds no server or a busy one; the waits between " \
            "double from 0.5 s to 1 min"                                                         \
    }

#endif
