/* SPDX-License-Identifier: MIT */
/* The opcodes of pickle protocols 0 to 5: name, operand, and whether this program takes part.
 * Data only. */
#ifndef SL_PICKLE_OPS_H
#define SL_PICKLE_OPS_H

#include "base/core/sl_base.h"

/* The form of an opcode's operand. */
typedef enum sl_pickle_operand {
    SL_ARG_NONE,
    SL_ARG_U1,
    SL_ARG_U2,
    SL_ARG_U4,
    SL_ARG_I4,
    SL_ARG_U8,
    SL_ARG_F8,   /* big-endian double */
    SL_ARG_STR1, /* length of 1 byte, then the bytes */
    SL_ARG_STR4,
    SL_ARG_STR8,
    SL_ARG_LINES, /* text lines; only refused opcodes have them */
} sl_pickle_operand;

typedef enum sl_pickle_verdict {
    SL_PICKLE_UNKNOWN = 0, /* no such opcode */
    SL_PICKLE_PLAIN,       /* plain data */
    SL_PICKLE_CODE,        /* imports or calls something: never done */
    SL_PICKLE_FOREIGN,     /* harmless, and nothing a snapshot contains */
    SL_PICKLE_TEXT,        /* the text form of protocols 0 and 1 */
} sl_pickle_verdict;

typedef enum sl_pickle_opcode {
    SL_OP_MARK = 0x28,
    SL_OP_STOP = 0x2e,
    SL_OP_POP = 0x30,
    SL_OP_BINFLOAT = 0x47,
    SL_OP_BININT = 0x4a,
    SL_OP_BININT1 = 0x4b,
    SL_OP_BININT2 = 0x4d,
    SL_OP_NONE = 0x4e,
    SL_OP_BINUNICODE = 0x58,
    SL_OP_BINSTRING = 0x54,
    SL_OP_SHORT_BINSTRING = 0x55,
    SL_OP_BINBYTES = 0x42,
    SL_OP_SHORT_BINBYTES = 0x43,
    SL_OP_EMPTY_LIST = 0x5d,
    SL_OP_APPEND = 0x61,
    SL_OP_APPENDS = 0x65,
    SL_OP_GLOBAL = 0x63,
    SL_OP_BINGET = 0x68,
    SL_OP_INST = 0x69,
    SL_OP_LONG_BINGET = 0x6a,
    SL_OP_BINPUT = 0x71,
    SL_OP_LONG_BINPUT = 0x72,
    SL_OP_SETITEM = 0x73,
    SL_OP_TUPLE = 0x74,
    SL_OP_EMPTY_TUPLE = 0x29,
    SL_OP_SETITEMS = 0x75,
    SL_OP_EMPTY_DICT = 0x7d,
    SL_OP_PROTO = 0x80,
    SL_OP_TUPLE1 = 0x85,
    SL_OP_TUPLE2 = 0x86,
    SL_OP_TUPLE3 = 0x87,
    SL_OP_NEWTRUE = 0x88,
    SL_OP_NEWFALSE = 0x89,
    SL_OP_LONG1 = 0x8a,
    SL_OP_LONG4 = 0x8b,
    SL_OP_SHORT_BINUNICODE = 0x8c,
    SL_OP_BINUNICODE8 = 0x8d,
    SL_OP_BINBYTES8 = 0x8e,
    SL_OP_STACK_GLOBAL = 0x93,
    SL_OP_MEMOIZE = 0x94,
    SL_OP_FRAME = 0x95,
} sl_pickle_opcode;

typedef struct sl_pickle_op {
    const char *name; /* NULL = no such opcode */
    uint8_t operand;  /* sl_pickle_operand */
    uint8_t verdict;  /* sl_pickle_verdict */
} sl_pickle_op;

extern const sl_pickle_op sl_pickle_ops[256];

#endif
