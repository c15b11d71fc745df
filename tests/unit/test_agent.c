/* SPDX-License-Identifier: MIT */
/* The agent's small parts: labels, cursors, and where a process runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_place.h"
#include "agent/agent_state.h"
#include "base/core/str.h"
#include "sltest.h"

static char folder[64];

/* ---- labels ---- */

static char *print(const sl_agent_labels *labels) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    sl_agent_labels_write(labels, to);
    fclose(to);
    return text;
}

static void labels_are_sorted_and_none_is_twice(void **state) {
    SL_UNUSED(state);
    sl_agent_labels labels = {0};
    assert_true(sl_agent_labels_set(&labels, "rank", SL_STR("1")));
    assert_true(sl_agent_labels_set(&labels, "Hostname", SL_STR("a")));
    assert_true(sl_agent_labels_set_number(&labels, "rank", 7));
    assert_true(sl_agent_labels_set(&labels, "job", SL_STR("x")));
    assert_true(sl_agent_labels_set(&labels, "job", SL_STR("")));
    char *text = print(&labels);
    assert_string_equal(text, "Hostname=\"a\",rank=\"7\"");
    free(text);
    sl_agent_labels_fini(&labels);
}

static void hostile_values_stay_one_line(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *value, *text;
    } cases[] = {
        {"a\"} 1\nb{x=\"", "a\\\"} 1?b{x=\\\""},
        {"back\\slash", "back\\\\slash"},
        {"\xff\xfe", "??"},
        {"\x1b[31m", "?[31m"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x80\xae"
         "x",
         "?x"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++) {
        sl_agent_labels labels = {0};
        char expected[64];
        assert_true(sl_agent_labels_set(&labels, "v", sl_str_of(cases[i].value)));
        char *text = print(&labels);
        snprintf(expected, sizeof expected, "v=\"%s\"", cases[i].text);
        assert_string_equal(text, expected);
        free(text);
        sl_agent_labels_fini(&labels);
    }
}

static void a_long_value_is_cut_between_characters(void **state) {
    SL_UNUSED(state);
    sl_agent_labels labels = {0};
    char value[1001];
    memset(value, 'x', 255);
    for (size_t i = 255; i < 999; i += 2)
        memcpy(value + i, "\xc3\xbc", 2);
    assert_true(sl_agent_labels_set(&labels, "v", (sl_str){value, 999}));
    assert_int_equal(strlen(sl_agent_labels_get(&labels, "v")), 255);
    sl_agent_labels_fini(&labels);
}

static void names(void **state) {
    SL_UNUSED(state);
    assert_true(sl_agent_label_is_name(SL_STR("cluster_2")));
    assert_false(sl_agent_label_is_name(SL_STR("__name__")));
    assert_false(sl_agent_label_is_name(SL_STR("2nd")));
    assert_false(sl_agent_label_is_name(SL_STR("a-b")));
    assert_false(sl_agent_label_is_name(SL_STR("")));
}

/* ---- cursors ---- */

static void cursors_come_back(void **state) {
    SL_UNUSED(state);
    sl_agent_state kept = {0}, read = {0};
    sl_agent_key key = {123, 45, 67}, other = {123, 46, 67};
    sl_error err = SL_ERROR_INIT;
    char *text;
    size_t len;
    sl_agent_entry *entry = sl_agent_state_entry(&kept, &key);
    *sl_agent_entry_cursor(entry, 0xabc) = (sl_agent_cursor){0xabc, 1700000000123, true};
    *sl_agent_entry_cursor(entry, 0xdef) = (sl_agent_cursor){0xdef, 5, false};
    assert_true(sl_agent_labels_set(&entry->place, "gpu:0", SL_STR("a=b")));
    assert_int_equal(sl_agent_state_print(&kept, &text, &len, &err), SL_OK);
    assert_int_equal(sl_agent_state_write(folder, text, len, &err), SL_OK);
    assert_int_equal(sl_agent_state_load(&read, folder, &err), SL_OK);
    const sl_agent_entry *back = sl_agent_state_find(&read, &key);
    assert_non_null(back);
    assert_null(sl_agent_state_find(&read, &other));
    assert_int_equal(sl_agent_entry_find(back, 0xabc)->at_ms, 1700000000123);
    assert_true(sl_agent_entry_find(back, 0xabc)->is_done);
    assert_false(sl_agent_entry_find(back, 0xdef)->is_done);
    assert_null(sl_agent_entry_find(back, 1));
    assert_string_equal(sl_agent_labels_get(&back->place, "gpu:0"), "a=b");
    sl_agent_state_prune(&read, INT64_C(8) * 24 * 3600 * 1000);
    assert_int_equal(read.entries.cnt, 0);
    free(text);
    sl_agent_state_fini(&kept);
    sl_agent_state_fini(&read);
}

