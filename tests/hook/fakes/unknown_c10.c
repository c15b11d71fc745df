/* SPDX-License-Identifier: MIT
 *
 * A libc10 of an unknown version: its report function has another name.
 */
__attribute__((visibility("default"))) void
report_v9(void *ptr, long size) __asm__("_ZN3c1027reportMemoryUsageV9EPvl");

void report_v9(void *ptr, long size) {
    (void)ptr, (void)size;
}
