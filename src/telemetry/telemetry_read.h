/* SPDX-License-Identifier: MIT */
/* Telemetry files of every form: a JSON array, an object with "events", a single object, JSON
 * lines, CSV, a series of readings. Read in one pass, record by record; nothing but the records is kept. */
#ifndef SL_TELEMETRY_READ_H
#define SL_TELEMETRY_READ_H

#include "base/files/byte_stream.h"
#include "telemetry/telemetry_raw.h"

typedef struct sl_tm_load_options {
    sl_tm_convert convert;
    bool skips_bad;         /* skip bad records and count them */
    const char *events_key; /* of the object that holds the array; NULL = "events" */
    /* Called for every skipped record; may be NULL. The text has the index, the byte and the
     * rule. */
    void (*on_bad)(void *ctx, const sl_error *err);
    void *ctx;
} sl_tm_load_options;

/* Appends the records of the stream to the set. A bad record stops the reading with "record I at
 * byte B: FIELD ..." unless skips_bad. Invalid JSON always stops it, except for an invalid line
 * in JSON lines, which is one bad record. options may be NULL. */
sl_status sl_telemetry_read(sl_byte_stream *in, const sl_tm_load_options *options,
                            sl_telemetry *set, sl_error *err);

/* The same for a file, compressed or not; err says "cannot read 'PATH': ...". */
sl_status sl_telemetry_load(const char *path, const sl_tm_load_options *options, sl_telemetry *set,
                            sl_error *err);

/* 0 = these bytes do not begin like telemetry; otherwise a confidence of 1..100. */
int sl_telemetry_probe(const unsigned char *head, size_t len);

/* An object with arrays of equal length: "timestamps" with "allocated" or "memory_usage"; "rank", "local_rank" and "world_size" may
 * be beside them, or in "metadata" or "distributed_identity". */
sl_status sl_telemetry_read_series(sl_byte_stream *in, sl_telemetry *set, sl_error *err);

/* 0 = these bytes do not begin like such a series; otherwise a confidence of 1..100. */
int sl_telemetry_probe_series(const unsigned char *head, size_t len);

/* Internal to src/telemetry: the two forms. `in` must be at its beginning. */
sl_status sl__tm_read_json(sl_byte_stream *in, const sl_tm_load_options *options, sl_telemetry *set,
                           sl_error *err);
sl_status sl__tm_read_csv(sl_byte_stream *in, const sl_tm_load_options *options, sl_telemetry *set,
                          sl_error *err);

/* Internal to src/telemetry: applies the rules to a raw record and appends it. With skips_bad,
 * errors of a single record are counted and SL_OK is returned. */
sl_status sl__tm_accept(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_load_options *options,
                        const char *place, sl_error *err);

/* Internal to src/telemetry: handles a bad record: SL_OK when it was skipped and counted. */
sl_status sl__tm_reject(sl_telemetry *set, const sl_tm_load_options *options, sl_error *err);

#endif
