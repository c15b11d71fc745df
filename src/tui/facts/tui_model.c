/* SPDX-License-Identifier: MIT */
#include "tui/facts/tui_model.h"

#include <math.h>
#include <stdlib.h>

void sl_tui_source_free(sl_tui_source *source) {
    if (!source)
        return;
    for (size_t i = 0; i < source->devices.cnt; i++) {
        sl_tree_free(&source->devices.at[i].sites);
        sl_tree_free(&source->devices.at[i].modules);
    }
    sl_vec_free(&source->processes);
    sl_vec_free(&source->devices);
    sl_vec_free(&source->findings);
    sl_vec_free(&source->alerts);
    sl_vec_free(&source->ranks);
    sl_vec_free(&source->notes);
    sl_arena_fini(&source->arena);
    free(source);
}

void sl_tui_timeline_free(sl_tui_timeline *timeline) {
    if (!timeline)
        return;
    sl_vec_free(&timeline->steps);
    sl_arena_fini(&timeline->arena);
    free(timeline);
}

void sl_tui_whatif_free(sl_tui_whatif *whatif) {
    if (!whatif)
        return;
    sl_arena_fini(&whatif->arena);
    free(whatif);
}

void sl_tui_comparison_free(sl_tui_comparison *comparison) {
    if (!comparison)
        return;
    sl_vec_free(&comparison->rows);
    sl_arena_fini(&comparison->arena);
    free(comparison);
}

/* ---- the axis of the timeline ---- */

/* A silence takes this part of the axis. */
#define SILENCE_SHARE 40

void sl_tui_timeline_set_axis(sl_tui_timeline *t) {
    int64_t kept = t->to_us - t->from_us + 1;
    for (size_t i = 0; i < t->silence_cnt; i++)
        kept -= t->silences[i].to_us - t->silences[i].from_us;
    t->silence_columns = fmax(1, (double)t->cnt / SILENCE_SHARE);
    double room = (double)t->cnt - t->silence_columns * (double)t->silence_cnt;
    t->columns_per_us = fmax(1, room) / (double)(kept > 0 ? kept : 1);
}

double sl_tui_timeline_column(const sl_tui_timeline *t, int64_t us) {
    double scale = t->columns_per_us, width = t->silence_columns, column = 0;
    int64_t at = t->from_us;
    for (size_t i = 0; i < t->silence_cnt && us > t->silences[i].from_us; i++) {
        const sl_tui_silence *gap = &t->silences[i];
        column += (double)(gap->from_us - at) * scale;
        if (us < gap->to_us)
            return column +
                   width * (double)(us - gap->from_us) / (double)(gap->to_us - gap->from_us);
        column += width;
        at = gap->to_us;
    }
    return column + (double)(us - at) * scale;
}

int64_t sl_tui_timeline_time(const sl_tui_timeline *t, double column) {
    double scale = t->columns_per_us, width = t->silence_columns, from = 0;
    int64_t at = t->from_us;
    for (size_t i = 0; i < t->silence_cnt; i++) {
        const sl_tui_silence *gap = &t->silences[i];
        double begin = from + (double)(gap->from_us - at) * scale;
        if (column < begin)
            break;
        if (column < begin + width)
            return gap->from_us +
                   (int64_t)((double)(gap->to_us - gap->from_us) * (column - begin) / width);
        from = begin + width;
        at = gap->to_us;
    }
    return at + (int64_t)((column - from) / scale);
}

const sl_tui_silence *sl_tui_timeline_silence(const sl_tui_timeline *t, size_t column) {
    for (size_t i = 0; i < t->silence_cnt; i++) {
        double begin = sl_tui_timeline_column(t, t->silences[i].from_us);
        if ((double)column + 0.5 >= begin && (double)column + 0.5 < begin + t->silence_columns)
            return &t->silences[i];
    }
    return NULL;
}
