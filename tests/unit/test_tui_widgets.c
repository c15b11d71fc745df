/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"
#include "tui/app/tui_keys.h"
#include "tui/grid/screen_out.h"
#include "tui/widget/curve_chart.h"
#include "tui/widget/grid_table.h"
#include "tui/widget/tree_rows.h"

#define GIB 1073741824.0

static void check_text(const sl_grid *grid, const char *expected) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    sl_screen_write_text(grid, to);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

static void make(sl_grid *grid, int w, int h, bool is_ascii) {
    assert_int_equal(sl_grid_init(grid, w, h, NULL), SL_OK);
    grid->is_ascii = is_ascii;
}

/* ---- charts ---- */

static void test_curve_in_ascii(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    const double rising[] = {0, 1 * GIB, 2 * GIB, 3 * GIB};
    sl_curve curve = {"allocated", rising, SL_INK_SERIES_1};
    sl_chart_frame frame = {.to_us = 3000000, .has_time = true, .cursor = -1};
    make(&grid, 26, 7, true);
    sl_put_curves(&grid, sl_grid_area(&grid), &curve, 1, 4, &frame);
    assert_int_equal(grid.overlap_cnt + grid.cut_cnt, 0);
    check_text(&grid, "* allocated\n"
                      "                      ****\n"
                      "   2 GiB          *****\n"
                      "                  *\n"
                      "              *****\n"
                      "       0 ******\n"
                      "         0          3.00 s\n");
    sl_grid_fini(&grid);
}

static void test_curve_in_braille(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    const double values[] = {0, 0, 1, 1, NAN, NAN, 0.5, 0.5};
    sl_curve curve = {"x", values, SL_INK_SERIES_1};
    sl_chart_frame frame = {.to_us = 1, .cursor = -1};
    make(&grid, 4, 1, false);
    sl_put_curves(&grid, sl_grid_area(&grid), &curve, 1, 8, &frame);
    /* Down, then up in one column, nothing where nothing is known, half way. */
    check_text(&grid, "\u28c0\u284f \u2812\n");
    sl_grid_fini(&grid);
}

static void test_stack_adds_up(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    const double lower[] = {2, 2, 2, 2}, upper[] = {0, 2, 2, 0};
    sl_curve curves[] = {{"a", lower, SL_INK_SERIES_1}, {"b", upper, SL_INK_SERIES_2}};
    sl_chart_frame frame = {.to_us = 1, .cursor = -1, .has_no_legend = true};
    make(&grid, 4, 4, true);
    sl_put_stack(&grid, sl_grid_area(&grid), curves, 2, 4, &frame);
    check_text(&grid, " ==\n ==\n####\n####\n");
    sl_grid_fini(&grid);
}

static void test_bar_shows_small_parts(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    sl_bar_part parts[] = {{50, SL_INK_SERIES_1}, {0.1, SL_INK_SERIES_2}, {20, SL_INK_SERIES_3}};
    make(&grid, 10, 1, true);
    sl_put_bar(&grid, sl_grid_area(&grid), parts, 3, 100);
    check_text(&grid, "#####=+...\n");
    sl_grid_fini(&grid);
}

/* ---- tables ---- */

static const sl_table_column columns[] = {
    {.title = "live", .is_right = true, .rank = 1},
    {.title = "growth", .is_right = true, .rank = 2},
    {.title = "place", .is_wide = true, .is_path = true},
};

static void cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                 sl_ink *ink) {
    SL_UNUSED(ctx);
    SL_UNUSED(ink);
    if (column == 2)
        snprintf(text, SL_TABLE_TEXT_CAP, "/home/user/train.py:%zu", row);
    else
        snprintf(text, SL_TABLE_TEXT_CAP, "%zu GiB", column ? row : row * 100);
}

