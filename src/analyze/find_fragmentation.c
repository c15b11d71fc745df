/* SPDX-License-Identifier: MIT */
/* Fragmentation: reserved memory in pieces too small for the requests. The numbers at the end are
 * always reported; a finding needs a consequence: the reserved total keeps growing although as much
 * memory is unused. Private pools do not count, because other requests cannot use them. */
#include <inttypes.h>
#include <math.h>

#include "analyze/free_space.h"
#include "analyze/allocator/setting_advice.h"
#include "analyze/thresholds.h"
#include "base/core/order.h"
#include "base/text/human.h"

/* Reserved growth that unused memory of the same class would have covered. */
typedef struct forced_growth {
    uint64_t bytes, late_bytes; /* late: in the second half of the window */
    uint64_t cnt;
} forced_growth;

enum { CLASS_SMALL, CLASS_LARGE, CLASS_PRIVATE, CLASS_CNT };

static int class_of(const sl_an *an, uint32_t segment_idx) {
    if (segment_idx == SL_IDX_NONE)
        return CLASS_PRIVATE; /* unknown pool: not counted */
    const sl_segment_life *segment = &an->replay->segments.at[segment_idx];
    if (segment->pool_idx != 0 && segment->pool_idx != SL_POOL_UNKNOWN)
        return CLASS_PRIVATE;
    return segment->is_large ? CLASS_LARGE : CLASS_SMALL;
}

/* Runs reserved and active bytes by class along the events. */
typedef struct class_walk {
    uint64_t reserved[CLASS_CNT], active[CLASS_CNT];
    size_t next_segment;
} class_walk;

static void start_walk(const sl_an *an, class_walk *walk) {
    const sl_replay *replay = an->replay;
    *walk = (class_walk){0};
    for (; walk->next_segment < replay->segments.cnt &&
           replay->segments.at[walk->next_segment].begin_event == SL_EVENT_BEFORE;
         walk->next_segment++)
        walk->reserved[class_of(an, (uint32_t)walk->next_segment)] +=
            replay->segments.at[walk->next_segment].bytes;
    for (size_t i = 0; i < replay->base_cnt; i++)
        walk->active[class_of(an, replay->lives.at[i].segment_idx)] +=
            replay->lives.at[i].block_bytes;
}

/* A segment that comes; unused bytes of its class before it. What remains of a range that was split
 * comes with the event that split it and is not growth. */
static void on_segment_event(const sl_an *an, class_walk *walk, uint32_t event, uint8_t kind,
                             forced_growth *forced) {
    const sl_replay *replay = an->replay;
    bool is_growth = kind == SL_EV_SEGMENT_ALLOC || kind == SL_EV_SEGMENT_MAP;
    uint64_t size = replay->device->events.size_bytes[event];
    int class = CLASS_PRIVATE;
    for (; walk->next_segment < replay->segments.cnt &&
           replay->segments.at[walk->next_segment].begin_event == event;
         walk->next_segment++)
        class = class_of(an, (uint32_t)walk->next_segment);
    if (!is_growth) {
        class = size == (uint64_t)2 << 20 ? CLASS_SMALL : CLASS_LARGE;
        walk->reserved[class] -= sl_min_u64(size, walk->reserved[class]);
        return;
    }
    uint64_t unused = walk->reserved[class] > walk->active[class]
                          ? walk->reserved[class] - walk->active[class]
                          : 0;
    walk->reserved[class] += size;
    if (class == CLASS_PRIVATE || unused < size || event < an->from)
        return;
    forced->cnt++;
    forced->bytes += size;
    forced->late_bytes += event - an->from > (an->to - an->from) / 2 ? size : 0;
}

static forced_growth find_forced(const sl_an *an) {
    const sl_replay *replay = an->replay;
    forced_growth forced = {0};
    class_walk walk;
    start_walk(an, &walk);
    for (uint32_t e = 0; e < an->to; e++) {
        uint8_t kind = replay->device->events.kind[e];
        uint32_t idx = replay->life_of_event[e];
        if (idx != SL_IDX_NONE) {
            const sl_life *life = &replay->lives.at[idx];
            uint64_t *active = &walk.active[class_of(an, life->segment_idx)];
            *active += life->begin_event == e ? life->block_bytes : 0;
            *active -= life->end_event == e ? life->block_bytes : 0;
        } else if (sl_event_is_segment(kind)) {
            on_segment_event(an, &walk, e, kind, &forced);
        }
    }
    return forced;
}

static sl_severity judge(const sl_an *an, const sl_free_space *space, const forced_growth *forced) {
    const sl_device_report *d = sl_an_device(an);
    uint64_t unused = space->inactive_bytes - space->private_bytes;
    bool is_creeping =
        (double)forced->late_bytes >= SL_T_FRAG_FORCED_SHARE * (double)d->peak_reserved_bytes.value;
    bool is_much = (double)unused >= sl_an_t(an)->fragmentation_verdict_bytes ||
                   (d->capacity_bytes.known && unused >= d->capacity_bytes.value / 10);
    return is_creeping && is_much ? SL_SEV_WARNING : SL_SEV_INFO;
}