static void a_damaged_file_names_its_line(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"something else\n", "line 1: expected stormlog-agent-state 1, found 'something else'"},
        {"stormlog-agent-state 1\nat 1 2 0\n",
         "line 2: expected rec, at or label, found 'at 1 2 0'"},
        {"stormlog-agent-state 1\nrec 1 2 3 4\nat 1 -2 0\n", "line 3: "},
        {"stormlog-agent-state 1\nrec 1 2 3 4\nat zz 2 0\n", "line 3: "},
        {"stormlog-agent-state 1\nrec 1 2 3 4\nat 1 2 7\n", "line 3: "},
        {"stormlog-agent-state 1\nrec 1 2 3 4 5\n", "line 2: "},
        {"stormlog-agent-state 1\nrec 1 2 3 4\nlabel =x\n", "line 3: "},
        {"stormlog-agent-state 1\nrec 1 2 3 4\nat 1 2 1", "line 3: "}, /* cut in the middle */
    };
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++) {
        sl_agent_state read = {0};
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(
            sl_agent_state_parse(&read, cases[i].text, strlen(cases[i].text), "cursors", &err),
            SL_E_FORMAT);
        if (!strstr(err.text, cases[i].expected))
            fail_msg("expected '%s' in '%s'", cases[i].expected, err.text);
        sl_agent_state_fini(&read);
    }
}

static void a_second_agent_is_refused(void **state) {
    SL_UNUSED(state);
    int first = -1, second = -1;
    char below[100], expected[40];
    sl_error err = SL_ERROR_INIT;
    snprintf(below, sizeof below, "%s/deep/er", folder);
    snprintf(expected, sizeof expected, "process %d", (int)getpid());
    assert_int_equal(sl_agent_state_lock(below, &first, &err), SL_OK);
    assert_int_equal(sl_agent_state_lock(below, &second, &err), SL_E_BUSY);
    assert_non_null(strstr(err.text, expected));
    close(first);
    assert_int_equal(sl_agent_state_lock(below, &second, &err), SL_OK);
    close(second);
}

/* ---- where a process runs ---- */

