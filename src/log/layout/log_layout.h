/* SPDX-License-Identifier: MIT */
/* Where everything is in a .slog, and the rules that writer and reader keep. docs/format.md
 * describes the same for authors of other readers; change both together.
 *
 * The rules, cited by number:
 * (L1) Page 0 is written once, its CRC covers it, and the section table in it never changes. The
 *      file has its full size from the start; only `reserved` records of a section have space on
 *      disk, and nobody touches a record at or above that mark. Marks only grow.
 * (L2) A chunk belongs to the thread whose compare-and-swap put its ticket into the chunk's word,
 *      until that thread, or the sweeper after its death, clears the open bit. Only the owner
 *      writes records, each exactly once per ticket.
 * (L3) Record i of a chunk is complete when the chunk's word carries the ticket and a count above
 *      i. One release store of the word publishes one record.
 * (L4) The words of a record are stored with release after the ticket was; a reader loads the
 *      word, the records, and the word again. The same ticket both times: every record below the
 *      first count is whole. The stamp in the record must be the low bits of the ticket.
 * (L5) Ids point backwards: a frame's strings, a stack node's frame and parent, a site's stack
 *      are complete before the id that uses them is given out, and parent < own id.
 * (L6) A string, frame or node that is not complete (its owner was killed) has a zero in its
 *      (live) word; nothing refers to it.
 * (L7) Events of one address and domain do not overlap in time (the caller's duty). So one
 *      (domain, device, address) has at most one slot in the live table, and only its events
 *      touch that slot.
 * (L8) For each site alloc_bytes - free_bytes = bytes of its slots in the live table, and the same
 *      for the counts, once every intent has been carried through (L9).
 * (L9) Before a thread changes totals and live table it writes the event into its intent, and the
 *      phase before each step, so at most the step named by the phase is in doubt. A reader
 *      carries every intent of a dead writer through: the event counts as having happened.
 * (L10) Without losses the events in the ring, replayed, give the live table; with losses the
 *      number lost is what the threads published less the records present. A thread's `published`
 *      follows its record, so a kill between the two leaves it one short; the chunk's `before`
 *      and count are never short, and the larger of the two holds.
 * (L11) Chunks are taken in the order of their tickets, but for a thread that is interrupted
 *      between its ticket and its compare-and-swap: the chunk it was to take stays for up to one
 *      more round, while newer ones go. So at most one chunk per thread survives out of order.
 * (L12) The file is shared with whoever may write it. The writer never takes from it what decides
 *      where memory lies: the header and the marks of the sections are private copies, the file's
 *      follow them, and a number read back from the file (site, chunk, label) is bounded first.
 *      Whatever another process writes there, the recording may be worth nothing, but the program
 *      goes on. */
#ifndef SL_LOG_LAYOUT_H
#define SL_LOG_LAYOUT_H

#include "base/core/status.h"
#include "model/event.h"
#include "stormlog/format.h"

/* Steps of an intent in the order in which they are done (L9). The numbers left out were those of a
 * third word, alloc_bytes - free_bytes, that the first files kept. */
enum sl_alloc_phase {
    SL_ALLOC_TABLE = 1,
    SL_ALLOC_CNT = 2,
    SL_ALLOC_BYTES = 3, /* and the peak */
    SL_ALLOC_RING = 5,
};

enum sl_free_phase {
    SL_FREE_CNT = 1,
    SL_FREE_BYTES = 2,
    SL_FREE_TABLE = 4,
    SL_FREE_RING = 5,
};

typedef enum sl_effect { SL_EFFECT_NONE, SL_EFFECT_ALLOC, SL_EFFECT_FREE } sl_effect;

/* What an event changes in the sites and the live table, by sl_event_kind. Map and unmap events of
 * expandable segments change neither: their ranges do not match, so they are only recorded. */
typedef struct sl_kind_row {
    uint8_t effect; /* sl_effect */
    uint8_t domain; /* sl_domain */
} sl_kind_row;

