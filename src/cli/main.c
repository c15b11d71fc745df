/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

int main(int argc, char **argv) {
    return sl_cli_run(sl_program_find(argc > 0 ? argv[0] : NULL), argc, argv);
}