static void test_columns_are_shown_whole_or_hidden(void **state) {
    SL_UNUSED(state);
    static const struct {
        int w;
        const char *text;
    } rows[] = {
        {40, "   live  growth  place\n  0 GiB   0 GiB  /home/user/train.py:0\n"
             "100 GiB   1 GiB  /home/user/train.py:1\n"},
        {24, "   live  place\n  0 GiB  .../train.py:0\n100 GiB  .../train.py:1\n"},
        {19, "   live  place\n  0 GiB  ...in.py:0\n100 GiB  ...in.py:1\n"},
        {12, "place\n...rain.py:0\n...rain.py:1\n"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_grid grid;
        sl_list_state list = {0};
        sl_table table = {columns, 3, 2, NULL, cell, SIZE_MAX, ""};
        make(&grid, rows[i].w, 3, false);
        sl_put_table(&grid, sl_grid_area(&grid), &table, &list);
        assert_int_equal(grid.overlap_cnt + grid.cut_cnt, 0);
        check_text(&grid, rows[i].text);
        sl_grid_fini(&grid);
    }
}

static void test_list_scrolls_with_the_selection(void **state) {
    SL_UNUSED(state);
    sl_list_state list = {0};
    sl_list_move(&list, 1000, 50);
    assert_int_equal(list.selected, 49);
    sl_list_scroll(&list, 50, 10);
    assert_int_equal(list.first, 40);
    sl_list_move(&list, -9, 50);
    sl_list_scroll(&list, 50, 10);
    assert_int_equal(list.first, 40);
    sl_list_move(&list, -1, 50);
    sl_list_scroll(&list, 50, 10);
    assert_int_equal(list.first, 39);
    sl_list_scroll(&list, 5, 10); /* the list became shorter */
    assert_int_equal(list.selected, 4);
    assert_int_equal(list.first, 0);
    sl_list_move(&list, 1, 0);
    assert_int_equal(list.selected, 0);
}

/* ---- trees ---- */

static uint32_t add(sl_tree *tree, const char *text, uint32_t parent, sl_tree_level level,
                    int64_t live, int64_t growth) {
    sl_tree_node node = {.text = text, .file = "", .parent = parent, .level = (uint8_t)level};
    node.figures[SL_TREE_LIVE] = live, node.figures[SL_TREE_GROWTH] = growth;
    node.known[SL_TREE_LIVE] = node.known[SL_TREE_GROWTH] = true;
    return sl_tree_add(tree, &node);
}

static void check_rows(const sl_tree *tree, const sl_tree_order *order, const char *expected) {
    sl_tree_rows rows = {0};
    char text[256] = "";
    assert_true(sl_tree_flatten(tree, order, &rows));
    for (size_t i = 0; i < rows.cnt; i++) {
        strcat(text, i ? " " : "");
        strcat(text, tree->nodes.at[rows.at[i]].text);
    }
    assert_string_equal(text, expected);
    sl_vec_free(&rows);
}

static void test_tree_sorts_opens_and_searches(void **state) {
    SL_UNUSED(state);
    sl_tree tree = {0};
    uint32_t a = add(&tree, "a.py", SL_TREE_ROOT, SL_TREE_FILE, 30, 1);
    uint32_t b = add(&tree, "b.py", SL_TREE_ROOT, SL_TREE_FILE, 50, 0);
    uint32_t small = add(&tree, "a:1", a, SL_TREE_LINE, 10, 9);
    add(&tree, "a:2", a, SL_TREE_LINE, 20, -8);
    add(&tree, "b:1", b, SL_TREE_LINE, 50, 0);
    add(&tree, "inner", small, SL_TREE_FRAME, 0, 0);
    add(&tree, "outer", small, SL_TREE_FRAME, 0, 0);
    sl_tree_order order = {.by = SL_TREE_LIVE, .search = ""};
    check_rows(&tree, &order, "b:1 a:2 a:1");
    order.by = SL_TREE_GROWTH;
    check_rows(&tree, &order, "a:1 b:1 a:2");
    tree.nodes.at[small].is_open = true;
    check_rows(&tree, &order, "a:1 inner outer b:1 a:2");
    order.search = "B:";
    check_rows(&tree, &order, "b:1");
    order.search = "OUTER"; /* of a frame: its line is found */
    check_rows(&tree, &order, "a:1 inner outer");
    order = (sl_tree_order){.by = SL_TREE_LIVE, .by_file = true, .search = ""};
    check_rows(&tree, &order, "b.py a.py");
    tree.nodes.at[a].is_open = true;
    tree.nodes.at[small].is_open = false;
    check_rows(&tree, &order, "b.py a.py a:2 a:1");
    sl_tree_free(&tree);
}

/* ---- keys ---- */

/* A key means one thing in a tab, and what the help shows is what it does. */
static void test_keys_do_not_collide(void **state) {
    SL_UNUSED(state);
    for (int tab = 0; tab < SL_TAB_CNT; tab++)
        for (size_t i = 0; i < sl_key_row_cnt; i++) {
            const sl_key_row *row = &sl_key_rows[i];
            if (!(row->tabs >> tab & 1u))
                continue;
            assert_int_equal(sl_key_action(row->key, (sl_tab)tab), row->action);
            if (row->other)
                assert_int_equal(sl_key_action(row->other, (sl_tab)tab), row->action);
            assert_true(strlen(row->help) > 3 && strlen(row->shown) < 10);
        }
    assert_int_equal(sl_key_action(0, SL_TAB_LIVE), SL_DO_NOTHING);
    assert_int_equal(sl_key_action('s', SL_TAB_LIVE), SL_DO_NOTHING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve_in_ascii),
        cmocka_unit_test(test_curve_in_braille),
        cmocka_unit_test(test_stack_adds_up),
        cmocka_unit_test(test_bar_shows_small_parts),
        cmocka_unit_test(test_columns_are_shown_whole_or_hidden),
        cmocka_unit_test(test_list_scrolls_with_the_selection),
        cmocka_unit_test(test_tree_sorts_opens_and_searches),
        cmocka_unit_test(test_keys_do_not_collide),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
