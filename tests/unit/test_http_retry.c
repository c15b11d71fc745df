/* SPDX-License-Identifier: MIT */
#include "net/http_retry.h"

#include "sltest.h"

static void verdicts(void **state) {
    SL_UNUSED(state);
    static const struct {
        sl_status sent;
        int http_status;
        sl_http_verdict verdict;
    } cases[] = {
        {SL_OK, 200, SL_HTTP_DONE},
        {SL_OK, 204, SL_HTTP_DONE},
        {SL_OK, 301, SL_HTTP_REFUSED},
        {SL_OK, 400, SL_HTTP_REFUSED},
        {SL_OK, 401, SL_HTTP_REFUSED},
        {SL_OK, 404, SL_HTTP_REFUSED},
        {SL_OK, 408, SL_HTTP_RETRY},
        {SL_OK, 425, SL_HTTP_RETRY},
        {SL_OK, 429, SL_HTTP_RETRY},
        {SL_OK, 500, SL_HTTP_RETRY},
        {SL_OK, 503, SL_HTTP_RETRY},
        {SL_OK, 100, SL_HTTP_REFUSED},
        {SL_E_NETWORK, 0, SL_HTTP_RETRY},
        {SL_E_NETWORK, 200, SL_HTTP_RETRY},
        {SL_E_USAGE, 0, SL_HTTP_REFUSED},
        {SL_E_LIMIT, 200, SL_HTTP_REFUSED},
        {SL_E_UNSUPPORTED, 0, SL_HTTP_REFUSED},
    };
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++)
        if (sl_http_judge(cases[i].sent, cases[i].http_status) != cases[i].verdict)
            fail_msg("%s with HTTP %d: expected verdict %d, found %d",
                     sl_status_name(cases[i].sent), cases[i].http_status, cases[i].verdict,
                     sl_http_judge(cases[i].sent, cases[i].http_status));
}

static uint32_t wait_of(unsigned failures, uint32_t retry_after_s, uint64_t random) {
    return sl_http_wait_ms(&sl_http_backoff_default, failures, retry_after_s, random);
}

/* Whatever the random number: at least half of the doubled wait, at most all of it. */
static void waits_double_up_to_the_limit(void **state) {
    SL_UNUSED(state);
    for (unsigned failures = 1; failures < 200; failures++) {
        uint64_t full = failures < 8 ? (uint64_t)500 << (failures - 1) : 60000;
        full = full < 60000 ? full : 60000;
        for (uint64_t random = 0; random < 1000; random++) {
            uint32_t wait = wait_of(failures, 0, random * 7919);
            assert_in_range(wait, full / 2, full);
        }
    }
}

static void waits_of_two_senders_differ(void **state) {
    SL_UNUSED(state);
    assert_int_not_equal(wait_of(5, 0, 1), wait_of(5, 0, 2));
    assert_int_not_equal(wait_of(1, 10, 1), wait_of(1, 10, 2));
}

static void the_server_may_ask_for_more_but_not_for_everything(void **state) {
    SL_UNUSED(state);
    for (uint64_t random = 0; random < 1000; random++) {
        assert_in_range(wait_of(1, 10, random * 104729), 10000, 12000);
        assert_in_range(wait_of(7, 1, random * 104729), 16000, 32000); /* ours is longer */
        assert_int_equal(wait_of(1, 86000, random), 60000);
        assert_int_equal(wait_of(1, UINT32_MAX, random), 60000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(waits_double_up_to_the_limit),
        cmocka_unit_test(waits_of_two_senders_differ),
        cmocka_unit_test(the_server_may_ask_for_more_but_not_for_everything),
    };
    return cmocka_run_group_tests_name("http_retry", tests, NULL, NULL);
}
