/* SPDX-License-Identifier: MIT */
/* Live bytes split by user line, by file, and by stream, at the highest moment of each column. The
 * parts therefore add up to a value that was really reached. */
#include <stdlib.h>

#include "export/page_lane.h"

typedef struct ranked {
    uint32_t id;
    uint64_t bytes;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* One way of splitting: the group of every site or stream, and the values row by row. */
typedef struct split {
    sl_page_groups *groups;
    uint8_t *group_of; /* owned; by site, or by stream */
    uint64_t now[SL_PAGE_GROUP_MAX];
    uint64_t *rows; /* owned; group-major */
    bool is_by_stream;
    sl_page_column column;
} split;

static const char *text_of(const sl_page_lane *lane, uint32_t string) {
    return sl_strtab_get(&lane->source->names->strings, string).ptr;
}

static sl_frame frame_of(const sl_page_lane *lane, size_t site) {
    return lane->source->names->stacks.frames.at[lane->sites.at[site].frame];
}

/* The largest get a group of their own, all others share the last one. */
static void count_groups(size_t cnt, sl_page_groups *groups) {
    groups->cnt = cnt < SL_PAGE_GROUP_MAX ? cnt : SL_PAGE_GROUP_MAX;
    if (cnt > SL_PAGE_GROUP_MAX)
        groups->at[SL_PAGE_GROUP_MAX - 1] =
            (sl_page_group){.label = "everything else", .frame = SL_IDX_NONE};
}

static void rank_groups(ranked *all, size_t cnt, sl_page_groups *groups) {
    qsort(all, cnt, sizeof *all, compare_ranked);
    count_groups(cnt, groups);
}

static size_t own_groups(size_t cnt) {
    return cnt > SL_PAGE_GROUP_MAX ? SL_PAGE_GROUP_MAX - 1 : cnt;
}

static bool split_by_line(sl_page_lane *lane, split *by) {
    size_t cnt = 0;
    ranked *all = malloc((lane->sites.cnt + 1) * sizeof *all);
    by->group_of = malloc(lane->sites.cnt + 1);
    if (!all || !by->group_of) {
        free(all);
        return false;
    }
    for (uint32_t i = 0; i < lane->sites.cnt; i++) {
        by->group_of[i] = SL_PAGE_GROUP_MAX - 1;
        if (lane->sites.at[i].peak_bytes > 0)
            all[cnt++] = (ranked){i, lane->sites.at[i].peak_bytes};
    }
    rank_groups(all, cnt, by->groups);
    for (size_t g = 0; g < own_groups(cnt); g++) {
        by->group_of[all[g].id] = (uint8_t)g;
        by->groups->at[g] = (sl_page_group){.label = text_of(lane, frame_of(lane, all[g].id).file),
                                            .frame = lane->sites.at[all[g].id].frame};
    }
    free(all);
    return true;
}

/* The file of a site; one without a line is known by its words. */
static uint32_t file_of(const sl_page_lane *lane, size_t site) {
    sl_frame frame = frame_of(lane, site);
    return frame.file ? frame.file : frame.function;
}

static bool split_by_file(sl_page_lane *lane, split *by) {
    size_t strings = lane->source->names->strings.strings.cnt, cnt = 0;
    ranked *all = calloc(strings + 1, sizeof *all);
    uint8_t *group_of_file = calloc(strings + 1, 1);
    by->group_of = calloc(lane->sites.cnt + 1, 1);
    bool ok = all && group_of_file && by->group_of;
    if (ok) {
        for (size_t i = 0; i < lane->sites.cnt; i++)
            all[file_of(lane, i)].bytes += lane->sites.at[i].peak_bytes;
        for (uint32_t i = 0; i < strings; i++)
            if (all[i].bytes > 0)
                all[cnt++] = (ranked){i, all[i].bytes};
        rank_groups(all, cnt, by->groups);
        for (size_t i = 0; i < strings; i++)
            group_of_file[i] = SL_PAGE_GROUP_MAX - 1;
        for (size_t g = 0; g < own_groups(cnt); g++) {
            group_of_file[all[g].id] = (uint8_t)g;
            by->groups->at[g] = (sl_page_group){text_of(lane, all[g].id), SL_IDX_NONE};
        }
        for (size_t i = 0; i < lane->sites.cnt; i++)
            by->group_of[i] = group_of_file[file_of(lane, i)];
    }
    free(all);
    free(group_of_file);
    return ok;
}

static bool split_by_stream(sl_page_lane *lane, split *by) {
    size_t cnt = lane->trace->streams.cnt;
    by->group_of = calloc(UINT16_MAX + 1, 1);
    if (!by->group_of)
        return false;
    for (size_t i = 0; i <= UINT16_MAX; i++)
        by->group_of[i] = (uint8_t)(i < own_groups(cnt) ? i : SL_PAGE_GROUP_MAX - 1);
    count_groups(cnt ? cnt : 1, by->groups);
    static const char *const labels[] = {"stream 0", "stream 1", "stream 2",  "stream 3",
                                         "stream 4", "stream 5", "stream 6",  "stream 7",
                                         "stream 8", "stream 9", "stream 10", "stream 11"};
    for (size_t g = 0; g < own_groups(by->groups->cnt); g++)
        by->groups->at[g] = (sl_page_group){labels[g], SL_IDX_NONE};
    return true;
}

static void apply(const sl_page_lane *lane, split *by, const sl_life *life, bool is_begin) {
    size_t key = by->is_by_stream ? life->stream_idx : sl_page_lane_site(lane, life);
    uint64_t *now = &by->now[by->group_of[key]];
    *now += is_begin ? life->requested_bytes : 0 - life->requested_bytes;
}

static void take_column(split *splits, size_t split_cnt, size_t column, size_t column_cnt) {
    for (size_t s = 0; s < split_cnt; s++)
        for (size_t g = 0; g < splits[s].groups->cnt; g++)
            splits[s].rows[g * column_cnt + column] = splits[s].now[g];
}

static void walk_columns(sl_page_lane *lane, split *splits, size_t split_cnt,
                         const uint32_t *instants, uint32_t column_cnt) {
    for (size_t i = 0; i < lane->replay->base_cnt; i++)
        for (size_t s = 0; s < split_cnt; s++)
            apply(lane, &splits[s], &lane->replay->lives.at[i], true);
    uint32_t column = 0;
    sl_page_walk_rewind(&lane->walk);
    for (sl_page_change change; sl_page_walk_next(&lane->walk, &change);) {
        for (; column < column_cnt && instants[column] < change.event; column++)
            take_column(splits, split_cnt, column, column_cnt);
        for (size_t s = 0; s < split_cnt; s++)
            apply(lane, &splits[s], &lane->replay->lives.at[change.life], change.is_begin);
    }
    for (; column < column_cnt; column++)
        take_column(splits, split_cnt, column, column_cnt);
}

static void put_rows(sl_page_lane *lane, const split *by, size_t column_cnt) {
    for (size_t i = 0; i < by->groups->cnt * column_cnt; i++)
        sl_page_put(&lane->columns, by->column, (int64_t)by->rows[i]);
}

bool sl_page_add_groups(sl_page_lane *lane) {
    split splits[] = {
        {.groups = &lane->lines, .column = SL_PAGE_GROUPS_LINE},
        {.groups = &lane->files, .column = SL_PAGE_GROUPS_FILE},
        {.groups = &lane->streams, .column = SL_PAGE_GROUPS_STREAM, .is_by_stream = true},
    };
    uint32_t column_cnt = lane->budget.columns;
    uint32_t *instants = NULL;
    bool ok = split_by_line(lane, &splits[0]) && split_by_file(lane, &splits[1]) &&
              split_by_stream(lane, &splits[2]) && sl_page_instants(lane, &column_cnt, &instants);
    for (size_t s = 0; ok && s < SL_COUNT_OF(splits); s++) {
        splits[s].rows = calloc((size_t)column_cnt * SL_PAGE_GROUP_MAX + 1, sizeof(uint64_t));
        ok = splits[s].rows != NULL;
    }
    if (ok) {
        walk_columns(lane, splits, SL_COUNT_OF(splits), instants, column_cnt);
        for (uint32_t i = 0; i < column_cnt; i++)
            sl_page_put(&lane->columns, SL_PAGE_GROUPS_EVENT, instants[i]);
        for (size_t s = 0; s < SL_COUNT_OF(splits); s++)
            put_rows(lane, &splits[s], column_cnt);
    }
    for (size_t s = 0; s < SL_COUNT_OF(splits); s++) {
        free(splits[s].group_of);
        free(splits[s].rows);
    }
    free(instants);
    return ok;
}
