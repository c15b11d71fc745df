/* SPDX-License-Identifier: MIT */
/* An icicle graph of the live bytes at the peak: callers above, the allocating call below, width
 * by bytes. Lines of the user's own code are highlighted, because those are the lines the user
 * can change. */
#include <math.h>

#include "base/text/human.h"
#include "plot/canvas/plot_frame.h"
#include "plot/flame_tree.h"

#define ROW_MAX   28.0
#define ROW_MIN   15.0
#define NARROW    0.7 /* pixels; narrower boxes cannot be seen */
#define TEXT_FROM 26.0
#define FOOT      18.0

typedef struct icicle {
    sl_plot *plot;
    const sl_trace *trace;
    sl_flame_tree tree;
    sl_box box;
    double row;
    size_t rows;     /* rows that fit */
    bool is_cut;     /* some rows did not fit */
    bool has_narrow; /* some boxes are too narrow to be seen */
} icicle;

static void name_node(const icicle *ice, const sl_flame_node *node, bool is_root, char *buf,
                      size_t cap) {
    char human[SL_HUMAN_CAP];
    sl_human_bytes(human, node->bytes);
    if (is_root) {
        snprintf(buf, cap, "all live memory, %s", human);
        return;
    }
    if (node->frame_id == SL_IDX_NONE) {
        snprintf(buf, cap, "no recorded stack, %s", human);
        return;
    }
    sl_frame frame = ice->trace->stacks.frames.at[node->frame_id];
    const char *function = sl_strtab_get(&ice->trace->strings, frame.function).ptr;
    const char *file = sl_strtab_get(&ice->trace->strings, frame.file).ptr;
    if (frame.line)
        snprintf(buf, cap, "%.80s  %.80s:%u, %s", function, sl_plot_basename(file), frame.line,
                 human);
    else
        snprintf(buf, cap, "%.160s, %s", function, human);
}

/* The user's lines in full colour, the rest in a pale one whose shade only separates files. */
static sl_paint node_paint(const icicle *ice, const sl_flame_node *node) {
    const sl_plot_theme_colors *theme = ice->plot->theme;
    if (node->frame_id == SL_IDX_NONE)
        return (sl_paint){theme->other, 0.45};
    if (node->is_user)
        return (sl_paint){theme->series[1], 0.95};
    uint32_t file = ice->trace->stacks.frames.at[node->frame_id].file;
    return (sl_paint){theme->series[0], 0.18 + 0.07 * (double)(file % 4)};
}

static void draw_node(icicle *ice, const sl_flame_node *node, sl_box box, bool is_root) {
    sl_text_style style = sl_plot_small(ice->plot);
    /* The highlight colour is bright in both themes, so its text is dark. */
    style.paint = sl_solid(node->is_user ? 0x1f2328 : ice->plot->theme->text);
    char name[256];
    sl_canvas_rect(ice->plot->canvas,
                   (sl_box){box.x + 0.5, box.y + 0.5, fmax(box.w - 1, 0.4), box.h - 1},
                   node_paint(ice, node));
    if (box.w < TEXT_FROM)
        return;
    name_node(ice, node, is_root, name, sizeof name);
    sl_canvas_text_fit(ice->plot->canvas, (sl_point){box.x + 5, box.y + box.h / 2 + 4}, name,
                       box.w - 10, style);
}

/* The recursion is no deeper than the rows that fit. */
static void draw_tree(icicle *ice, uint32_t idx, sl_box box, size_t row) {
    const sl_flame_node *node = &ice->tree.nodes.at[idx];
    draw_node(ice, node, box, idx == 0);
    if (node->first_child == SL_IDX_NONE)
        return;
    if (row + 1 >= ice->rows) {
        ice->is_cut = true;
        return;
    }
    double x = box.x;
    for (uint32_t i = node->first_child; i != SL_IDX_NONE; i = ice->tree.nodes.at[i].next_sibling) {
        double width = box.w * (double)ice->tree.nodes.at[i].bytes / (double)node->bytes;
        if (width < NARROW) {
            ice->has_narrow = true; /* the rest is too: siblings are largest first */
            break;
        }
        draw_tree(ice, i, (sl_box){x, box.y + box.h, width, box.h}, row + 1);
        x += width;
    }
}

static void draw_foot(icicle *ice, sl_box box) {
    double y = box.y + box.h - 2, x = box.x;
    char text[256];
    sl_canvas_rect(ice->plot->canvas, (sl_box){x, y - 9, 10, 10},
                   sl_solid(ice->plot->theme->series[1]));
    snprintf(text, sizeof text, "your lines; callers above, the allocating call below%s%s%s",
             ice->tree.has_skipped ? "; frames of machine code are left out" : "",
             ice->has_narrow ? "; boxes narrower than a pixel are not drawn" : "",
             ice->is_cut ? "; deeper frames do not fit into this height" : "");
    sl_canvas_text_fit(ice->plot->canvas, (sl_point){x + 16, y}, text, box.w - 16,
                       sl_plot_small(ice->plot));
}

static void draw_icicle(icicle *ice, const sl_plot_input *input) {
    char subtitle[SL_WORDS_CAP];
    sl_plot_describe(subtitle, ice->plot, input);
    sl_words_append(subtitle, input->replay->has_history ? ", live at the peak" : ", live memory");
    sl_box box = sl_plot_begin(ice->plot, subtitle);
    double height = box.h - FOOT, wanted = height / (double)(ice->tree.depth + 1);
    ice->row = fmin(fmax(wanted, ROW_MIN), ROW_MAX);
    ice->rows = (size_t)fmax(height / ice->row, 1);
    draw_tree(ice, 0, (sl_box){box.x, box.y, box.w, ice->row}, 0);
    draw_foot(ice, box);
}

sl_status sl_plot_flame(sl_plot *plot, sl_error *err) {
    const sl_plot_input *input = &plot->inputs[0];
    icicle ice = {.plot = plot, .trace = input->trace};
    bool is_done = sl_flame_tree_init(&ice.tree, input->lines, input->replay,
                                      input->replay->peak_requested.event);
    if (is_done)
        draw_icicle(&ice, input);
    sl_flame_tree_fini(&ice.tree);
    return is_done ? SL_OK : sl_fail_no_memory(err, "the tree of the stacks");
}
