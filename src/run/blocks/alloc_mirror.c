/* SPDX-License-Identifier: MIT */
#include "run/blocks/alloc_mirror.h"

void sl_mirror_init(sl_mirror *mirror, sl_segment_lives *history, const sl_rounding *rounding) {
    *mirror = (sl_mirror){.history = history, .rounding = *rounding};
}

void sl_mirror_fini(sl_mirror *mirror) {
    sl_vec_free(&mirror->blocks);
    sl_vec_free(&mirror->unused);
    sl_addr_map_fini(&mirror->by_addr);
    sl_segment_set_fini(&mirror->segments);
}

static sl_mirror_block *block_at(const sl_mirror *mirror, uint32_t idx) {
    return &mirror->blocks.at[idx];
}

static bool is_free(const sl_mirror *mirror, uint32_t idx) {
    return idx != SL_IDX_NONE && block_at(mirror, idx)->life_idx == SL_IDX_NONE;
}

uint32_t sl_mirror_find_used(const sl_mirror *mirror, uint64_t addr) {
    uint32_t idx = sl_addr_map_find(&mirror->by_addr, addr);
    return idx == SL_ADDR_NONE || is_free(mirror, idx) ? SL_IDX_NONE : idx;
}

/* A new block after `prev` (SL_IDX_NONE = at the head of a list); its slot, or SL_IDX_NONE. */
static uint32_t insert(sl_mirror *mirror, sl_mirror_block block) {
    uint32_t idx;
    if (mirror->unused.cnt) {
        idx = mirror->unused.at[mirror->unused.cnt - 1];
    } else {
        idx = (uint32_t)mirror->blocks.cnt;
        /* The second reservation makes every later removal unable to fail. */
        if (!sl_vec_reserve(&mirror->blocks, 1) ||
            !sl_vec_reserve(&mirror->unused, mirror->blocks.cnt + 1))
            return SL_IDX_NONE;
    }
    /* Out of step (M2), a free block may seem to begin where a block in use does: that one stays
     * the one to be found, or its free would be lost. */
    bool is_hidden =
        block.life_idx == SL_IDX_NONE && sl_mirror_find_used(mirror, block.addr) != SL_IDX_NONE;
    if (!is_hidden && !sl_addr_map_put(&mirror->by_addr, block.addr, idx))
        return SL_IDX_NONE;
    if (mirror->unused.cnt)
        mirror->unused.cnt--;
    else
        mirror->blocks.cnt++;
    *block_at(mirror, idx) = block;
    if (block.prev != SL_IDX_NONE)
        block_at(mirror, block.prev)->next = idx;
    if (block.next != SL_IDX_NONE)
        block_at(mirror, block.next)->prev = idx;
    return idx;
}

static void forget(sl_mirror *mirror, uint32_t idx) {
    const sl_mirror_block *block = block_at(mirror, idx);
    if (block->prev != SL_IDX_NONE)
        block_at(mirror, block->prev)->next = block->next;
    if (block->next != SL_IDX_NONE)
        block_at(mirror, block->next)->prev = block->prev;
    /* A block that stood alone may have been replaced in the map by a later one. */
    if (sl_addr_map_find(&mirror->by_addr, block->addr) == idx)
        (void)sl_addr_map_remove(&mirror->by_addr, block->addr);
    mirror->unused.at[mirror->unused.cnt++] = idx;
}

/* Makes a block one with its successor. */
static void swallow_next(sl_mirror *mirror, uint32_t idx) {
    uint32_t next = block_at(mirror, idx)->next;
    uint64_t bytes = block_at(mirror, next)->bytes;
    forget(mirror, next);
    block_at(mirror, idx)->bytes += bytes;
}

