/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_vm.h"

#include <stdio.h>
#include <string.h>

#include "read/torch/pickle_ops.h"

/* What an opcode brings along. */
typedef struct operand {
    uint64_t u;
    const unsigned char *bytes; /* of a string; valid until the next read */
    size_t len;
} operand;

typedef sl_status (*op_fn)(sl_pickle_vm *vm, unsigned op, const operand *arg);

static unsigned long long here(const sl_pickle_vm *vm) {
    return (unsigned long long)vm->op_at;
}

/* --- Plain values ----------------------------------------------------------------------------- */

static sl_status push_int(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    sl_torch_value value = {.kind = SL_VAL_INT, .u = arg->u};
    return sl_pickle_push(vm, &value);
}

static sl_status push_signed(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    int32_t number = (int32_t)(uint32_t)arg->u;
    sl_torch_value value = {
        .kind = SL_VAL_INT, .is_negative = number < 0, .u = (uint64_t)(int64_t)number};
    return sl_pickle_push(vm, &value);
}

/* Little-endian two's complement of any length; more than 64 bits are only counted as "big". */
static sl_status push_long(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    size_t len = arg->len;
    bool is_negative = len > 0 && arg->bytes[len - 1] & 0x80;
    unsigned char sign = is_negative ? 0xff : 0;
    while (len > 8 && arg->bytes[len - 1] == sign)
        len--;
    sl_torch_value value = {.kind = SL_VAL_INT, .is_negative = is_negative};
    value.u = is_negative ? UINT64_MAX : 0;
    if (len <= 8)
        memcpy(&value.u, arg->bytes, len);
    /* Eight bytes whose top bit is set and which are positive are fine (an address); eight bytes
     * of a negative number with the top bit clear are not. */
    if (len > 8 || (is_negative && !(value.u >> 63)))
        value = (sl_torch_value){.kind = SL_VAL_BIG};
    return sl_pickle_push(vm, &value);
}

static sl_status push_float(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    sl_torch_value value = {.kind = SL_VAL_FLOAT};
    uint64_t bits = __builtin_bswap64(arg->u);
    memcpy(&value.f, &bits, sizeof value.f);
    return sl_pickle_push(vm, &value);
}

static sl_status push_str(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    sl_torch_value value = {.kind = SL_VAL_STR};
    value.id = sl_strtab_intern(&vm->build->trace->strings, (const char *)arg->bytes, arg->len);
    if (value.id == SL_STR_NONE)
        return sl_fail_no_memory(vm->err, "a string");
    return sl_pickle_push(vm, &value);
}

static sl_status push_bytes(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    SL_UNUSED(arg);
    return sl_pickle_push(vm, &(sl_torch_value){.kind = SL_VAL_BYTES});
}

static sl_status push_constant(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(arg);
    sl_torch_value value = {.kind = op == SL_OP_NONE ? SL_VAL_NONE : SL_VAL_BOOL,
                            .u = op == SL_OP_NEWTRUE};
    return sl_pickle_push(vm, &value);
}

/* --- Structure -------------------------------------------------------------------------------- */

static sl_status push_mark(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    SL_UNUSED(arg);
    sl_torch_value mark = {.kind = SL_VAL_MARK};
    mark.id = vm->mark == SL_NO_IDX ? UINT32_MAX : (uint32_t)vm->mark;
    SL_TRY(sl_pickle_push(vm, &mark));
    vm->mark = vm->stack.cnt - 1;
    return SL_OK;
}

static sl_status open_container(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(arg);
    return sl_pickle_open_container(vm, op == SL_OP_EMPTY_LIST);
}

static sl_status add_to_list(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(arg);
    return sl_pickle_append(vm, op == SL_OP_APPENDS);
}

static sl_status add_to_dict(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(arg);
    return sl_pickle_set_items(vm, op == SL_OP_SETITEMS);
}

static sl_status make_tuple(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(arg);
    size_t cnt = op == SL_OP_TUPLE         ? SL_NO_IDX
                 : op == SL_OP_EMPTY_TUPLE ? 0
                                           : (size_t)(op - SL_OP_TUPLE1) + 1;
    return sl_pickle_make_tuple(vm, cnt);
}

static sl_status memoize(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    return sl_pickle_memoize(vm, op == SL_OP_MEMOIZE ? vm->memo.set_cnt : arg->u);
}

static sl_status recall(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    return sl_pickle_recall(vm, arg->u);
}

static sl_status drop_top(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    SL_UNUSED(arg);
    if (vm->stack.cnt == 0)
        return sl_pickle_underflow(vm, "a value to drop");
    uint8_t kind = vm->stack.at[vm->stack.cnt - 1].kind;
    if (kind == SL_VAL_MARK || kind == SL_VAL_LIST || kind == SL_VAL_DICT)
        return sl_fail_at(vm->err, SL_E_REFUSED, vm->op_at,
                          "opcode 0x30 (POP) at byte %llu drops %s, which no snapshot does",
                          here(vm), sl_torch_kind_text(&vm->stack.at[vm->stack.cnt - 1]));
    vm->stack.cnt--;
    return SL_OK;
}