static void put(const char *path, const char *text, size_t len) {
    char full[200];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *slash = strchr(full + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fwrite(text, 1, len, file);
    fclose(file);
}

#define PUT(path, text) put(path, text, sizeof(text) - 1)
#define UID             "1f0f3a1e-9c0e-4d55-8a55-0123456789ab"
#define HEX64           "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Process 9001 calls itself 17 in its pod; another one calls itself 17 in another. */
static void make_proc(void) {
    PUT("proc/9000/status", "Name:\tpython3\nNSpid:\t9000\t17\n");
    PUT("proc/9000/maps", "7f00-7f01 rw-s 00000000 fe:00 99 /runs/b.slog\n");
    PUT("proc/9001/status", "Name:\tpython3\nPid:\t9001\nNSpid:\t9001\t300\t17\nThreads:\t3\n");
    PUT("proc/9001/maps", "7e00-7e01 r-xp 00000000 fe:00 12 /usr/bin/python3\n"
                          "7f00-7f01 rw-s 00000000 fe:00 77 /runs/a.slog\n");
    PUT("proc/9001/environ", "PATH=/bin\0HOSTNAME=train-0\0CUDA_VISIBLE_DEVICES=1,GPU-aaaa\0"
                             "NVIDIA_VISIBLE_DEVICES=GPU-cccc,GPU-aaaa\0X=1\0");
    PUT("proc/9001/cgroup",
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
        "pod1f0f3a1e_9c0e_4d55_8a55_0123456789ab.slice/cri-containerd-" HEX64 ".scope\n");
    PUT("proc/9001/root/var/run/secrets/kubernetes.io/serviceaccount/namespace", "team-a");
    PUT("proc/driver/nvidia/gpus/0000:c1:00.0/information", "Model: X\nGPU UUID: \t GPU-cccc-3\n");
    PUT("proc/driver/nvidia/gpus/0000:3b:00.0/information",
        "Model: X\nGPU UUID: \t GPU-aaaa-1\nBus: 1\n");
    PUT("proc/driver/nvidia/gpus/0000:5e:00.0/information", "Model: X\nGPU UUID: \t GPU-bbbb-2\n");
}

static void a_process_in_a_pod(void **state) {
    SL_UNUSED(state);
    char proc[100];
    sl_agent_labels place = {0};
    make_proc();
    snprintf(proc, sizeof proc, "%s/proc", folder);
    assert_true(sl_agent_place_find(proc, 17, 77, &place));
    assert_string_equal(sl_agent_labels_get(&place, "pid"), "9001");
    assert_string_equal(sl_agent_labels_get(&place, "pod"), "train-0");
    assert_string_equal(sl_agent_labels_get(&place, "namespace"), "team-a");
    assert_string_equal(sl_agent_labels_get(&place, "container"), "0123456789ab");
    assert_string_equal(sl_agent_labels_get(&place, "k8s_pod_uid"), UID);
    /* The container has cards a and c, which CUDA counts by bus; the process has chosen c, then a. */
    assert_string_equal(sl_agent_labels_get(&place, "gpu:0"), "2");
    assert_string_equal(sl_agent_labels_get(&place, "UUID:0"), "GPU-cccc-3");
    assert_string_equal(sl_agent_labels_get(&place, "gpu:1"), "0");
    assert_string_equal(sl_agent_labels_get(&place, "UUID:1"), "GPU-aaaa-1");
    assert_null(sl_agent_labels_get(&place, "gpu:2"));
    sl_agent_labels_fini(&place);
}

static void a_process_that_is_gone_has_no_place(void **state) {
    SL_UNUSED(state);
    char proc[100];
    sl_agent_labels place = {0};
    snprintf(proc, sizeof proc, "%s/proc", folder);
    assert_true(
        sl_agent_place_find(proc, 17, 78, &place)); /* the number is right, the file is not */
    assert_true(sl_agent_place_find("/nonexistent", 17, 77, &place));
    assert_int_equal(place.list.cnt, 0);
    sl_agent_labels_fini(&place);
}

static void this_process_is_found(void **state) {
    SL_UNUSED(state);
    struct stat st;
    char own[24];
    sl_agent_labels place = {0};
    if (stat("/proc/self/exe", &st) < 0)
        skip_because("no /proc here");
    snprintf(own, sizeof own, "%d", (int)getpid());
    assert_true(sl_agent_place_find("/proc", (uint32_t)getpid(), st.st_ino, &place));
    assert_string_equal(sl_agent_labels_get(&place, "pid"), own);
    sl_agent_labels_fini(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_sorted_and_none_is_twice),
        cmocka_unit_test(hostile_values_stay_one_line),
        cmocka_unit_test(a_long_value_is_cut_between_characters),
        cmocka_unit_test(names),
        cmocka_unit_test(cursors_come_back),
        cmocka_unit_test(a_damaged_file_names_its_line),
        cmocka_unit_test(a_second_agent_is_refused),
        cmocka_unit_test(a_process_in_a_pod),
        cmocka_unit_test(a_process_that_is_gone_has_no_place),
        cmocka_unit_test(this_process_is_found),
    };
    snprintf(folder, sizeof folder, "/tmp/stormlog-agent-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests_name("agent", tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || failed;
}
