/* SPDX-License-Identifier: MIT
 *
 * A library that takes its time to load: its constructor waits until the file named by HOSTILE_RELEASE exists, 60 s at
 * most, and then makes the file of HOSTILE_LOADED.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void wait_for_release(void) {
    const char *release = getenv("HOSTILE_RELEASE"), *loaded = getenv("HOSTILE_LOADED");
    for (int i = 0; release && i < 6000 && access(release, F_OK) != 0; i++)
        usleep(10000);
    int fd = loaded ? open(loaded, O_CREAT | O_WRONLY, 0600) : -1;
    if (fd >= 0)
        close(fd);
}
