/* SPDX-License-Identifier: MIT */
/* The names and row widths of a trace written as JSON (docs/bundles.md), which its writer and its
 * reader share. Add keys, never rename one: bundles are kept for years. */
#ifndef SL_TRACE_SCHEMA_H
#define SL_TRACE_SCHEMA_H

#define SL_TRACE_SCHEMA "stormlog.trace/1"

/* enumerator, key, numbers in a row. The order is that of the file: what a row refers to by number
 * is before it. */
#define SL_TRACE_TABLE_MAP(X) \
    X(FRAMES, "frames", 3)    \
    X(STREAMS, "streams", 1)  \
    X(POOLS, "pools", 2)      \
    X(MARKS, "marks", 5)      \
    X(ALERTS, "alerts", 6)

/* The same inside an object of "devices". */
#define SL_TRACE_DEVICE_TABLE_MAP(X) \
    X(EVENTS, "events", 8)           \
    X(SEGMENTS, "segments", 12)      \
    X(BLOCKS, "blocks", 7)

/* Of a counter's "readings". */
#define SL_TRACE_READING_WIDTH 5
#define SL_TRACE_ROW_MAX       12

enum sl_trace_width {
#define SL_TRACE_WIDTH(name, key, width) SL_TRACE_##name##_WIDTH = width,
    SL_TRACE_TABLE_MAP(SL_TRACE_WIDTH) SL_TRACE_DEVICE_TABLE_MAP(SL_TRACE_WIDTH)
#undef SL_TRACE_WIDTH
};

#endif
