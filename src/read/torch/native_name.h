/* SPDX-License-Identifier: MIT */
/* Names of native functions as people write them. The recorder keeps a symbol as the library has
 * it, with the place inside the function after it: "_ZN2at6native4onesEN3c108ArrayRefIlEE+0x63". */
#ifndef SL_NATIVE_NAME_H
#define SL_NATIVE_NAME_H

#include "base/core/sl_base.h"

#define SL_NATIVE_NAME_CAP 1024

/* The same with the C++ name in words, without parameters, template arguments as "<...>":
 * "at::native::ones+0x63". Any other name is returned unchanged. Linear in the length of the text,
 * also for hostile ones. The result points into `text` or into `buf`. */
sl_str sl_native_name(sl_str text, char buf[SL_NATIVE_NAME_CAP]);

#endif
