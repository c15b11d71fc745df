/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "record/stacks/pystack_lines.h"
#include "sltest.h"

/* 3.9: "a = 1" on line 10, "b = 2" on 12, "c = 3" on 11 (a jump back), 4 bytes of code each. */
static void finds_lines_of_lnotab(void **state) {
    (void)state;
    const uint8_t table[] = {0, 0, 4, 2, 4, 0xff};
    const uint32_t expected[] = {10, 10, 12, 12, 11, 11, 11};
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(sl_py_line_find(SL_PY_LINES_LNOTAB, table, sizeof table, 10, 2 * i),
                         expected[i]);
}

/* 3.10: ranges; 0x80 is "no line". */
static void finds_lines_of_ranges(void **state) {
    (void)state;
    const uint8_t table[] = {4, 0, 2, 0x80, 6, 3, 2, 0xfe};
    const uint32_t expected[] = {7, 7, 0, 10, 10, 10, 8, 0};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(sl_py_line_find(SL_PY_LINES_RANGES, table, sizeof table, 7, 2 * i),
                         expected[i]);
}

#define ENTRY(kind, units) (uint8_t)(0x80 | (kind) << 3 | ((units)-1))

/* 3.11: one entry of each form. Signed numbers have the sign in the lowest bit; 64 marks "more". */
static void finds_lines_of_locations(void **state) {
    (void)state;
    const uint8_t table[] = {
        ENTRY(0, 1),
        0x11, /* short, same line: 100 */
        ENTRY(11, 2),
        1,
        2, /* one line later: 101 */
        ENTRY(13, 1),
        0x09, /* no columns, -4: 97 */
        ENTRY(14, 1),
        0x40 | 2,
        0x10, /* long, delta 2 | 16 << 6 = +513: 610 */
        0,
        1,
        2,
        ENTRY(15, 3), /* none */
        ENTRY(12, 1),
        3,
        4, /* two later: 612 */
    };
    const uint32_t expected[] = {100, 101, 101, 97, 610, 0, 0, 0, 612, 0};
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(sl_py_line_find(SL_PY_LINES_LOCATIONS, table, sizeof table, 100, 2 * i),
                         expected[i]);
}

/* Any bytes give some line and no read beyond the end (the sanitizers watch). */
static void survives_any_bytes(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)(rand() % 40);
        uint8_t *table = malloc(len ? len : 1);
        for (size_t i = 0; i < len; i++)
            table[i] = (uint8_t)rand();
        for (int format = 0; format < 3; format++)
            sl_py_line_find((sl_py_line_format)format, table, len, rand() % 1000,
                            (uint32_t)(rand() % 200));
        free(table);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_lines_of_lnotab),
        cmocka_unit_test(finds_lines_of_ranges),
        cmocka_unit_test(finds_lines_of_locations),
        cmocka_unit_test(survives_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
