/* SPDX-License-Identifier: MIT */
#include "page/page_walk.h"

typedef struct stray_key {
    uint32_t event;
    uint32_t life;
} stray_key;

static int compare_strays(const void *a, const void *b) {
    const stray_key *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->life < y->life ? -1 : x->life > y->life;
}

typedef SL_VEC(stray_key) stray_keys;

static bool find_strays(const sl_replay *replay, stray_keys *keys) {
    for (uint32_t i = 0; i < replay->lives.cnt; i++) {
        uint32_t end = replay->lives.at[i].end_event;
        if (end == SL_EVENT_NEVER || replay->life_of_event[end] == i)
            continue;
        if (!sl_vec_push(keys, ((stray_key){end, i})))
            return false;
    }
    if (keys->cnt > 1)
        qsort(keys->at, keys->cnt, sizeof *keys->at, compare_strays);
    return true;
}

bool sl_page_walk_init(sl_page_walk *walk, const sl_replay *replay) {
    *walk = (sl_page_walk){.replay = replay};
    stray_keys keys = {0};
    bool ok = find_strays(replay, &keys) && sl_vec_reserve(&walk->strays, keys.cnt);
    for (size_t i = 0; ok && i < keys.cnt; i++)
        walk->strays.at[walk->strays.cnt++] = keys.at[i].life;
    sl_vec_free(&keys);
    return ok;
}

void sl_page_walk_rewind(sl_page_walk *walk) {
    walk->event = 0;
    walk->next_stray = 0;
}

void sl_page_walk_fini(sl_page_walk *walk) {
    sl_vec_free(&walk->strays);
}

static bool take_stray(sl_page_walk *walk, sl_page_change *change) {
    if (walk->next_stray == walk->strays.cnt)
        return false;
    uint32_t life = walk->strays.at[walk->next_stray];
    uint32_t end = walk->replay->lives.at[life].end_event;
    if (end > walk->event)
        return false;
    walk->next_stray++;
    *change = (sl_page_change){end, life, false};
    return true;
}

bool sl_page_walk_next(sl_page_walk *walk, sl_page_change *change) {
    const sl_replay *replay = walk->replay;
    for (;;) {
        if (take_stray(walk, change))
            return true;
        if (walk->event >= replay->event_cnt)
            return false;
        uint32_t event = walk->event++;
        uint32_t life = replay->life_of_event[event];
        if (life == SL_IDX_NONE)
            continue;
        const sl_life *at = &replay->lives.at[life];
        if (at->begin_event == event || at->end_event == event) {
            *change = (sl_page_change){event, life, at->begin_event == event};
            return true;
        }
    }
}
