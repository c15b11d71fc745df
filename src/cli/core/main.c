/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "cli/core/cli.h"

/* A caller may have closed the standard streams; the next file that is opened would take their
 * number, and a message would end up in a recording. Opened the wrong way round, so that reading and
 * writing still fail; closed again in a command that is started. */
static void fill_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
            return; /* no /dev/null: it stays as it was */
}

int main(int argc, char **argv) {
    fill_standard_streams();
    return sl_cli_run(sl_program_find(argc > 0 ? argv[0] : NULL), argc, argv);
}
