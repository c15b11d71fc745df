/* SPDX-License-Identifier: MIT */
#include "tui/grid/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"
#include "tui/grid/cell_text.h"
#include "tui/grid/paint.h"
#include "tui/grid/screen_out.h"

static char *text_of(const sl_grid *grid) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    sl_screen_write_text(grid, to);
    fclose(to);
    return text;
}

static void check_text(const sl_grid *grid, const char *expected) {
    char *text = text_of(grid);
    assert_string_equal(text, expected);
    free(text);
}

static void make(sl_grid *grid, int w, int h) {
    assert_int_equal(sl_grid_init(grid, w, h, NULL), SL_OK);
}

static void test_numbers_are_not_cut(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text;
        size_t columns;
        const char *shown;
    } rows[] = {
        {"12.3 GiB of 140 GiB", 19, "12.3 GiB of 140 GiB"},
        {"12.3 GiB of 140 GiB", 18, "12.3 GiB of\u2026"},
        {"12.3 GiB of 140 GiB", 12, "12.3 GiB of\u2026"},
        {"12.3 GiB of 140 GiB", 8, "\u2026"},
        {"12.3 GiB of 140 GiB", 4, "\u2026"},
        {"steps 1,234,567", 14, "steps\u2026"},
        {"peak 5 GiB", 7, "peak\u2026"},
        {"a long sentence", 8, "a long\u2026"},
        {"x", 1, "x"},
        {"xy", 1, "\u2026"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        bool is_cut;
        char shown[64];
        size_t len = sl_fit_text(rows[i].text, rows[i].columns, &is_cut);
        snprintf(shown, sizeof shown, "%.*s%s", (int)len, rows[i].text, is_cut ? "\u2026" : "");
        assert_string_equal(shown, rows[i].shown);
    }
}

static void test_wide_characters(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    make(&grid, 5, 1);
    /* The second one has only one column left. */
    assert_int_equal(sl_put_text(&grid, (sl_rect){0, 0, 4, 1}, SL_INK_TEXT, "\u6f22\u5b57"), 4);
    assert_int_equal(sl_grid_put(&grid, 4, 0, 0x6f22, SL_INK_TEXT), 2);
    assert_int_equal(sl_grid_put(&grid, 4, 0, 0x301, SL_INK_TEXT), 0);
    check_text(&grid, "\u6f22\u5b57\n");
    sl_grid_erase(&grid, (sl_rect){1, 0, 1, 1});
    check_text(&grid, "  \u5b57\n");
    sl_grid_fini(&grid);
}

static void test_overlap_and_cut_are_counted(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    make(&grid, 4, 2);
    sl_grid_put(&grid, 0, 0, 'a', SL_INK_TEXT);
    sl_grid_put(&grid, 0, 0, 'b', SL_INK_TEXT);
    assert_int_equal(grid.overlap_cnt, 1);
    sl_grid_put(&grid, 4, 0, 'x', SL_INK_TEXT);
    assert_int_equal(grid.cut_cnt, 0);
    sl_grid_put(&grid, 4, 0, '7', SL_INK_TEXT);
    sl_grid_put(&grid, 0, -1, '7', SL_INK_TEXT);
    assert_int_equal(grid.cut_cnt, 2);
    check_text(&grid, "a\n\n");
    sl_grid_fini(&grid);
}

static void test_hostile_text_is_cleaned(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    make(&grid, 12, 1);
    sl_put_text(&grid, sl_grid_area(&grid), SL_INK_TEXT, "a\x1b[2J\x07\xff");
    check_text(&grid, "a?[2J??\n");
    sl_grid_clear(&grid);
    grid.is_ascii = true;
    sl_put_text(&grid, sl_grid_area(&grid), SL_INK_TEXT, "caf\u00e9 and more words");
    check_text(&grid, "caf? and mo~\n");
    sl_grid_fini(&grid);
}

static void test_box_and_wrapping(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    make(&grid, 14, 4);
    grid.is_ascii = true;
    sl_rect inside = sl_put_box(&grid, sl_grid_area(&grid), "Box");
    assert_int_equal(sl_put_wrapped(&grid, inside, SL_INK_TEXT, "one two three four five"), 2);
    assert_int_equal(grid.overlap_cnt, 0);
    check_text(&grid, "+-Box--------+\n|one two     |\n|three four~ |\n+------------+\n");
    assert_int_equal(sl_put_box(&grid, (sl_rect){0, 0, 2, 2}, "x").w, 2);
    sl_grid_fini(&grid);
}