void sl_mirror_release(sl_mirror *mirror, uint32_t idx) {
    if (block_at(mirror, idx)->segment_idx == SL_IDX_NONE) {
        forget(mirror, idx);
        return;
    }
    block_at(mirror, idx)->life_idx = SL_IDX_NONE;
    if (is_free(mirror, block_at(mirror, idx)->next))
        swallow_next(mirror, idx);
    uint32_t prev = block_at(mirror, idx)->prev;
    if (is_free(mirror, prev))
        swallow_next(mirror, prev);
}

static bool alone(sl_mirror *mirror, sl_life *life, uint32_t life_idx, uint64_t bytes) {
    uint32_t segment = sl_segment_set_at(&mirror->segments, mirror->history->at, life->addr);
    mirror->misses += segment != SL_IDX_NONE;
    life->segment_idx = segment;
    life->block_bytes = bytes;
    return insert(mirror, (sl_mirror_block){life->addr, bytes, SL_IDX_NONE, SL_IDX_NONE, life_idx,
                                            SL_IDX_NONE}) != SL_IDX_NONE;
}

bool sl_mirror_alloc(sl_mirror *mirror, sl_life *life, uint32_t life_idx, uint64_t exact_bytes) {
    uint64_t rounded =
        exact_bytes ? exact_bytes : sl_round_request(&mirror->rounding, life->requested_bytes);
    uint32_t idx = sl_addr_map_find(&mirror->by_addr, life->addr);
    if (idx == SL_ADDR_NONE || block_at(mirror, idx)->bytes < rounded) {
        life->flags |= exact_bytes ? 0 : SL_LIFE_BY_RULE;
        return alone(mirror, life, life_idx, rounded);
    }
    sl_mirror_block *block = block_at(mirror, idx);
    const sl_segment_life *segment = &mirror->history->at[block->segment_idx];
    uint64_t rest = block->bytes - rounded;
    bool is_split = exact_bytes ? rest > 0
                                : sl_should_split(&mirror->rounding, rounded, rest,
                                                  segment->is_large, segment->is_expandable);
    life->segment_idx = block->segment_idx;
    life->block_bytes = is_split ? rounded : block->bytes;
    block->life_idx = life_idx;
    if (!is_split)
        return true;
    block->bytes = rounded;
    sl_mirror_block tail = {life->addr + rounded, rest,        idx,
                            block->next,          SL_IDX_NONE, block->segment_idx};
    return insert(mirror, tail) != SL_IDX_NONE;
}

/* Whether two ranges are parts of one address reservation, so that a block may span them. */
static bool touches(const sl_segment_life *a, const sl_segment_life *b) {
    return a->is_expandable && b->is_expandable && a->addr + a->bytes == b->addr &&
           a->stream_idx == b->stream_idx;
}

/* First address of the run of touching ranges that ends with by_addr[pos]. */
static uint64_t run_start(const sl_mirror *mirror, size_t pos) {
    const sl_segment_life *all = mirror->history->at;
    const uint32_t *by_addr = mirror->segments.by_addr.at;
    while (pos > 0 && touches(&all[by_addr[pos - 1]], &all[by_addr[pos]]))
        pos--;
    return all[by_addr[pos]].addr;
}

/* The block of the run with this start that covers addr, or the last one before it. */
static uint32_t walk_to(const sl_mirror *mirror, uint64_t start, uint64_t addr) {
    uint32_t idx = sl_addr_map_find(&mirror->by_addr, start);
    if (idx == SL_ADDR_NONE)
        return SL_IDX_NONE;
    for (uint32_t next; next = block_at(mirror, idx)->next, next != SL_IDX_NONE; idx = next)
        if (block_at(mirror, next)->addr > addr)
            break;
    return idx;
}

