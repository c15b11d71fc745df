/* SPDX-License-Identifier: MIT */
/* libmicrohttpd, loaded when a server is started: see curl_load.h for why. Only src/net includes this. */
#ifndef SL_MHD_LOAD_H
#define SL_MHD_LOAD_H

#include "sl_config.h"

#if HAVE_MICROHTTPD
#include <microhttpd.h>

#include "base/core/status.h"

#define SL_MHD_MAP(X)                                                                              \
    X(struct MHD_Daemon *, start_daemon,                                                           \
      (unsigned flags, uint16_t port, MHD_AcceptPolicyCallback, void *, MHD_AccessHandlerCallback, \
       void *, ...))                                                                               \
    X(void, stop_daemon, (struct MHD_Daemon *))                                                    \
    X(struct MHD_Response *, create_response_from_buffer,                                          \
      (size_t, void *, enum MHD_ResponseMemoryMode))                                               \
    X(enum MHD_Result, add_response_header, (struct MHD_Response *, const char *, const char *))   \
    X(enum MHD_Result, queue_response, (struct MHD_Connection *, unsigned, struct MHD_Response *)) \
    X(void, destroy_response, (struct MHD_Response *))                                             \
    X(const char *, lookup_connection_value,                                                       \
      (struct MHD_Connection *, enum MHD_ValueKind, const char *))                                 \
    X(const union MHD_ConnectionInfo *, get_connection_info,                                       \
      (struct MHD_Connection *, enum MHD_ConnectionInfoType, ...))

typedef struct sl_mhd_functions {
#define SL_MHD_MEMBER(result, name, arguments) result(*name) arguments;
    SL_MHD_MAP(SL_MHD_MEMBER)
#undef SL_MHD_MEMBER
} sl_mhd_functions;

/* The functions, or NULL with SL_E_UNSUPPORTED. */
const sl_mhd_functions *sl_mhd_load(sl_error *err);
#endif

#endif
