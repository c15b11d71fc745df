/* SPDX-License-Identifier: MIT */
#include "tui/facts/tui_model.h"

void sl_tui_source_free(sl_tui_source *source) {
    if (!source)
        return;
    for (size_t i = 0; i < source->devices.cnt; i++)
        sl_tree_free(&source->devices.at[i].sites);
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
