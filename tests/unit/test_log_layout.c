/* SPDX-License-Identifier: MIT */
#include "log/layout/log_layout.h"

#include <string.h>

#include "base/core/crc.h"
#include "base/core/sys.h"
#include "sltest.h"

static void the_checksum_equals_that_of_zlib(void **state) {
    SL_UNUSED(state);
    assert_int_equal(sl_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(sl_crc32(sl_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
    assert_int_equal(sl_crc32(0, "", 0), 0);
}

static void every_health_counter_has_a_row(void **state) {
    SL_UNUSED(state);
    assert_true(SL_HEALTH_LIMIT <= SL_FORMAT_HEALTH_MAX);
    for (int i = 0; i < SL_HEALTH_LIMIT; i++) {
        assert_non_null(sl_health_name((sl_health_kind)i));
        assert_non_null(sl_health_meaning((sl_health_kind)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(sl_health_name((sl_health_kind)i),
                                    sl_health_name((sl_health_kind)k));
    }
}

static void every_section_and_counter_has_a_row(void **state) {
    SL_UNUSED(state);
    for (uint32_t i = 1; i < SL_SECTION_LIMIT; i++) {
        assert_string_not_equal(sl_section_name(i), "unknown");
        assert_int_equal(sl_section_record_bytes(i) % 8, 0);
    }
    assert_string_equal(sl_section_name(SL_SECTION_LIMIT), "unknown");
    for (uint32_t i = 1; i < SL_COUNTER_LIMIT; i++) {
        assert_string_not_equal(sl_counter_name(i), "unknown");
        assert_true(strlen(sl_counter_unit(i)) > 0);
    }
    assert_string_equal(sl_counter_name(999), "unknown");
}

/* A free must undo what an alloc of the same domain does. */
static void effects_come_in_pairs(void **state) {
    SL_UNUSED(state);
    for (int domain = SL_DOMAIN_BLOCK; domain < SL_DOMAIN_LIMIT; domain++) {
        int allocs = 0, frees = 0;
        for (int kind = 0; kind < SL_EV_LIMIT; kind++) {
            allocs +=
                sl_kind_rows[kind].domain == domain && sl_kind_rows[kind].effect == SL_EFFECT_ALLOC;
            frees +=
                sl_kind_rows[kind].domain == domain && sl_kind_rows[kind].effect == SL_EFFECT_FREE;
        }
        assert_int_equal(allocs, 1);
        assert_true(frees >= 1);
    }
}

static void packed_words_are_unpacked_to_the_same_values(void **state) {
    SL_UNUSED(state);
    uint64_t word = UINT64_C(0x123456789) << 16 | 2046 << 1 | 1;
    assert_int_equal(sl_chunk_ticket(word), UINT64_C(0x123456789));
    assert_int_equal(sl_chunk_count(word), 2046);
    assert_true(sl_chunk_is_open(word));
    assert_int_equal(sl_chunk_cap(65536), 2046);
    uint64_t w0 = sl_record_w0(9, -1, 2, 0xdeadbeef);
    assert_int_equal((uint8_t)w0, 9);
    assert_int_equal((int8_t)(w0 >> 16), -1);
    assert_int_equal((uint8_t)(w0 >> 24), 2);
    assert_int_equal(w0 >> 32, 0xdeadbeef);
}

static void every_system_call_has_a_name(void **state) {
    SL_UNUSED(state);
    for (int i = 0; i < SL_SYS_LIMIT; i++)
        assert_non_null(sl_sys_name((sl_sys_call)i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_equals_that_of_zlib),
        cmocka_unit_test(every_health_counter_has_a_row),
        cmocka_unit_test(every_section_and_counter_has_a_row),
        cmocka_unit_test(effects_come_in_pairs),
        cmocka_unit_test(packed_words_are_unpacked_to_the_same_values),
        cmocka_unit_test(every_system_call_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
