/* SPDX-License-Identifier: MIT
 *
 * Loaded into a program (LD_PRELOAD): two seconds after its first question the wall clock is set, by CLOCK_JUMP seconds. The
 * monotonic clock goes on, as it does when somebody sets the clock of a machine.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t mono_s(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *to) {
    static time_t first_s;
    const char *jump = getenv("CLOCK_JUMP");
    long failed = syscall(SYS_clock_gettime, clock, to);
    if (!first_s)
        first_s = mono_s();
    if (!failed && clock == CLOCK_REALTIME && jump && mono_s() >= first_s + 2)
        to->tv_sec += atol(jump);
    return failed ? -1 : 0;
}