static sl_status check_protocol(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    if (arg->u >= 2 && arg->u <= 5)
        return SL_OK;
    return sl_fail_at(vm->err, SL_E_VERSION, vm->op_at,
                      "pickle protocol %u at byte %llu, expected 2 to 5", (unsigned)arg->u,
                      here(vm));
}

/* Frames only help a reader that buffers; the opcodes inside are read as they come. */
static sl_status skip_frame(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(vm);
    SL_UNUSED(op);
    SL_UNUSED(arg);
    return SL_OK;
}

static sl_status stop(sl_pickle_vm *vm, unsigned op, const operand *arg) {
    SL_UNUSED(op);
    SL_UNUSED(arg);
    if (vm->stack.cnt != 1 || vm->stack.at[0].kind == SL_VAL_MARK)
        return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                          "the pickle stops at byte %llu with %zu values on its stack, expected 1",
                          here(vm), vm->stack.cnt);
    sl_torch_role role = (sl_torch_role)vm->stack.at[0].role;
    if (role != SL_ROLE_ROOT && role != SL_ROLE_SEGMENTS)
        return sl_fail(vm->err, SL_E_FOREIGN,
                       "it is not a torch memory snapshot: the pickle holds %s, expected a dict",
                       sl_torch_kind_text(&vm->stack.at[0]));
    vm->is_stopped = true;
    return sl_pickle_settle(vm, 0);
}

static const op_fn handlers[256] = {
    [SL_OP_MARK] = push_mark,
    [SL_OP_EMPTY_TUPLE] = make_tuple,
    [SL_OP_STOP] = stop,
    [SL_OP_POP] = drop_top,
    [SL_OP_BINBYTES] = push_bytes,
    [SL_OP_SHORT_BINBYTES] = push_bytes,
    [SL_OP_BINBYTES8] = push_bytes,
    [SL_OP_BINFLOAT] = push_float,
    [SL_OP_BININT] = push_signed,
    [SL_OP_BININT1] = push_int,
    [SL_OP_BININT2] = push_int,
    [SL_OP_NONE] = push_constant,
    [SL_OP_NEWTRUE] = push_constant,
    [SL_OP_NEWFALSE] = push_constant,
    [SL_OP_BINSTRING] = push_str,
    [SL_OP_SHORT_BINSTRING] = push_str,
    [SL_OP_BINUNICODE] = push_str,
    [SL_OP_SHORT_BINUNICODE] = push_str,
    [SL_OP_BINUNICODE8] = push_str,
    [SL_OP_EMPTY_LIST] = open_container,
    [SL_OP_EMPTY_DICT] = open_container,
    [SL_OP_APPEND] = add_to_list,
    [SL_OP_APPENDS] = add_to_list,
    [SL_OP_SETITEM] = add_to_dict,
    [SL_OP_SETITEMS] = add_to_dict,
    [SL_OP_TUPLE] = make_tuple,
    [SL_OP_TUPLE1] = make_tuple,
    [SL_OP_TUPLE2] = make_tuple,
    [SL_OP_TUPLE3] = make_tuple,
    [SL_OP_BINGET] = recall,
    [SL_OP_LONG_BINGET] = recall,
    [SL_OP_BINPUT] = memoize,
    [SL_OP_LONG_BINPUT] = memoize,
    [SL_OP_MEMOIZE] = memoize,
    [SL_OP_PROTO] = check_protocol,
    [SL_OP_FRAME] = skip_frame,
    [SL_OP_LONG1] = push_long,
    [SL_OP_LONG4] = push_long,
};

/* --- Refusals --------------------------------------------------------------------------------- */

#define NAME_CAP 96

static void add_name(char name[NAME_CAP], const char *ptr, size_t len) {
    size_t used = strlen(name);
    if (len > 0 && used > 0 && used < NAME_CAP - 1)
        name[used++] = '.';
    for (size_t i = 0; i < len && used < NAME_CAP - 1; i++)
        name[used++] = ptr[i] >= 0x20 && ptr[i] < 0x7f && ptr[i] != '\'' ? ptr[i] : '?';
    name[used] = '\0';
}

/* One line after the opcode, as far as it is there. */
static void add_line(sl_pickle_vm *vm, char name[NAME_CAP]) {
    size_t len = 0;
    while (len < NAME_CAP && sl_bytes_need(vm->in, len + 1) && vm->in->at[len] != '\n')
        len++;
    add_name(name, (const char *)vm->in->at, len);
    vm->in->at += len;
    if (sl_bytes_need(vm->in, 1))
        vm->in->at++;
}

static void add_stack_strings(const sl_pickle_vm *vm, char name[NAME_CAP]) {
    for (size_t i = vm->stack.cnt >= 2 ? vm->stack.cnt - 2 : 0; i < vm->stack.cnt; i++) {
        sl_str text = sl_strtab_get(&vm->build->trace->strings, vm->stack.at[i].id);
        if (vm->stack.at[i].kind == SL_VAL_STR)
            add_name(name, text.ptr, text.len);
    }
}

