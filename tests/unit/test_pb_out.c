/* SPDX-License-Identifier: MIT */
/* The wire format by hand-made bytes from its specification. */
#include "export/formats/pb_out.h"

#include "sltest.h"

static void expect(sl_pb_out *pb, const void *bytes, size_t cnt) {
    assert_false(pb->has_failed);
    assert_int_equal(pb->bytes.cnt, cnt);
    assert_memory_equal(pb->bytes.at, bytes, cnt);
    sl_pb_reset(pb);
}

static void numbers_have_seven_bits_per_byte(void **state) {
    sl_pb_out pb = {0};
    (void)state;
    sl_pb_varint(&pb, 1, 150); /* the example of the specification */
    expect(&pb, "\x08\x96\x01", 3);
    sl_pb_varint(&pb, 1, 0);
    expect(&pb, "\x08\x00", 2);
    sl_pb_varint(&pb, 60, UINT64_MAX); /* -1 of an int64, and a field number of two bytes */
    expect(&pb, "\xe0\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    sl_pb_fini(&pb);
}

static void text_is_always_valid_utf8(void **state) {
    sl_pb_out pb = {0};
    (void)state;
    sl_pb_text(&pb, 2, SL_STR("testing"));
    expect(&pb, "\x12\x07testing", 9);
    sl_pb_text(&pb, 2, SL_STR(""));
    expect(&pb, "\x12\x00", 2);
    sl_pb_text(&pb, 2, SL_STR("a\xff\xc3")); /* a lone byte and half a character */
    expect(&pb,
           "\x12\x07"
           "a\xef\xbf\xbd\xef\xbf\xbd",
           9);
    sl_pb_fini(&pb);
}

static void lists_are_packed(void **state) {
    const uint64_t values[] = {3, 270, 86942};
    sl_pb_out pb = {0};
    (void)state;
    sl_pb_packed(&pb, 6, values, 3); /* the example of the specification */
    expect(&pb, "\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
    sl_pb_packed(&pb, 6, NULL, 0);
    assert_int_equal(pb.bytes.cnt, 0);
    sl_pb_fini(&pb);
}

static void a_message_has_its_length_and_reports_failures(void **state) {
    sl_pb_out pb = {0}, inner = {0};
    (void)state;
    sl_pb_varint(&inner, 1, 150);
    sl_pb_message(&pb, 3, &inner);
    assert_int_equal(inner.bytes.cnt, 0);
    expect(&pb, "\x1a\x03\x08\x96\x01", 5);
    sl_pb_message(&pb, 3, &inner);
    expect(&pb, "\x1a\x00", 2);
    inner.has_failed = true;
    sl_pb_message(&pb, 3, &inner);
    assert_true(pb.has_failed);
    sl_pb_fini(&pb);
    sl_pb_fini(&inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_seven_bits_per_byte),
        cmocka_unit_test(text_is_always_valid_utf8),
        cmocka_unit_test(lists_are_packed),
        cmocka_unit_test(a_message_has_its_length_and_reports_failures),
    };
    return cmocka_run_group_tests_name("pb_out", tests, NULL, NULL);
}
