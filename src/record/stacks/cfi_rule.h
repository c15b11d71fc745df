/* SPDX-License-Identifier: MIT */
/* How to get from a frame of native code to its caller's, from the call frame information (.eh_frame) that
 * compilers put into every library for C++ exceptions. Only what a walk needs is followed: the stack
 * pointer, the frame pointer and the return address. Memory of the library is read, nothing is called,
 * allocated or locked. x86-64 only. */
#ifndef SL_CFI_RULE_H
#define SL_CFI_RULE_H

#include "base/core/sl_base.h"

/* Where the caller's stack pointer comes from (the "canonical frame address", CFA). */
typedef enum sl_cfi_base {
    SL_CFI_NONE,     /* never in a rule that was found; a cache may use it for "not there" */
    SL_CFI_SP,       /* stack pointer + off */
    SL_CFI_FP,       /* frame pointer + off */
    SL_CFI_FP_DEREF, /* the word at frame pointer + off: functions that align their stack */
    SL_CFI_END,      /* the outermost frame says so itself */
    SL_CFI_UNKNOWN,  /* no information, or of a kind that is not followed */
} sl_cfi_base;

/* Where the caller's frame pointer is. */
typedef enum sl_cfi_fp {
    SL_CFI_FP_SAME,   /* still in the register */
    SL_CFI_FP_AT_CFA, /* saved at CFA + off */
    SL_CFI_FP_AT_FP,  /* saved at frame pointer + off */
    SL_CFI_FP_LOST,
} sl_cfi_fp;

/* The return address lies just below the CFA; a function where it does not is SL_CFI_UNKNOWN. */
typedef struct sl_cfi_rule {
    uint8_t base; /* sl_cfi_base */
    uint8_t fp;   /* sl_cfi_fp */
    int16_t fp_off;
    int32_t cfa_off;
} sl_cfi_rule;

/* A loaded library as far as it matters here. */
typedef struct sl_cfi_object {
    uintptr_t low, high;      /* its mapping */
    const uint8_t *eh_header; /* PT_GNU_EH_FRAME; NULL = it has none */
} sl_cfi_object;

/* The rule at this instruction, and in *function the start of the code it belongs to (0 = not known). */
sl_cfi_rule sl_cfi_find(const sl_cfi_object *object, uintptr_t at, uintptr_t *function);

#endif
