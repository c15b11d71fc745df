/* SPDX-License-Identifier: MIT
 *
 * A library whose constructor and destructor allocate.
 */
#include "hostile.h"

__attribute__((constructor)) static void come(void) {
    churn(100, 0x30000000);
}

__attribute__((destructor)) static void go(void) {
    churn(100, 0x31000000);
}

__attribute__((visibility("default"))) void plugin_event(void) {
    churn(1, 0x32000000);
}
