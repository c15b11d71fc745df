/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/torch/conf_text.h"
#include "model/trace.h"
#include "sltest.h"

static void assert_item(sl_str *rest, const char *key, const char *whole) {
    sl_conf_item item;
    assert_true(sl_conf_next(rest, &item));
    assert_int_equal(item.key.len, strlen(key));
    assert_memory_equal(item.key.ptr, key, item.key.len);
    assert_int_equal(item.whole.len, strlen(whole));
    assert_memory_equal(item.whole.ptr, whole, item.whole.len);
}

static void items_end_at_commas_outside_brackets(void **state) {
    SL_UNUSED(state);
    sl_str rest = SL_STR(" a:1, roundup_power2_divisions:[256:1,>:8] ,,expandable_segments:True,x");
    sl_conf_item item;
    assert_item(&rest, "a", "a:1");
    assert_item(&rest, "roundup_power2_divisions", "roundup_power2_divisions:[256:1,>:8]");
    assert_item(&rest, "expandable_segments", "expandable_segments:True");
    assert_item(&rest, "x", "x");
    assert_false(sl_conf_next(&rest, &item));
    rest = SL_STR("a:[1,2"); /* not closed: all of it is the value */
    assert_item(&rest, "a", "a:[1,2");
    rest = SL_STR("]a:1,b:2");
    assert_item(&rest, "]a", "]a:1");
}

static void the_last_of_several_values_is_used(void **state) {
    SL_UNUSED(state);
    sl_conf_item item;
    assert_true(sl_conf_find(SL_STR("a:1,b:2,a:3"), SL_STR("a"), &item));
    assert_int_equal(item.whole.ptr[2], '3');
    assert_false(sl_conf_find(SL_STR("ab:1"), SL_STR("a"), &item));
    assert_false(sl_conf_find(SL_STR(""), SL_STR("a"), &item));
}

static void only_some_keys_are_reset(void **state) {
    SL_UNUSED(state);
    assert_true(sl_conf_is_reset(SL_STR("max_split_size_mb")));
    assert_true(sl_conf_is_reset(SL_STR("garbage_collection_threshold")));
    assert_false(sl_conf_is_reset(SL_STR("expandable_segments")));
}

static bool is_alloc(const sl_events *events, size_t i) {
    return events->kind[i] == SL_EV_ALLOC;
}

static void requested_sizes_follow_their_events(void **state) {
    SL_UNUSED(state);
    sl_events events = {0};
    for (int64_t i = 0; i < 100; i++) {
        sl_event event = {.time_us = 100 - i,
                          .size_bytes = 512,
                          .kind = i % 3 ? SL_EV_ALLOC : SL_EV_SEGMENT_ALLOC};
        assert_true(sl_events_push(&events, &event));
        if (i == 40)
            assert_null(events.requested_bytes);
        if (i > 40)
            assert_true(sl_events_set_requested(&events, (uint64_t)i));
    }
    assert_int_equal(sl_events_sort(&events), 99);
    assert_int_equal(events.requested_bytes[0], 99);
    assert_int_equal(events.requested_bytes[58], 41);
    assert_int_equal(events.requested_bytes[59], 512);
    assert_int_equal(sl_events_filter(&events, is_alloc, 3), 2); /* of times 99, 98 and 97 */
    assert_int_equal(events.cnt, 66);
    assert_int_equal(events.requested_bytes[0], 98);
    sl_events_drop_first(&events, 1);
    assert_int_equal(events.requested_bytes[0], 97);
    sl_events_fini(&events);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_end_at_commas_outside_brackets),
        cmocka_unit_test(the_last_of_several_values_is_used),
        cmocka_unit_test(only_some_keys_are_reset),
        cmocka_unit_test(requested_sizes_follow_their_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
