/* SPDX-License-Identifier: MIT
 *
 * A library that is loaded and unloaded, built twice: NAME is the function that takes memory in this build, ROOM
 * makes the frames of the two builds differ at the same addresses.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static volatile int sink;

__attribute__((noinline, visibility("default"))) void
NAME(void (*event)(uint64_t, int64_t, size_t, size_t, int), uint64_t addr) {
    char room[ROOM];
    memset(room, (int)addr, sizeof room);
    event(addr, 512, 512, (size_t)1 << 21, 0);
    sink += room[addr % ROOM];
}

__attribute__((visibility("default"))) void
plugin_entry(void (*event)(uint64_t, int64_t, size_t, size_t, int), uint64_t addr) {
    NAME(event, addr);
    sink++;
}
