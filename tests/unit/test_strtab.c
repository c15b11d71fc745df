/* SPDX-License-Identifier: MIT */
#include "base/core/strtab.h"

#include <stdio.h>
#include <string.h>

#include "sltest.h"

static void equal_bytes_get_one_id(void **state) {
    SL_UNUSED(state);
    sl_strtab tab = {0};
    uint32_t a = sl_strtab_intern(&tab, "train.py", 8);
    assert_int_equal(sl_strtab_intern(&tab, "train.py", 8), a);
    assert_int_not_equal(sl_strtab_intern(&tab, "train.py\0", 9), a);
    assert_int_equal(sl_strtab_intern(&tab, "", 0), 0);
    assert_string_equal(sl_strtab_get(&tab, a).ptr, "train.py");
    assert_int_equal(sl_strtab_get(&tab, 4000000000u).len, 0);
    sl_strtab_fini(&tab);
}

/* Growth must neither lose a string nor move the bytes a caller holds. */
static void many_strings_survive_growth(void **state) {
    SL_UNUSED(state);
    enum { COUNT = 20000 };
    sl_strtab tab = {0};
    char text[32];
    sl_str first = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        int len = snprintf(text, sizeof text, "frame_%u", i);
        assert_int_equal(sl_strtab_intern(&tab, text, (size_t)len), i + 1);
        if (i == 0)
            first = sl_strtab_get(&tab, 1);
    }
    assert_ptr_equal(sl_strtab_get(&tab, 1).ptr, first.ptr);
    for (uint32_t i = 0; i < COUNT; i++) {
        int len = snprintf(text, sizeof text, "frame_%u", i);
        assert_int_equal(sl_strtab_intern(&tab, text, (size_t)len), i + 1);
    }
    sl_strtab_fini(&tab);
}

static void every_byte_changes_the_hash(void **state) {
    SL_UNUSED(state);
    unsigned char bytes[67];
    memset(bytes, 7, sizeof bytes);
    for (size_t len = 1; len <= sizeof bytes; len++) {
        uint64_t before = sl_hash_bytes(bytes, len);
        for (size_t i = 0; i < len; i++) {
            bytes[i] ^= 1;
            assert_true(sl_hash_bytes(bytes, len) != before);
            bytes[i] ^= 1;
        }
        assert_true(sl_hash_bytes(bytes, len - 1) != before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_get_one_id),
        cmocka_unit_test(many_strings_survive_growth),
        cmocka_unit_test(every_byte_changes_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
