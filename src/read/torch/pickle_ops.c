/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_ops.h"

#define OP(operand, verdict, name) \
    { name, SL_ARG_##operand, SL_PICKLE_##verdict }

const sl_pickle_op sl_pickle_ops[256] = {
    [0x28] = OP(NONE, PLAIN, "MARK"),        [0x29] = OP(NONE, PLAIN, "EMPTY_TUPLE"),
    [0x2e] = OP(NONE, PLAIN, "STOP"),        [0x30] = OP(NONE, PLAIN, "POP"),
    [0x31] = OP(NONE, FOREIGN, "POP_MARK"),  [0x32] = OP(NONE, FOREIGN, "DUP"),
    [0x42] = OP(STR4, PLAIN, "BINBYTES"),    [0x43] = OP(STR1, PLAIN, "SHORT_BINBYTES"),
    [0x46] = OP(LINES, TEXT, "FLOAT"),       [0x47] = OP(F8, PLAIN, "BINFLOAT"),
    [0x49] = OP(LINES, TEXT, "INT"),         [0x4a] = OP(I4, PLAIN, "BININT"),
    [0x4b] = OP(U1, PLAIN, "BININT1"),       [0x4c] = OP(LINES, TEXT, "LONG"),
    [0x4d] = OP(U2, PLAIN, "BININT2"),       [0x4e] = OP(NONE, PLAIN, "NONE"),
    [0x50] = OP(LINES, CODE, "PERSID"),      [0x51] = OP(NONE, CODE, "BINPERSID"),
    [0x52] = OP(NONE, CODE, "REDUCE"),       [0x53] = OP(LINES, TEXT, "STRING"),
    [0x54] = OP(STR4, PLAIN, "BINSTRING"),   [0x55] = OP(STR1, PLAIN, "SHORT_BINSTRING"),
    [0x56] = OP(LINES, TEXT, "UNICODE"),     [0x58] = OP(STR4, PLAIN, "BINUNICODE"),
    [0x5d] = OP(NONE, PLAIN, "EMPTY_LIST"),  [0x61] = OP(NONE, PLAIN, "APPEND"),
    [0x62] = OP(NONE, CODE, "BUILD"),        [0x63] = OP(LINES, CODE, "GLOBAL"),
    [0x64] = OP(NONE, TEXT, "DICT"),         [0x65] = OP(NONE, PLAIN, "APPENDS"),
    [0x67] = OP(LINES, TEXT, "GET"),         [0x68] = OP(U1, PLAIN, "BINGET"),
    [0x69] = OP(LINES, CODE, "INST"),        [0x6a] = OP(U4, PLAIN, "LONG_BINGET"),
    [0x6c] = OP(NONE, TEXT, "LIST"),         [0x6f] = OP(NONE, CODE, "OBJ"),
    [0x70] = OP(LINES, TEXT, "PUT"),         [0x71] = OP(U1, PLAIN, "BINPUT"),
    [0x72] = OP(U4, PLAIN, "LONG_BINPUT"),   [0x73] = OP(NONE, PLAIN, "SETITEM"),
    [0x74] = OP(NONE, PLAIN, "TUPLE"),       [0x75] = OP(NONE, PLAIN, "SETITEMS"),
    [0x7d] = OP(NONE, PLAIN, "EMPTY_DICT"),  [0x80] = OP(U1, PLAIN, "PROTO"),
    [0x81] = OP(NONE, CODE, "NEWOBJ"),       [0x82] = OP(U1, CODE, "EXT1"),
    [0x83] = OP(U2, CODE, "EXT2"),           [0x84] = OP(U4, CODE, "EXT4"),
    [0x85] = OP(NONE, PLAIN, "TUPLE1"),      [0x86] = OP(NONE, PLAIN, "TUPLE2"),
    [0x87] = OP(NONE, PLAIN, "TUPLE3"),      [0x88] = OP(NONE, PLAIN, "NEWTRUE"),
    [0x89] = OP(NONE, PLAIN, "NEWFALSE"),    [0x8a] = OP(STR1, PLAIN, "LONG1"),
    [0x8b] = OP(STR4, PLAIN, "LONG4"),       [0x8c] = OP(STR1, PLAIN, "SHORT_BINUNICODE"),
    [0x8d] = OP(STR8, PLAIN, "BINUNICODE8"), [0x8e] = OP(STR8, PLAIN, "BINBYTES8"),
    [0x8f] = OP(NONE, FOREIGN, "EMPTY_SET"), [0x90] = OP(NONE, FOREIGN, "ADDITEMS"),
    [0x91] = OP(NONE, FOREIGN, "FROZENSET"), [0x92] = OP(NONE, CODE, "NEWOBJ_EX"),
    [0x93] = OP(NONE, CODE, "STACK_GLOBAL"), [0x94] = OP(NONE, PLAIN, "MEMOIZE"),
    [0x95] = OP(U8, PLAIN, "FRAME"),         [0x96] = OP(STR8, FOREIGN, "BYTEARRAY8"),
    [0x97] = OP(NONE, CODE, "NEXT_BUFFER"),  [0x98] = OP(NONE, CODE, "READONLY_BUFFER"),
};
