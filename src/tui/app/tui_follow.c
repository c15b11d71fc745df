/* SPDX-License-Identifier: MIT */
/* The place that is selected in the tab Sites: it stays selected when the rows are sorted anew, its source is shown
 * where the file is readable here, and one line is followed over time. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tui/app/tui_app.h"

/* A file beyond this is not searched for a line. */
#define SOURCE_MAX (8 << 20)

static const sl_tree_node *node_at(const sl_app *app, size_t row) {
    sl_tui_device *device = sl_screen_device(&app->screen);
    return device && row < app->ui.rows.cnt
               ? &sl_screen_tree(&app->screen, device)->nodes.at[app->ui.rows.at[row]]
               : NULL;
}

static void read_excerpt(sl_source_excerpt *out, const char *path, uint32_t line_number) {
    char line[sizeof out->rows[0]];
    struct stat info;
    if (out->marked == line_number && strncmp(out->path, path, sizeof out->path - 1) == 0)
        return;
    *out = (sl_source_excerpt){.marked = line_number};
    snprintf(out->path, sizeof out->path, "%s", path);
    if (!line_number || stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size > SOURCE_MAX)
        return;
    out->first = line_number > SL_EXCERPT_ROWS / 2 ? line_number - SL_EXCERPT_ROWS / 2 : 1;
    FILE *file = fopen(path, "re");
    bool is_begin = true; /* longer lines come in several parts */
    for (uint32_t i = 1; file && out->cnt < SL_EXCERPT_ROWS && fgets(line, sizeof line, file);) {
        bool is_end = strchr(line, '\n') != NULL;
        line[strcspn(line, "\r\n")] = '\0';
        if (i >= out->first && is_begin)
            memcpy(out->rows[out->cnt++], line, sizeof line);
        i += is_end;
        is_begin = is_end;
    }
    if (file)
        fclose(file);
    if (out->first + out->cnt <= line_number)
        out->cnt = 0; /* the file is shorter than it was */
}

void sl__app_note_selection(sl_app *app) {
    const sl_tree_node *node = node_at(app, app->ui.lists[SL_TAB_SITES].selected);
    snprintf(app->selected, sizeof app->selected, "%s", node ? node->text : "");
}

void sl__app_keep_selection(sl_app *app) {
    sl_list_state *list = &app->ui.lists[SL_TAB_SITES];
    const sl_tree_node *node = node_at(app, list->selected);
    if (*app->selected && node && strcmp(node->text, app->selected) != 0)
        for (size_t row = 0; row < app->ui.rows.cnt; row++)
            if (strcmp(node_at(app, row)->text, app->selected) == 0) {
                list->selected = row;
                node = node_at(app, row);
                break;
            }
    app->selected[0] = '\0';
    read_excerpt(&app->ui.source, node ? node->file : "", node ? node->line_number : 0);
}

/* ---- the line that is followed ---- */

static const sl_tree_node *followed_node(const sl_app *app) {
    const sl_tui_device *device = sl_screen_device(&app->screen);
    for (size_t i = 0; device && i < device->sites.nodes.cnt; i++) {
        const sl_tree_node *node = &device->sites.nodes.at[i];
        if (node->level == SL_TREE_LINE && strcmp(node->text, app->ui.followed) == 0)
            return node;
    }
    return NULL;
}

void sl__app_follow(sl_app *app) {
    const sl_tree_node *node = *app->ui.followed ? followed_node(app) : NULL;
    const sl_tui_device *device = sl_screen_device(&app->screen);
    if (!node || !device)
        return;
    if (app->live) {
        if (app->follow.cnt == 0 || device->to_us > app->follow.to_us)
            sl_follow_add(&app->follow, device->to_us, (uint64_t)node->figures[SL_TREE_LIVE]);
    } else if (!app->screen.live && !app->is_follow_made && !sl_loader_is_busy(app->loader)) {
        app->is_follow_made = sl_follow_facts(&app->inputs, app->screen.whole, app->ui.device,
                                              node->key, &app->follow);
    }
}
