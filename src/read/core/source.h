/* SPDX-License-Identifier: MIT */
/* Bytes of any origin -> sl_trace. One table of sources; the one that recognises the first bytes
 * best loads them. To add one: a file and a row in source_table.c. */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include "base/files/byte_stream.h"
#include "model/trace.h"

typedef struct sl_load_options {
    sl_progress_fn progress; /* called now and then while bytes are read; may be NULL */
    void *progress_ctx;
    uint32_t max_expansion;   /* of compressed inputs; 0 = SL_EXPANSION_DEFAULT */
    const sl_stop_flag *stop; /* set by another thread: loading fails soon; may be NULL */
    bool skips_bad;           /* telemetry: leave bad records out and count them in a note */
    /* A snapshot lists what is live before its events: called once, from the thread that loads, when that is
     * read and no event yet. The trace is complete and within bounds as one whose history was off. The callee
     * may set its `code` and keeps nothing of it. May be NULL. */
    void (*on_end_state)(void *ctx, sl_trace *trace);
    void *on_end_state_ctx;
} sl_load_options;

/* Enough for every probe. */
#define SL_PROBE_BYTES 4096

typedef struct sl_source_input {
    const char *path;               /* as the user named it, or a name for bytes in memory */
    sl_byte_stream *in;             /* at its beginning, decompressed */
    const sl_load_options *options; /* never NULL */
} sl_source_input;

typedef struct sl_source_ops {
    const char *name; /* "torch-pickle" */
    sl_source_kind kind;
    /* 0 = not mine; higher wins. Sees at most SL_PROBE_BYTES decompressed bytes. */
    int (*probe)(const unsigned char *head, size_t len, const char *path);
    /* Fills a new trace. */
    sl_status (*load)(const sl_source_input *input, sl_trace *trace, sl_error *err);
} sl_source_ops;

extern const sl_source_ops sl_source_series;
extern const sl_source_ops sl_source_slog;
extern const sl_source_ops sl_source_telemetry;
extern const sl_source_ops sl_source_torch_pickle;
extern const sl_source_ops sl_source_torch_json;
extern const sl_source_ops sl_source_trace;

/* The table, NULL-terminated. */
extern const sl_source_ops *const sl_sources[];

/* Whether a reader knows the beginning of this file. A folder, and a file that cannot be opened: false. */
bool sl_trace_is_known(const char *path);
/* The same with what it is; of several readers the one that is surest. */
bool sl_trace_probe(const char *path, sl_source_kind *kind);

/* Loads a file. options may be NULL. *out is the caller's, released with sl_trace_free. err says
 * "cannot read 'PATH': ...". */
sl_status sl_trace_load(const char *path, const sl_load_options *options, sl_trace **out,
                        sl_error *err);

/* The same for bytes in memory, which are not decompressed. */
sl_status sl_trace_load_memory(const char *name, const void *bytes, size_t len, sl_trace **out,
                               sl_error *err);

#endif
