/* SPDX-License-Identifier: MIT
 *
 * A program without a dynamic linker: nothing can be loaded into it.
 */
#include <stdio.h>

int main(void) {
    puts("static");
    return 3;
}