/* What the terminal would show after the bytes: positions, characters; styles are left out. */
static void apply_bytes(const sl_bytes *bytes, char *rows, int w, int h) {
    int x = 0, y = 0;
    for (size_t i = 0; i < bytes->cnt;) {
        int a = 0, b = 0, used = 0;
        const char *at = bytes->at + i;
        if (strncmp(at, "\x1b[2J", 4) == 0) {
            memset(rows, ' ', (size_t)(w * h));
            i += 4;
        } else if (sscanf(at, "\x1b[%d;%dH%n", &a, &b, &used) == 2 && used) {
            y = a - 1, x = b - 1;
            i += (size_t)used;
        } else if (*at == '\x1b') {
            i += strcspn(at, "m") + 1;
        } else {
            assert_true(x < w && y < h);
            rows[y * w + x++] = *at;
            i++;
        }
    }
}

static void test_only_changed_cells_are_sent(void **state) {
    SL_UNUSED(state);
    sl_grid before, after;
    sl_bytes bytes = {0};
    char rows[20 * 3];
    make(&before, 20, 3);
    make(&after, 20, 3);
    sl_put_text(&before, (sl_rect){0, 0, 20, 1}, SL_INK_TEXT, "allocated 1.0 GiB");
    sl_put_text(&before, (sl_rect){0, 2, 20, 1}, SL_INK_DIM, "q quit");
    sl_put_text(&after, (sl_rect){0, 0, 20, 1}, SL_INK_TEXT, "allocated 1.5 GiB");
    sl_put_text(&after, (sl_rect){3, 1, 17, 1}, SL_INK_BAD, "alert");
    sl_put_text(&after, (sl_rect){0, 2, 20, 1}, SL_INK_DIM, "q");
    assert_true(sl_paint(&bytes, NULL, &before, SL_COLORS_256));
    sl_vec_push(&bytes, '\0');
    bytes.cnt--;
    apply_bytes(&bytes, rows, 20, 3);
    assert_memory_equal(rows, "allocated 1.0 GiB                       q quit              ", 60);
    bytes.cnt = 0;
    assert_true(sl_paint(&bytes, &before, &before, SL_COLORS_256));
    assert_int_equal(bytes.cnt, 0);
    assert_true(sl_paint(&bytes, &before, &after, SL_COLORS_256));
    assert_true(bytes.cnt < 90);
    sl_vec_push(&bytes, '\0');
    bytes.cnt--;
    apply_bytes(&bytes, rows, 20, 3);
    assert_memory_equal(rows, "allocated 1.5 GiB      alert            q                   ", 60);
    sl_vec_free(&bytes);
    sl_grid_fini(&before);
    sl_grid_fini(&after);
}

static void test_color_depths(void **state) {
    SL_UNUSED(state);
    char sgr[SL_SGR_CAP];
    assert_int_equal(sl_color_depth_of(256, "truecolor", NULL), SL_COLORS_TRUE);
    assert_int_equal(sl_color_depth_of(256, "", NULL), SL_COLORS_256);
    assert_int_equal(sl_color_depth_of(8, NULL, ""), SL_COLORS_16);
    assert_int_equal(sl_color_depth_of(256, "truecolor", "1"), SL_COLORS_NONE);
    assert_int_equal(sl_color_depth_of(-1, "truecolor", NULL), SL_COLORS_NONE);
    assert_string_equal(sl_theme_sgr(sgr, SL_INK_BAD, SL_COLORS_NONE), "\x1b[0;1;7m");
    for (int depth = SL_COLORS_NONE; depth <= SL_COLORS_TRUE; depth++)
        for (int ink = 0; ink < SL_INK_LIMIT; ink++) {
            sl_theme_sgr(sgr, (sl_ink)ink, (sl_color_depth)depth);
            assert_int_equal(sgr[strlen(sgr) - 1], 'm');
            assert_int_equal(strstr(sgr, ";3") != NULL && depth == SL_COLORS_NONE, 0);
        }
}

static void test_a_screen_of_one_cell(void **state) {
    SL_UNUSED(state);
    sl_grid grid;
    make(&grid, 0, -5);
    assert_int_equal(grid.w, 1);
    assert_int_equal(grid.h, 1);
    sl_put_text(&grid, sl_grid_area(&grid), SL_INK_TEXT, "123");
    check_text(&grid, "\u2026\n");
    sl_grid_fini(&grid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_not_cut),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_overlap_and_cut_are_counted),
        cmocka_unit_test(test_hostile_text_is_cleaned),
        cmocka_unit_test(test_box_and_wrapping),
        cmocka_unit_test(test_only_changed_cells_are_sent),
        cmocka_unit_test(test_color_depths),
        cmocka_unit_test(test_a_screen_of_one_cell),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