extern const sl_kind_row sl_kind_rows[SL_EV_LIMIT];

#define SL_SIZE_BITS    48
#define SL_SIZE_MASK    ((UINT64_C(1) << SL_SIZE_BITS) - 1)
#define SL_LABEL_CAP    4096
#define SL_CURVE_LEVELS 10
#define SL_CURVE_BIN_NS UINT64_C(100000000)
#define SL_CURVE_FACTOR 4

/* Saturates to 48 bits, never truncates. */
static inline uint64_t sl_clamp48(uint64_t value) {
    return value <= SL_SIZE_MASK ? value : SL_SIZE_MASK;
}

/* Words of a chunk (L3). */
static inline uint64_t sl_chunk_ticket(uint64_t word) {
    return word >> 16;
}

static inline uint32_t sl_chunk_count(uint64_t word) {
    return (uint32_t)(word >> 1 & 0x7fff);
}

static inline bool sl_chunk_is_open(uint64_t word) {
    return word & 1;
}

static inline uint32_t sl_chunk_cap(uint32_t chunk_bytes) {
    return (uint32_t)((chunk_bytes - sizeof(sl_fmt_chunk)) / sizeof(sl_fmt_record));
}

/* Words of a record. */
static inline uint64_t sl_record_w0(uint8_t kind, int8_t device, uint8_t flags, uint32_t stack) {
    return kind | (uint64_t)(uint8_t)device << 16 | (uint64_t)flags << 24 | (uint64_t)stack << 32;
}

static inline uint64_t sl_pack48(uint64_t low, uint16_t high) {
    return (low & SL_SIZE_MASK) | (uint64_t)high << SL_SIZE_BITS;
}

/* Words of the live table. */
static inline uint64_t sl_live_size_word(uint64_t size, int8_t device, uint8_t domain) {
    return (size & SL_SIZE_MASK) | (uint64_t)(uint8_t)device << 48 | (uint64_t)domain << 56;
}

/* Bucket of an address in a level of `bucket_cnt` buckets, a power of two. Part of the format only
 * in so far as a slot may lie in any bucket: readers scan. */
static inline uint64_t sl_live_hash(uint64_t addr, uint64_t size_word) {
    uint64_t h = (addr ^ size_word >> 48 << 52) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* Words of a thread slot: tid 32, state 8, generation 24. */
enum sl_thread_state { SL_THREAD_FREE, SL_THREAD_IN_USE, SL_THREAD_ENDED, SL_THREAD_SWEEPING };

static inline uint64_t sl_thread_word(uint32_t tid, uint8_t state, uint32_t generation) {
    return tid | (uint64_t)state << 32 | (uint64_t)(generation & 0xffffff) << 40;
}

/* Bytes of a record in this kind of section; 0 for the two kinds whose size is in the header. */
uint32_t sl_section_record_bytes(uint32_t kind);
const char *sl_section_name(uint32_t kind);
const char *sl_health_name(sl_health_kind kind);
const char *sl_health_meaning(sl_health_kind kind);
bool sl_health_is_loss(sl_health_kind kind);
const char *sl_counter_name(uint32_t kind); /* "unknown" for a kind of a newer writer */
const char *sl_counter_unit(uint32_t kind);

/* Bytes of all bins of one counter. */
static inline uint64_t sl_curve_bytes(uint32_t bins, uint32_t levels) {
    return (uint64_t)bins * levels * sizeof(sl_fmt_bin);
}

/* CRC of a header as it should be in it (L1). */
uint32_t sl_header_crc(const sl_fmt_header *header);

/* The structural rules of (L1) that need nothing but the header: magic, version, CRC, sections
 * inside file_bytes, in order, not overlapping, known sizes. The error names the byte. */
sl_status sl_header_check(const sl_fmt_header *header, uint64_t size_on_disk, sl_error *err);

#endif
