/* SPDX-License-Identifier: MIT */
/* The one list of columns that travel from C into the page. web/src/schema.ts is generated from
 * this file by web/gen_schema.py, and a test compares the two; the page refuses another version.
 *
 * A section is a group of columns that is decoded together, when a view first needs it. A column
 * is a sequence of LEB128 integers below 2^53: PLAIN as they are, DELTA as zigzag differences to
 * the value before (the first one to 0), BYTES as raw bytes. Times are microseconds after the first
 * event of the lane, events are indexes into the device's events. A lane is one device of one
 * input. Numbers that do not exist have no column, never a 0. */
#ifndef SL_PAGE_SCHEMA_H
#define SL_PAGE_SCHEMA_H

#define SL_PAGE_SCHEMA "stormlog.page/1"

/* In the order in which they are in the file. LANE sections exist once for each lane. */
#define SL_PAGE_SECTION_MAP(X) \
    X(NAMES, ALL)              \
    X(MARKS, LANE)             \
    X(CURVE, LANE)             \
    X(GROUPS, LANE)            \
    X(BLOCKS, LANE)            \
    X(MATRIX, LANE)            \
    X(SITES, LANE)             \
    X(SEGMENTS, LANE)          \
    X(END, LANE)               \
    X(COUNTERS, LANE)          \
    X(LEDGER, LANE)            \
    X(WHATIF, LANE)            \
    X(HEAT, LANE)

