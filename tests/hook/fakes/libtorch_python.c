/* SPDX-License-Identifier: MIT
 *
 * The library through which Python turns gradients on and off.
 */
#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

void grad_mode(bool is_enabled) __asm__("_ZN3c108GradMode11set_enabledEb");

/* It has something to do after the call, as torch has: the call must come from this library. */
EXPORT int fake_set_grad_enabled(int is_enabled) {
    grad_mode(is_enabled != 0);
    return is_enabled;
}
