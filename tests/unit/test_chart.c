/* SPDX-License-Identifier: MIT */
#include "plot/canvas/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"

/* The SVG of a chart; the caller frees it. */
static char *svg_of(const sl_chart *chart) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    assert_non_null(to);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_chart_write(chart, SL_CHART_SVG, to, &err), SL_OK);
    fclose(to);
    return text;
}

static void names_are_found(void **state) {
    SL_UNUSED(state);
    sl_chart_kind kind;
    sl_chart_form form;
    assert_true(sl_chart_kind_find("bars", &kind));
    assert_int_equal(kind, SL_CHART_BARS);
    assert_false(sl_chart_kind_find("pie", &kind));
    assert_true(sl_chart_form_find("a.b/plot.HTML", &form));
    assert_int_equal(form, SL_CHART_PAGE);
    assert_true(sl_chart_form_find("x.png", &form));
    assert_int_equal(form, SL_CHART_PNG);
    assert_false(sl_chart_form_find("x.bmp", &form));
    assert_false(sl_chart_form_find("png", &form));
}

static void data_needs_a_panel(void **state) {
    SL_UNUSED(state);
    sl_chart *chart = sl_chart_new("t", 400, 300, 1);
    sl_error err = SL_ERROR_INIT;
    double y[] = {1};
    assert_int_equal(sl_chart_add_series(chart, "s", NULL, y, 1, &err), SL_E_USAGE);
    assert_int_equal(sl_chart_add_label(chart, "l", &err), SL_E_USAGE);
    assert_int_equal(sl_chart_add_note(chart, &(sl_chart_note){.text = "n"}, &err), SL_E_USAGE);
    assert_int_equal(sl_chart_set_axes(chart, "x", "y", &err), SL_E_USAGE);
    sl_chart_free(chart);
    sl_chart_free(NULL);
}

static void texts_are_escaped_and_copied(void **state) {
    SL_UNUSED(state);
    char title[] = "a < b & c";
    sl_chart *chart = sl_chart_new(title, 400, 300, 1);
    memset(title, 'x', sizeof title - 1);
    char *svg = svg_of(chart);
    assert_non_null(strstr(svg, "a &lt; b &amp; c"));
    free(svg);
    sl_chart_free(chart);
}

/* y = 0 at the bottom, the largest at the top, x from left to right. */
static void points_are_where_they_belong(void **state) {
    SL_UNUSED(state);
    sl_chart *chart = sl_chart_new("t", 400, 300, 1);
    sl_error err = SL_ERROR_INIT;
    const double x[] = {0, 10}, y[] = {0, 5};
    assert_int_equal(sl_chart_panel_begin(chart, SL_CHART_LINES, "p", &err), SL_OK);
    assert_int_equal(sl_chart_add_series(chart, "s", x, y, 2, &err), SL_OK);
    char *svg = svg_of(chart);
    /* 70 and 20 pixels beside the drawing area, 36 + 34 above, 48 below. */
    assert_non_null(strstr(svg, "points=\"70.0,252.0 380.0,70.0 \""));
    free(svg);
    sl_chart_free(chart);
}

static void nan_and_infinite_numbers_are_drawn_safely(void **state) {
    SL_UNUSED(state);
    const double values[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308};
    for (sl_chart_kind kind = 0; kind < SL_CHART_KIND_CNT; kind++) {
        sl_chart *chart = sl_chart_new("t", 400, 300, 2);
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(sl_chart_panel_begin(chart, kind, "p", &err), SL_OK);
        for (size_t i = 0; i < SL_COUNT_OF(values); i++)
            assert_int_equal(sl_chart_add_label(chart, "l", &err), SL_OK);
        assert_int_equal(sl_chart_add_series(chart, "s", NULL, values, SL_COUNT_OF(values), &err),
                         SL_OK);
        char *svg = svg_of(chart);
        assert_null(strstr(svg, "\"nan\""));
        free(svg);
        sl_chart_free(chart);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(data_needs_a_panel),
        cmocka_unit_test(texts_are_escaped_and_copied),
        cmocka_unit_test(points_are_where_they_belong),
        cmocka_unit_test(nan_and_infinite_numbers_are_drawn_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