static bool report_fragmentation(sl_an *an, const sl_free_space *space,
                                 const forced_growth *forced) {
    const sl_device_report *d = sl_an_device(an);
    uint64_t unused = space->inactive_bytes - space->private_bytes;
    uint64_t largest = sl_max_u64(space->largest_large, space->largest_small);
    double reserved = (double)(d->reserved_bytes.value ? d->reserved_bytes.value : 1);
    char times[SL_HUMAN_CAP];
    sl_evidence evidence[] = {
        {"unused over reserved", (double)unused / reserved, "1", sl_an_t(an)->fragmentation_ratio,
         ">="},
        {"unused bytes", (double)unused, "bytes", sl_an_t(an)->fragmentation_bytes, ">="},
        {"largest free block", (double)largest, "bytes", NAN, NULL},
        {"reserved although as much was unused, second half", (double)forced->late_bytes, "bytes",
         SL_T_FRAG_FORCED_SHARE * (double)d->peak_reserved_bytes.value, ">="},
    };
    sl_severity severity = judge(an, space, forced);
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_FRAGMENTATION, severity, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->bytes = sl_known_u64(unused);
    f->blocks = sl_known_u64(space->hole_cnt);
    f->confidence = severity == SL_SEV_INFO ? 0.5 : 0.8;
    f->title = sl_an_text(an, "%s reserved but unused, in %" PRIu64 " piece%s of at most %s",
                          sl_an_bytes(an, unused), space->hole_cnt, sl_plural(space->hole_cnt),
                          sl_an_bytes(an, largest));
    f->explanation = sl_an_text(
        an,
        "%.0f %% of the reserved %s is unused; empty_cache() would return %s of it. The allocator "
        "took new memory %s (%s) although as much was unused, in pieces that were too small. %s",
        100 * (double)unused / reserved, sl_an_bytes(an, d->reserved_bytes.value),
        sl_an_bytes(an, space->releasable_bytes), sl_human_times(times, forced->cnt),
        sl_an_bytes(an, forced->bytes),
        severity == SL_SEV_INFO ? "No request failed because of it."
                                : "The reserved total keeps growing because of it.");
    return sl_an_advise_setting(an, f, "");
}

static void fill_report(sl_an *an, const sl_free_space *space) {
    sl_device_report *d = sl_an_device(an);
    uint64_t largest = sl_max_u64(space->largest_large, space->largest_small);
    d->fragmentation = (sl_fragmentation){
        .inactive_bytes = sl_known_u64(space->inactive_bytes),
        .largest_free_bytes = sl_known_u64(largest),
        .private_pool_bytes = sl_known_u64(space->private_bytes),
        .releasable_bytes = sl_known_u64(space->releasable_bytes),
        .ratio = d->reserved_bytes.known && d->reserved_bytes.value
                     ? sl_known_f64((double)space->inactive_bytes / (double)d->reserved_bytes.value)
                     : (sl_maybe_f64){0}};
}

/* Inputs without segments know the totals only. */
static void fill_totals(sl_device_report *d) {
    if (!d->reserved_bytes.known || !d->live_bytes.known ||
        d->reserved_bytes.value < d->live_bytes.value)
        return;
    uint64_t inactive = d->reserved_bytes.value - d->live_bytes.value;
    d->fragmentation.inactive_bytes = sl_known_u64(inactive);
    if (d->reserved_bytes.value)
        d->fragmentation.ratio = sl_known_f64((double)inactive / (double)d->reserved_bytes.value);
}

bool sl_find_fragmentation(sl_an *an) {
    sl_device_report *d = sl_an_device(an);
    sl_free_space space = {0};
    if (!an->replay->geometry_known) {
        fill_totals(d);
    } else {
        if (!sl_free_space_at(an, sl_an_end(an), &space))
            return false;
        fill_report(an, &space);
    }
    if (d->live_bytes.known && an->trace->has_requested_sizes)
        d->fragmentation.rounding_bytes =
            sl_known_u64(d->live_bytes.value - d->live_requested_bytes);
    if (!an->replay->geometry_known || !an->replay->event_cnt)
        return true;
    forced_growth forced = find_forced(an);
    uint64_t unused = space.inactive_bytes - space.private_bytes;
    /* Whole segments that nothing uses are a cache, not pieces: empty_cache() gives them back. */
    uint64_t pieces = unused - sl_min_u64(unused, space.releasable_bytes);
    if (judge(an, &space, &forced) > SL_SEV_INFO)
        pieces = unused; /* the reserved total grew for it, whatever was freed at the end */
    bool is_remarkable =
        (double)pieces >= sl_an_t(an)->fragmentation_bytes &&
        (double)pieces >= sl_an_t(an)->fragmentation_ratio * (double)d->reserved_bytes.value;
    sl_an_reason(an,
                 "fragmentation: device %d: %" PRIu64
                 " bytes unused outside private pools (%" PRIu64
                 " inside), largest free block %" PRIu64 "; %" PRIu64
                 " bytes were reserved although as much was unused",
                 an->device->device, unused, space.private_bytes,
                 d->fragmentation.largest_free_bytes.value, forced.bytes);
    return !is_remarkable || report_fragmentation(an, &space, &forced);
}