bool sl_mirror_add_range(sl_mirror *mirror, sl_segment_life range) {
    /* Disagreement with what was reserved before is settled in favour of the event. */
    if (!sl_mirror_drop_range(mirror, range.addr, range.bytes, range.begin_event) ||
        !sl_vec_push(mirror->history, range))
        return false;
    uint32_t segment = (uint32_t)mirror->history->cnt - 1;
    if (!sl_segment_set_add(&mirror->segments, mirror->history->at, segment))
        return false;
    const sl_segment_life *all = mirror->history->at;
    const uint32_t *by_addr = mirror->segments.by_addr.at;
    size_t pos = sl_segment_set_find(&mirror->segments, all, range.addr);
    uint32_t prev = SL_IDX_NONE, next = SL_IDX_NONE;
    if (pos > 0 && touches(&all[by_addr[pos - 1]], &all[segment]))
        prev = walk_to(mirror, run_start(mirror, pos - 1), range.addr);
    if (pos + 1 < mirror->segments.by_addr.cnt && touches(&all[segment], &all[by_addr[pos + 1]]))
        next = sl_addr_map_find(&mirror->by_addr, range.addr + range.bytes);
    uint32_t idx = insert(mirror, (sl_mirror_block){range.addr, range.bytes, prev,
                                                    next == SL_ADDR_NONE ? SL_IDX_NONE : next,
                                                    SL_IDX_NONE, segment});
    if (idx == SL_IDX_NONE)
        return false;
    sl_mirror_release(mirror, idx);
    return true;
}

/* Takes [addr, end) out of a free block; what lies before and after stays. */
static bool carve(sl_mirror *mirror, uint32_t idx, uint64_t addr, uint64_t end) {
    sl_mirror_block block = *block_at(mirror, idx);
    uint64_t block_end = block.addr + block.bytes;
    bool has_left = addr > block.addr;
    if (has_left) {
        block_at(mirror, idx)->bytes = addr - block.addr;
        block_at(mirror, idx)->next = SL_IDX_NONE;
    } else {
        forget(mirror, idx);
        if (block.prev != SL_IDX_NONE)
            block_at(mirror, block.prev)->next = SL_IDX_NONE;
    }
    if (block.next != SL_IDX_NONE)
        block_at(mirror, block.next)->prev = SL_IDX_NONE;
    if (block_end <= end)
        return true;
    sl_mirror_block right = {end, block_end - end, SL_IDX_NONE, block.next, SL_IDX_NONE, 0};
    right.segment_idx = sl_segment_set_at(&mirror->segments, mirror->history->at, end);
    /* Ranges that overlap, in a trace at odds with itself: the rest lies in no segment and cannot be handed out. */
    if (right.segment_idx == SL_IDX_NONE)
        return true;
    return insert(mirror, right) != SL_IDX_NONE;
}

/* A block in use inside a range that goes away: the trace is at odds with itself. It stays alive
 * outside of the list. */
static void detach(sl_mirror *mirror, uint32_t idx) {
    sl_mirror_block *block = block_at(mirror, idx);
    if (block->prev != SL_IDX_NONE)
        block_at(mirror, block->prev)->next = SL_IDX_NONE;
    if (block->next != SL_IDX_NONE)
        block_at(mirror, block->next)->prev = SL_IDX_NONE;
    block->prev = block->next = block->segment_idx = SL_IDX_NONE;
}

bool sl_mirror_drop_range(sl_mirror *mirror, uint64_t addr, uint64_t bytes, uint32_t event) {
    uint64_t end = addr + bytes;
    size_t pos = sl_segment_set_find(&mirror->segments, mirror->history->at, addr);
    if (pos == mirror->segments.by_addr.cnt ||
        mirror->history->at[mirror->segments.by_addr.at[pos]].addr >= end)
        return true;
    uint32_t idx = walk_to(mirror, run_start(mirror, pos), addr);
    if (!sl_segment_set_cut(&mirror->segments, mirror->history, addr, bytes, event))
        return false;
    while (idx != SL_IDX_NONE && block_at(mirror, idx)->addr < end) {
        uint32_t next = block_at(mirror, idx)->next;
        bool is_before = block_at(mirror, idx)->addr + block_at(mirror, idx)->bytes <= addr;
        if (!is_before && is_free(mirror, idx) && !carve(mirror, idx, addr, end))
            return false;
        if (!is_before && !is_free(mirror, idx))
            detach(mirror, idx);
        idx = next;
    }
    return true;
}

