/* SPDX-License-Identifier: MIT */
/* One text per version, as that version prints it. */
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)

static void check(sl_maybe_u64 got, double want) {
    assert_int_equal(got.known, want >= 0);
    if (want < 0)
        return;
    double off = (double)got.value - want;
    if (off < -1 || off > 1)
        fail_msg("%llu is not %.0f", (unsigned long long)got.value, want);
}

static sl_oom_text parse(const char *text) {
    sl_oom_text out;
    assert_true(sl_oom_text_parse(text, strlen(text), &out));
    return out;
}

static void test_up_to_2_0(void **state) {
    (void)state;
    sl_oom_text t = parse(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 23.70 GiB total "
        "capacity; 20.10 GiB already allocated; 1.25 GiB free; 21.50 GiB allowed; 20.50 GiB "
        "reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
        "max_split_size_mb to avoid fragmentation.");
    assert_int_equal(t.device, 1);
    check(t.tried_bytes, 2 * GIB);
    check(t.capacity_bytes, 23.70 * GIB);
    check(t.allocated_bytes, 20.10 * GIB);
    check(t.free_bytes, 1.25 * GIB);
    check(t.allowed_bytes, 21.5 * GIB);
    check(t.reserved_bytes, 20.5 * GIB);
    check(t.process_bytes, -1);
}

static void test_2_1_and_its_misspelling(void **state) {
    (void)state;
    sl_oom_text t = parse(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 79.15 GiB "
        "of "
        "which 18.25 MiB is free. Process 4711 has 40.00 GiB memory in use. Process 815 has 512.00 "
        "MiB memory in use. Including non-PyTorch memory, this process has 38.00 GiB memory in "
        "use. "
        "Of the allocated memory 37.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by "
        "PyTorch but unallocated.");
    check(t.capacity_bytes, 79.15 * GIB);
    check(t.free_bytes, 18.25 * MIB);
    check(t.other_processes_bytes, 40.5 * GIB);
    assert_int_equal(t.other_process_cnt, 2);
    check(t.process_bytes, 38 * GIB);
    check(t.allocated_bytes, 37 * GIB);
    check(t.unallocated_bytes, 500 * MIB);
    check(t.reserved_bytes, 37 * GIB + 500 * MIB);
    check(t.allowed_bytes, -1);
}

static void test_2_5_with_limit_and_private_pools(void **state) {
    (void)state;
    sl_oom_text t = parse(
        "CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 139.80 GiB "
        "of which 136.34 GiB is free. Including non-PyTorch memory, this process has 3.45 GiB "
        "memory "
        "in use. 2.80 GiB allowed; Of the allocated memory 2.78 GiB is allocated by PyTorch, with "
        "10.00 MiB allocated in private pools (e.g., CUDA Graphs), and 9.68 MiB is reserved by "
        "PyTorch but unallocated.");
    check(t.tried_bytes, 16 * MIB);
    check(t.allowed_bytes, 2.80 * GIB);
    check(t.private_pool_bytes, 10 * MIB);
    check(t.unallocated_bytes, 9.68 * MIB);
    assert_int_equal(t.other_process_cnt, 0);
}

static void test_npu_and_rare_texts(void **state) {
    (void)state;
    sl_oom_text t =
        parse("NPU out of memory. Tried to allocate 512 bytes (NPU 3; 60.97 GiB total "
              "capacity; 1.00 GiB already allocated; 2.00 GiB free; 3.00 GiB reserved in "
              "total by PyTorch)");
    assert_int_equal(t.device, 3);
    check(t.tried_bytes, 512);
    t = parse("CUDA out of memory. Allocation was preemptively rejected. Requested size: 3.00 GiB");
    check(t.tried_bytes, 3 * GIB);
    t = parse(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.");
    check(t.tried_bytes, -1);
    assert_int_equal(t.device, -1);
}

/* Every cut of a text must be survived, and texts about something else refused. */
static void test_cut_texts_and_unrelated_texts(void **state) {
    (void)state;
    const char *whole =
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity "
        "of 79.15 GiB of which 18.25 MiB is free. Process 4711 has 40.00 GiB memory "
        "in use.";
    sl_oom_text out;
    for (size_t len = 0; len <= strlen(whole); len++)
        (void)sl_oom_text_parse(whole, len, &out);
    assert_false(sl_oom_text_parse("everything is fine", 18, &out));
    assert_false(sl_oom_text_parse("", 0, &out));
    assert_true(sl_oom_text_parse("out of memory is free", 21, &out));
    assert_false(out.free_bytes.known);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_to_2_0),
        cmocka_unit_test(test_2_1_and_its_misspelling),
        cmocka_unit_test(test_2_5_with_limit_and_private_pools),
        cmocka_unit_test(test_npu_and_rare_texts),
        cmocka_unit_test(test_cut_texts_and_unrelated_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