/* section, column, encoding, meaning */
#define SL_PAGE_COLUMN_MAP(X)                                                                      \
    X(NAMES, TEXT, BYTES, "all strings, one after another")                                        \
    X(NAMES, LENGTH, PLAIN, "bytes of each string")                                                \
    X(NAMES, FRAME_FILE, PLAIN, "string of each frame's file")                                     \
    X(NAMES, FRAME_FUNCTION, PLAIN, "string of each frame's function")                             \
    X(NAMES, FRAME_LINE, PLAIN, "line of each frame, 0 unknown")                                   \
    X(NAMES, FRAME_USER, PLAIN, "1 when the frame is the user's own code")                         \
    X(NAMES, STACK_DEPTH, PLAIN, "frames of each stack")                                           \
    X(NAMES, STACK_FRAME, PLAIN, "frames of all stacks, innermost first")                          \
    X(NAMES, STACK_SITE, PLAIN,                                                                    \
      "frame of the user's line, or of the text that says why there is none")                      \
    X(MARKS, TIME, DELTA, "when")                                                                  \
    X(MARKS, KIND, PLAIN, "0 begin, 1 end, 2 point, 3 step")                                       \
    X(MARKS, NAME, PLAIN, "string")                                                                \
    X(MARKS, NUMBER, PLAIN, "of the step")                                                         \
    X(CURVE, TIME, DELTA, "first event of each bin")                                               \
    X(CURVE, MAX, DELTA, "highest live bytes within the bin")                                      \
    X(CURVE, MIN, DELTA, "lowest live bytes within the bin, its entry value included")             \
    X(CURVE, LAST, DELTA, "live bytes after the last event of the bin")                            \
    X(CURVE, AT, PLAIN, "event of the maximum, counted from the first event of the bin")           \
    X(CURVE, RESERVED_MAX, DELTA, "highest reserved bytes within the bin")                         \
    X(CURVE, RESERVED_LAST, DELTA, "reserved bytes after the last event of the bin")               \
    X(GROUPS, EVENT, DELTA, "the event of highest live bytes within each column")                  \
    X(GROUPS, LINE, DELTA, "live bytes at that event: a row of columns for each user line")        \
    X(GROUPS, FILE, DELTA, "the same for each file")                                               \
    X(GROUPS, STREAM, DELTA, "the same for each stream and pool")                                  \
    X(GROUPS, TAG, DELTA, "the same for each tag")                                                 \
    X(GROUPS, MODULE, DELTA, "the same for each module: the innermost one of the stack")           \
    X(BLOCKS, BEGIN, DELTA, "event of the allocation, ascending; -1 before the trace")             \
    X(BLOCKS, TIME, DELTA, "time of the allocation")                                               \
    X(BLOCKS, LIFE, PLAIN, "events until the free")                                                \
    X(BLOCKS, LIFE_US, PLAIN, "time until the free")                                               \
    X(BLOCKS, SIZE, PLAIN, "bytes asked for")                                                      \
    X(BLOCKS, SLACK, PLAIN, "bytes the allocator rounded up")                                      \
    X(BLOCKS, ADDR_HIGH, DELTA, "upper 32 bits of the address")                                    \
    X(BLOCKS, ADDR_LOW, DELTA, "lower 32 bits of the address")                                     \
    X(BLOCKS, STACK, PLAIN, "stack of the allocation")                                             \
    X(BLOCKS, FLAGS, PLAIN, "1 live before the trace, 2 never freed")                              \
    X(BLOCKS, TAG, PLAIN, "what it is for: a number into tag_names of the JSON part")              \
    X(MATRIX, EVENT, DELTA, "event of each checkpoint; -1 before the first event")                 \
    X(MATRIX, STACK, PLAIN, "stack of each row")                                                   \
    X(MATRIX, LIVE, DELTA, "live bytes, a row of checkpoints for each stack")                      \
    X(MATRIX, BLOCKS, DELTA, "live blocks")                                                        \
    X(MATRIX, ALLOC_BYTES, DELTA, "bytes allocated since the start")                               \
    X(MATRIX, ALLOCS, DELTA, "allocations since the start")                                        \
    X(SITES, FRAME, PLAIN, "frame of the user's line, or of the text that says why there is none") \
    X(SITES, LIVE, PLAIN, "bytes live at the end")                                                 \
    X(SITES, BLOCKS, PLAIN, "blocks live at the end")                                              \
    X(SITES, PEAK, PLAIN, "highest live bytes of the site itself")                                 \
    X(SITES, AT_PEAK, PLAIN, "bytes live at the peak of the device")                               \
    X(SITES, ALLOCS, PLAIN, "allocations")                                                         \
    X(SITES, ALLOC_BYTES, PLAIN, "bytes allocated")                                                \
    X(SITES, FREED, PLAIN, "blocks that were freed")                                               \
    X(SITES, MEDIAN_LIFE_US, PLAIN, "median life of the freed blocks, 0 when none was freed")      \
    X(SITES, TAG, PLAIN, "what most of its bytes are for")                                         \
    X(SITES, TAGS, PLAIN, "all that its blocks are for: a bit for each tag")                       \
    X(SEGMENTS, BEGIN, DELTA, "event that took it, ascending; -1 before the trace")                \
    X(SEGMENTS, LIFE, PLAIN, "events until it was returned")                                       \
    X(SEGMENTS, SIZE, PLAIN, "bytes")                                                              \
    X(SEGMENTS, ADDR_HIGH, DELTA, "upper 32 bits of the address")                                  \
    X(SEGMENTS, ADDR_LOW, DELTA, "lower 32 bits of the address")                                   \
    X(SEGMENTS, STREAM, PLAIN, "stream number")                                                    \
    X(SEGMENTS, POOL, PLAIN, "pool number, 65535 unknown")                                         \
    X(SEGMENTS, FLAGS, PLAIN, "1 there before the trace, 2 never returned, 4 large, 8 expandable") \
    X(END, SEG_ADDR_HIGH, DELTA, "segments of the end state: upper 32 bits of the address")        \
    X(END, SEG_ADDR_LOW, DELTA, "lower 32 bits of the address")                                    \
    X(END, SEG_SIZE, PLAIN, "bytes")                                                               \
    X(END, SEG_STREAM, PLAIN, "stream number")                                                     \
    X(END, SEG_POOL, PLAIN, "pool number, 65535 unknown")                                          \
    X(END, SEG_FLAGS, PLAIN, "4 large, 8 expandable")                                              \
    X(END, SEG_BLOCKS, PLAIN, "blocks in use or waiting")                                          \
    X(END, OFFSET, PLAIN, "those blocks: bytes from the start of the segment")                     \
    X(END, SIZE, PLAIN, "rounded bytes")                                                           \
    X(END, STATE, PLAIN, "1 allocated, 2 waiting to be freed")                                     \
    X(END, STACK, PLAIN, "stack of the allocation")                                                \
    X(COUNTERS, SERIES, PLAIN, "which counter")                                                    \
    X(COUNTERS, TIME, DELTA, "when it was read")                                                   \
    X(COUNTERS, VALUE, DELTA, "bytes")                                                             \
    X(LEDGER, TIME, DELTA, "when a reading of the card began")                                     \
    X(LEDGER, USED, PLAIN, "bytes in use on it then, plus 1; 0 = unknown")                         \
    X(LEDGER, USED_MAX, DELTA, "highest bytes in use among the readings that it summarises")       \
    X(LEDGER, BYTES, PLAIN,                                                                        \
      "bytes of each ledger row, plus 1; 0 = unknown: a row of moments each")                      \
    X(WHATIF, EVENT, DELTA, "first event of each bin")                                             \
    X(WHATIF, RESERVED, DELTA, "highest in it and 1 more, 0 failed before: a row for each curve")  \
    X(HEAT, MAX, DELTA, "highest live bytes in each equal share of the time or of the events")

#endif