static sl_status refuse_code(sl_pickle_vm *vm, unsigned op) {
    char name[NAME_CAP] = "";
    vm->in->at++;
    if (op == SL_OP_STACK_GLOBAL)
        add_stack_strings(vm, name);
    else if (sl_pickle_ops[op].operand == SL_ARG_LINES)
        add_line(vm, name);
    if (op == SL_OP_GLOBAL || op == SL_OP_INST)
        add_line(vm, name);
    char asks[NAME_CAP + 16] = "would run code";
    if (name[0])
        snprintf(asks, sizeof asks, "names '%s'", name);
    return sl_fail_at(vm->err, SL_E_REFUSED, vm->op_at,
                      "opcode 0x%02x (%s) at byte %llu %s, which this reader refuses; only torch "
                      "snapshot types are accepted",
                      op, sl_pickle_ops[op].name, here(vm), asks);
}

static sl_status refuse(sl_pickle_vm *vm, unsigned op) {
    const sl_pickle_op *row = &sl_pickle_ops[op];
    switch ((sl_pickle_verdict)row->verdict) {
    case SL_PICKLE_CODE: return refuse_code(vm, op);
    case SL_PICKLE_FOREIGN:
        return sl_fail_at(vm->err, SL_E_REFUSED, vm->op_at,
                          "opcode 0x%02x (%s) at byte %llu is refused: no torch snapshot has it",
                          op, row->name, here(vm));
    case SL_PICKLE_TEXT:
        return sl_fail_at(vm->err, SL_E_VERSION, vm->op_at,
                          "opcode 0x%02x (%s) at byte %llu belongs to the text protocols 0 and 1 "
                          "of pickle, expected protocol 2 to 5",
                          op, row->name, here(vm));
    case SL_PICKLE_PLAIN:
    case SL_PICKLE_UNKNOWN: break;
    }
    return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                      "byte 0x%02x at %llu is not a pickle opcode; the file is damaged", op,
                      here(vm));
}

/* --- The loop --------------------------------------------------------------------------------- */

/* Bytes of the operand's fixed part. */
static const uint8_t operand_sizes[] = {
    [SL_ARG_NONE] = 0, [SL_ARG_U1] = 1, [SL_ARG_U2] = 2,   [SL_ARG_U4] = 4,   [SL_ARG_I4] = 4,
    [SL_ARG_U8] = 8,   [SL_ARG_F8] = 8, [SL_ARG_STR1] = 1, [SL_ARG_STR4] = 4, [SL_ARG_STR8] = 8,
};

static sl_status cut_off(const sl_pickle_vm *vm, unsigned op) {
    char inside[48];
    snprintf(inside, sizeof inside, "opcode 0x%02x (%s)", op, sl_pickle_ops[op].name);
    return sl_bytes_failure(vm->in, inside, vm->err);
}

static sl_status read_string(sl_pickle_vm *vm, unsigned op, operand *arg) {
    uint64_t len = arg->u;
    uint64_t done = sl_bytes_position(vm->in), total = vm->in->unpack ? 0 : vm->in->total;
    /* A length beyond the end of the file is an error before any of it is read. */
    if (total && (done > total || len > total - done))
        return sl_fail_at(vm->err, SL_E_TRUNCATED, vm->op_at,
                          "opcode 0x%02x (%s) at byte %llu asks for %llu bytes, the file has %llu "
                          "more",
                          op, sl_pickle_ops[op].name, here(vm), (unsigned long long)len,
                          (unsigned long long)(done > total ? 0 : total - done));
    if (len > SIZE_MAX / 2 || !sl_bytes_need(vm->in, (size_t)len))
        return cut_off(vm, op);
    arg->bytes = vm->in->at;
    arg->len = (size_t)len;
    vm->in->at += len;
    return SL_OK;
}

static sl_status read_operand(sl_pickle_vm *vm, unsigned op, operand *arg) {
    uint8_t form = sl_pickle_ops[op].operand;
    size_t size = operand_sizes[form];
    if (!sl_bytes_need(vm->in, 1 + size))
        return cut_off(vm, op);
    memcpy(&arg->u, vm->in->at + 1, size);
    vm->in->at += 1 + size;
    if (form >= SL_ARG_STR1)
        return read_string(vm, op, arg);
    return SL_OK;
}

static sl_status step(sl_pickle_vm *vm) {
    if (!sl_bytes_need(vm->in, 1))
        return sl_bytes_failure(vm->in, "the pickle, before its STOP opcode", vm->err);
    unsigned op = *vm->in->at;
    vm->op_at = sl_bytes_position(vm->in);
    if (SL_UNLIKELY(!handlers[op]))
        return refuse(vm, op);
    operand arg = {0};
    SL_TRY(read_operand(vm, op, &arg));
    return handlers[op](vm, op, &arg);
}

sl_status sl_pickle_read(sl_byte_stream *in, sl_torch_build *build, sl_error *err) {
    sl_pickle_vm vm = {.in = in, .build = build, .err = err, .mark = SL_NO_IDX};
    sl_status status = SL_OK;
    while (status >= 0 && !vm.is_stopped)
        status = step(&vm);
    sl_vec_free(&vm.stack);
    sl_memo_fini(&vm.memo);
    sl_run_fini(&vm.runs);
    return status;
}