/* In the large pool a rest of up to 1 MiB is never split off, so such a gap after a block whose
 * size is a guess belongs to that block. */
static void widen(const sl_mirror *mirror, sl_life *life, uint64_t gap) {
    const sl_segment_life *segment = &mirror->history->at[life->segment_idx];
    if ((life->flags & SL_LIFE_BY_RULE) && segment->is_large && !segment->is_expandable &&
        gap <= SL_ALLOC_SMALL_BYTES)
        life->block_bytes += gap;
}

/* Appends a block to the list that ends with *tail. */
static bool append(sl_mirror *mirror, uint32_t *tail, uint64_t addr, uint64_t bytes,
                   uint32_t life_idx) {
    uint32_t segment = sl_segment_set_at(&mirror->segments, mirror->history->at, addr);
    *tail = insert(mirror, (sl_mirror_block){addr, bytes, *tail, SL_IDX_NONE, life_idx, segment});
    return *tail != SL_IDX_NONE;
}

/* One run of touching ranges [start, end) with the lives ids[*next ...] in it. */
static bool place_run(sl_mirror *mirror, sl_life *lives, const uint32_t *ids, size_t cnt,
                      size_t *next, uint64_t start, uint64_t end) {
    uint64_t cursor = start;
    uint32_t tail = SL_IDX_NONE;
    for (; *next < cnt && lives[ids[*next]].addr < end; (*next)++) {
        sl_life *life = &lives[ids[*next]];
        uint64_t limit =
            *next + 1 < cnt && lives[ids[*next + 1]].addr < end ? lives[ids[*next + 1]].addr : end;
        life->segment_idx = sl_segment_set_at(&mirror->segments, mirror->history->at, life->addr);
        if (life->addr < cursor || life->block_bytes > limit - life->addr) {
            if (!alone(mirror, life, ids[*next], life->block_bytes))
                return false;
            continue;
        }
        widen(mirror, life, limit - life->addr - life->block_bytes);
        if (life->addr > cursor && !append(mirror, &tail, cursor, life->addr - cursor, SL_IDX_NONE))
            return false;
        if (!append(mirror, &tail, life->addr, life->block_bytes, ids[*next]))
            return false;
        cursor = life->addr + life->block_bytes;
    }
    return cursor == end || append(mirror, &tail, cursor, end - cursor, SL_IDX_NONE);
}

static bool place_outside(sl_mirror *mirror, sl_life *lives, const uint32_t *ids, size_t cnt,
                          size_t *next, uint64_t until) {
    for (; *next < cnt && lives[ids[*next]].addr < until; (*next)++)
        if (!alone(mirror, &lives[ids[*next]], ids[*next], lives[ids[*next]].block_bytes))
            return false;
    return true;
}

bool sl_mirror_place(sl_mirror *mirror, sl_life *lives, const uint32_t *ids, size_t cnt) {
    const sl_segment_life *all = mirror->history->at;
    size_t next = 0, range_cnt = mirror->history->cnt;
    for (uint32_t i = 0; i < range_cnt; i++)
        if (!sl_vec_push(&mirror->segments.by_addr, i))
            return false;
    for (size_t i = 0, last; i < range_cnt; i = last + 1) {
        for (last = i; last + 1 < range_cnt && touches(&all[last], &all[last + 1]);)
            last++;
        uint64_t end = all[last].addr + all[last].bytes;
        if (!place_outside(mirror, lives, ids, cnt, &next, all[i].addr) ||
            !place_run(mirror, lives, ids, cnt, &next, all[i].addr, end))
            return false;
    }
    return place_outside(mirror, lives, ids, cnt, &next, UINT64_MAX);
}
