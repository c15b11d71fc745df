/* SPDX-License-Identifier: MIT */
/* AMD cards, simulated with folders and files like those of the kernel. */
#include "counters/counters_amdgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sltest.h"

static char root[64], sys_dir[128], proc_dir[128];

/* Makes the folders on the way to a file below the root, and the file. */
static void put(const char *path, const char *text) {
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(full, 0777);
        *at = '/';
    }
    FILE *out = fopen(full, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void put_card(const char *card, const char *address, const char *vendor, const char *used) {
    char path[256], target[128];
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/vendor", address);
    put(path, vendor);
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/mem_info_vram_used", address);
    put(path, used);
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/mem_info_vram_total", address);
    put(path, "17163091968\n");
    snprintf(path, sizeof path, "sys/class/drm/%s/dev", card);
    put(path, "226:0\n");
    snprintf(path, sizeof path, "%s/sys/class/drm/%s/device", root, card);
    snprintf(target, sizeof target, "../../../devices/pci0000:00/%s", address);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state) {
    (void)state;
    unsetenv("HIP_VISIBLE_DEVICES");
    unsetenv("ROCR_VISIBLE_DEVICES");
    unsetenv("CUDA_VISIBLE_DEVICES");
    snprintf(root, sizeof root, "/tmp/stormlog-amdgpu-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(sys_dir, sizeof sys_dir, "%s/sys", root);
    snprintf(proc_dir, sizeof proc_dir, "%s/proc", root);
    put("proc/self/stat", "");
    put("sys/class/drm/version", "drm 1.1.0\n");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    sl_counters_amdgpu.close();
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void put_two_cards(void) {
    put_card("card10", "0000:83:00.0", "0x1002\n", "1073741824\n");
    put_card("card2", "0000:03:00.0", "0x1002\n", "536870912\n");
    put_card("card0", "0000:00:02.0", "0x8086\n", "99\n"); /* another vendor's */
    put("sys/class/drm/card2-DP-1/status", "connected\n");
}

static void reads_the_cards_in_order(void **state) {
    (void)state;
    sl_device_sample sample;
    put_two_cards();
    put("sys/devices/pci0000:00/0000:03:00.0/gpu_busy_percent", "42\n");
    put("sys/devices/pci0000:00/0000:03:00.0/hwmon/hwmon7/temp1_input", "61000\n");
    put("sys/devices/pci0000:00/0000:03:00.0/hwmon/hwmon7/power1_average", "155000000\n");
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, NULL), SL_OK);
    assert_int_equal(sl_counters_amdgpu.count(), 2);
    assert_int_equal(sl_counters_amdgpu.read(0, &sample, NULL), SL_OK);
    assert_true(sample.used_bytes.known && sample.total_bytes.known);
    assert_int_equal(sample.used_bytes.value, 512 << 20);
    assert_int_equal(sample.total_bytes.value, 17163091968);
    assert_int_equal(sample.utilization_pct.value, 42);
    assert_int_equal(sample.temperature_c.value, 61);
    assert_int_equal(sample.power_mw.value, 155000);
    assert_int_equal(sl_counters_amdgpu.read(1, &sample, NULL), SL_OK);
    assert_int_equal(sample.used_bytes.value, 1 << 30);
    assert_false(sample.utilization_pct.known || sample.temperature_c.known ||
                 sample.power_mw.known);
}

static void sums_the_memory_of_the_open_devices(void **state) {
    (void)state;
    sl_device_sample sample;
    put_two_cards();
    put("proc/self/fdinfo/0", "pos:\t0\nflags:\t02\n");
    put("proc/self/fdinfo/5", "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n"
                              "drm-client-id:\t8\ndrm-memory-vram:\t2048 KiB\n");
    put("proc/self/fdinfo/6", "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n"
                              "drm-client-id:\t8\ndrm-memory-vram:\t2048 KiB\n"); /* the same */
    put("proc/self/fdinfo/7", "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n"
                              "drm-client-id:\t9\ndrm-memory-vram:\t3 MiB\n");
    put("proc/4711/fdinfo/3", "drm-pdev:\t0000:83:00.0\ndrm-client-id:\t1\n"
                              "drm-memory-vram:\t100\n");
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, NULL), SL_OK);
    sl_counters_amdgpu.read(0, &sample, NULL);
    assert_true(sample.process_bytes.known);
    assert_int_equal(sample.process_bytes.value, 5 << 20);
    assert_null(sample.process_why);
    assert_false(sample.others_bytes.known); /* nobody tells */
    sl_counters_amdgpu.read(1, &sample, NULL);
    assert_false(sample.process_bytes.known);
    assert_non_null(sample.process_why);
    int pid = 4711;
    sl_counters_amdgpu.set_own(&pid, 1);
    sl_counters_amdgpu.read(1, &sample, NULL);
    assert_int_equal(sample.process_bytes.value, 100);
    sl_counters_amdgpu.set_own(&pid, 0);
}

static void follows_the_visible_devices(void **state) {
    (void)state;
    sl_device_sample sample;
    sl_error err = SL_ERROR_INIT;
    put_two_cards();
    setenv("HIP_VISIBLE_DEVICES", "1,0", 1);
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, NULL), SL_OK);
    sl_counters_amdgpu.read(0, &sample, NULL);
    assert_int_equal(sample.used_bytes.value, 1 << 30);
    setenv("ROCR_VISIBLE_DEVICES", "1", 1);
    setenv("HIP_VISIBLE_DEVICES", "0", 1); /* of those that are left */
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, NULL), SL_OK);
    assert_int_equal(sl_counters_amdgpu.count(), 1);
    sl_counters_amdgpu.read(0, &sample, NULL);
    assert_int_equal(sample.used_bytes.value, 1 << 30);
    assert_int_equal(sl_counters_amdgpu.read(1, &sample, &err), SL_E_DEVICE);
    assert_non_null(strstr(err.text, "there is no AMD card 1"));
}

static void reports_that_there_is_no_card(void **state) {
    (void)state;
    sl_error err = SL_ERROR_INIT;
    put_card("card0", "0000:00:02.0", "0x10de\n", "99\n");
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, &err), SL_E_DEVICE);
    assert_non_null(strstr(err.text, "no AMD card"));
    assert_int_equal(sl_counters_amdgpu_open_at("/nowhere", proc_dir, &err), SL_E_DEVICE);
}

/* A file with something else in it is unknown, never 0. */
static void an_unreadable_value_is_unknown(void **state) {
    (void)state;
    sl_device_sample sample;
    put_card("card0", "0000:03:00.0", "0x1002\n", "none\n");
    put("proc/self/fdinfo/5", "drm-pdev:\t0000:03:00.0\n");
    assert_int_equal(sl_counters_amdgpu_open_at(sys_dir, proc_dir, NULL), SL_OK);
    sl_counters_amdgpu.read(0, &sample, NULL);
    assert_false(sample.used_bytes.known);
    assert_true(sample.total_bytes.known);
    assert_false(sample.process_bytes.known);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_the_cards_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_the_memory_of_the_open_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(follows_the_visible_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_that_there_is_no_card, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unreadable_value_is_unknown, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
