/* SPDX-License-Identifier: MIT */
#include "record/stacks/cfi_rule.h"

#include <string.h>

/* DWARF numbers of the registers followed, System V ABI for x86-64. */
enum { REG_FP = 6, REG_SP = 7, REG_RETURN = 16 };

/* Pointer encodings (LSB, "DWARF extensions"): the low half is the format, the rest what it is added to. */
enum {
    ENC_ABSOLUTE = 0x00,
    ENC_UDATA2 = 0x02,
    ENC_UDATA4 = 0x03,
    ENC_UDATA8 = 0x04,
    ENC_SDATA4 = 0x0b,
    ENC_SDATA8 = 0x0c,
    ENC_FORMAT = 0x0f,
    ENC_PCREL = 0x10,
    ENC_BASE = 0x70,
    ENC_INDIRECT = 0x80,
    ENC_OMIT = 0xff,
    ENC_TABLE = 0x3b, /* relative to the header, four signed bytes: what every linker writes */
};

/* Bytes that are read in order; is_bad once a read would have gone beyond the end. */
typedef struct reader {
    const uint8_t *at, *end;
    bool is_bad;
} reader;

static uint64_t take(reader *in, size_t bytes) {
    uint64_t value = 0;
    if (in->is_bad || (size_t)(in->end - in->at) < bytes) {
        in->is_bad = true;
        return 0;
    }
    memcpy(&value, in->at, bytes); /* little-endian, as the processor is */
    in->at += bytes;
    return value;
}

static uint64_t take_uleb(reader *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(in, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->is_bad = true;
    return 0;
}

static int64_t take_sleb(reader *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(in, 1);
        value |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
    in->is_bad = true;
    return 0;
}

static reader take_block(reader *in) {
    uint64_t len = take_uleb(in);
    reader block = {in->at, in->at, true};
    if (in->is_bad || (uint64_t)(in->end - in->at) < len) {
        in->is_bad = true;
        return block;
    }
    in->at += len;
    return (reader){block.at, in->at, false};
}

static uint64_t take_format(reader *in, uint8_t format) {
    switch (format) {
    case ENC_ABSOLUTE:
    case ENC_UDATA8:
    case ENC_SDATA8: return take(in, 8);
    case ENC_UDATA4: return take(in, 4);
    case ENC_SDATA4: return (uint64_t)(int64_t)(int32_t)take(in, 4);
    case ENC_UDATA2: return take(in, 2);
    default: in->is_bad = true; return 0;
    }
}

static uint64_t take_pointer(reader *in, uint8_t encoding) {
    uint64_t at = (uint64_t)(uintptr_t)in->at, base = encoding & ENC_BASE;
    uint64_t value = take_format(in, encoding & ENC_FORMAT);
    if (encoding & ENC_INDIRECT || (base && base != ENC_PCREL))
        in->is_bad = true;
    return base == ENC_PCREL ? value + at : value;
}

/* --- The tables --------------------------------------------------------------------------------- */

typedef struct cie {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding; /* of the addresses in its FDEs */
    bool has_sizes;   /* 'z': augmentation data are preceded by their length */
    reader program;
} cie;

static bool is_inside(const sl_cfi_object *object, const uint8_t *at, size_t bytes) {
    return (uintptr_t)at >= object->low && (uintptr_t)at < object->high &&
           object->high - (uintptr_t)at >= bytes;
}

/* The bytes of the entry that begins here, after its length. */
static reader entry_at(const sl_cfi_object *object, const uint8_t *at) {
    reader bad = {at, at, true};
    uint32_t len;
    if (!is_inside(object, at, sizeof len))
        return bad;
    memcpy(&len, at, sizeof len);
    at += sizeof len;
    if (!len || len == UINT32_MAX || !is_inside(object, at, len))
        return bad;
    return (reader){at, at + len, false};
}

static void take_augmentation(cie *out, reader *in, const char *letters) {
    for (; *letters && !in->is_bad; letters++) {
        switch (*letters) {
        case 'R': out->encoding = (uint8_t)take(in, 1); break;
        case 'L': take(in, 1); break;
        case 'P': {
            uint8_t encoding = (uint8_t)take(in, 1);
            if (encoding != ENC_OMIT)
                take_format(in, encoding & ENC_FORMAT);
            break;
        }
        case 'B': break;
        default: in->is_bad = true; /* 'S', a signal's frame, among them: the walk ends there */
        }
    }
}

static bool read_cie(const sl_cfi_object *object, const uint8_t *at, cie *out) {
    reader in = entry_at(object, at);
    *out = (cie){.encoding = ENC_ABSOLUTE};
    uint32_t id = (uint32_t)take(&in, 4);
    uint8_t version = (uint8_t)take(&in, 1);
    if (in.is_bad || id != 0 || (version != 1 && version != 3))
        return false;
    const char *letters = (const char *)in.at;
    const uint8_t *letters_end = memchr(in.at, 0, (size_t)(in.end - in.at));
    if (!letters_end)
        return false;
    in.at = letters_end + 1;
    out->code_unit = take_uleb(&in);
    out->data_unit = take_sleb(&in);
    uint64_t return_reg = version == 1 ? take(&in, 1) : take_uleb(&in);
    if (*letters == 'z') {
        reader data = take_block(&in);
        out->has_sizes = true;
        take_augmentation(out, &data, letters + 1);
        in.is_bad |= data.is_bad;
    } else if (*letters) {
        return false;
    }
    out->program = in;
    return !in.is_bad && return_reg == REG_RETURN;
}

typedef struct fde {
    cie common;
    uintptr_t start, end;
    reader program;
} fde;

static bool read_fde(const sl_cfi_object *object, const uint8_t *at, fde *out) {
    reader in = entry_at(object, at);
    const uint8_t *id_at = in.at;
    uint32_t back = (uint32_t)take(&in, 4);
    if (in.is_bad || !back || back > (uintptr_t)id_at - object->low ||
        !read_cie(object, id_at - back, &out->common))
        return false;
    out->start = take_pointer(&in, out->common.encoding);
    out->end = out->start + take_format(&in, out->common.encoding & ENC_FORMAT);
    if (out->common.has_sizes)
        take_block(&in);
    out->program = in;
    return !in.is_bad;
}

/* The header's table is sorted by address: pairs of start and entry, relative to the header. */
static const uint8_t *find_entry(const sl_cfi_object *object, uintptr_t at) {
    const uint8_t *header = object->eh_header;
    if (!header || !is_inside(object, header, 12) || header[0] != 1 ||
        header[1] != (ENC_PCREL | ENC_SDATA4) || header[2] != ENC_UDATA4 || header[3] != ENC_TABLE)
        return NULL;
    uint32_t cnt;
    memcpy(&cnt, header + 8, sizeof cnt);
    const int32_t *table = (const int32_t *)(const void *)(header + 12);
    if (!cnt || !is_inside(object, header + 12, (size_t)cnt * 8))
        return NULL;
    int64_t wanted = (int64_t)(at - (uintptr_t)header);
    size_t low = 0, high = cnt;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[2 * middle] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header + table[2 * (low - 1) + 1] : NULL;
}

/* --- The program: one row of the table of rules ---------------------------------------------------- */

typedef enum reg_kind { REG_SAME, REG_AT_CFA, REG_AT_FP, REG_UNDEFINED, REG_OTHER } reg_kind;

typedef struct reg_rule {
    reg_kind kind;
    int64_t off;
} reg_rule;

typedef struct row {
    sl_cfi_base base;
    int64_t cfa_off;
    reg_rule fp, ret;
} row;

#define REMEMBER_MAX 8

typedef struct machine {
    const cie *common;
    uintptr_t at, wanted;
    row now, initial;
    row remembered[REMEMBER_MAX];
    unsigned remembered_cnt;
    bool is_bad;
} machine;

static reg_rule *rule_of(row *now, uint64_t reg) {
    return reg == REG_FP ? &now->fp : reg == REG_RETURN ? &now->ret : NULL;
}

static void set_rule(machine *m, uint64_t reg, reg_kind kind, int64_t off) {
    reg_rule *rule = rule_of(&m->now, reg);
    if (rule)
        *rule = (reg_rule){kind, off};
}

static void restore_rule(machine *m, uint64_t reg) {
    reg_rule *rule = rule_of(&m->now, reg);
    if (rule)
        *rule = *rule_of(&m->initial, reg);
}

static void set_cfa_register(machine *m, uint64_t reg) {
    m->now.base = reg == REG_SP ? SL_CFI_SP : reg == REG_FP ? SL_CFI_FP : SL_CFI_UNKNOWN;
}

enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

/* "frame pointer + off", with or without a load: the two expressions compilers write for functions that
 * align their stack. */
static bool is_fp_expression(reader block, bool has_deref, int64_t *off) {
    uint64_t op = take(&block, 1);
    *off = take_sleb(&block);
    if (has_deref && take(&block, 1) != OP_DEREF)
        return false;
    return !block.is_bad && block.at == block.end && op == OP_BREG0 + REG_FP;
}

static void set_cfa_expression(machine *m, reader block) {
    bool is_known = is_fp_expression(block, true, &m->now.cfa_off);
    m->now.base = is_known ? SL_CFI_FP_DEREF : SL_CFI_UNKNOWN;
}

static void set_expression(machine *m, uint64_t reg, reader block) {
    int64_t off = 0;
    bool is_known = is_fp_expression(block, false, &off);
    set_rule(m, reg, is_known ? REG_AT_FP : REG_OTHER, off);
}

static void remember(machine *m) {
    if (m->remembered_cnt == REMEMBER_MAX)
        m->is_bad = true;
    else
        m->remembered[m->remembered_cnt++] = m->now;
}

static void recall(machine *m) {
    if (m->remembered_cnt == 0)
        m->is_bad = true;
    else
        m->now = m->remembered[--m->remembered_cnt];
}

/* DW_CFA_*; the first three carry an operand in their low six bits. */
enum {
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_ARGS_SIZE = 0x2e,
};

static void run_extended(machine *m, reader *in, uint8_t op) {
    int64_t unit = m->common->data_unit;
    uint64_t reg;
    switch (op) {
    case CFA_NOP: break;
    case CFA_ADVANCE1: m->at += take(in, 1) * m->common->code_unit; break;
    case CFA_ADVANCE2: m->at += take(in, 2) * m->common->code_unit; break;
    case CFA_ADVANCE4: m->at += take(in, 4) * m->common->code_unit; break;
    case CFA_OFFSET_EXTENDED:
        reg = take_uleb(in);
        set_rule(m, reg, REG_AT_CFA, (int64_t)take_uleb(in) * unit);
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = take_uleb(in);
        set_rule(m, reg, REG_AT_CFA, take_sleb(in) * unit);
        break;
    case CFA_RESTORE_EXTENDED: restore_rule(m, take_uleb(in)); break;
    case CFA_UNDEFINED: set_rule(m, take_uleb(in), REG_UNDEFINED, 0); break;
    case CFA_SAME_VALUE: set_rule(m, take_uleb(in), REG_SAME, 0); break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
        reg = take_uleb(in);
        take_uleb(in);
        set_rule(m, reg, REG_OTHER, 0);
        break;
    case CFA_VAL_OFFSET_SF:
        reg = take_uleb(in);
        take_sleb(in);
        set_rule(m, reg, REG_OTHER, 0);
        break;
    case CFA_REMEMBER: remember(m); break;
    case CFA_RECALL: recall(m); break;
    case CFA_DEF_CFA:
        set_cfa_register(m, take_uleb(in));
        m->now.cfa_off = (int64_t)take_uleb(in);
        break;
    case CFA_DEF_CFA_SF:
        set_cfa_register(m, take_uleb(in));
        m->now.cfa_off = take_sleb(in) * unit;
        break;
    case CFA_DEF_CFA_REGISTER: set_cfa_register(m, take_uleb(in)); break;
    case CFA_DEF_CFA_OFFSET: m->now.cfa_off = (int64_t)take_uleb(in); break;
    case CFA_DEF_CFA_OFFSET_SF: m->now.cfa_off = take_sleb(in) * unit; break;
    case CFA_DEF_CFA_EXPRESSION: set_cfa_expression(m, take_block(in)); break;
    case CFA_EXPRESSION:
        reg = take_uleb(in);
        set_expression(m, reg, take_block(in));
        break;
    case CFA_VAL_EXPRESSION:
        set_rule(m, take_uleb(in), REG_OTHER, 0);
        take_block(in);
        break;
    case CFA_ARGS_SIZE: take_uleb(in); break;
    default: m->is_bad = true; break;
    }
}

/* Runs until the row of the wanted instruction is complete. */
static void run(machine *m, reader in) {
    while (!m->is_bad && in.at < in.end) {
        uint8_t op = (uint8_t)take(&in, 1), operand = op & 0x3f;
        switch (op & 0xc0) {
        case CFA_ADVANCE: m->at += operand * m->common->code_unit; break;
        case CFA_OFFSET:
            set_rule(m, operand, REG_AT_CFA, (int64_t)take_uleb(&in) * m->common->data_unit);
            break;
        case CFA_RESTORE: restore_rule(m, operand); break;
        default: run_extended(m, &in, op); break;
        }
        m->is_bad |= in.is_bad;
        if (m->at > m->wanted)
            return;
    }
}

static const sl_cfi_rule unknown = {.base = SL_CFI_UNKNOWN};

static sl_cfi_rule pack(const row *now) {
    static const uint8_t fp_kinds[] = {
        [REG_SAME] = SL_CFI_FP_SAME,   [REG_AT_CFA] = SL_CFI_FP_AT_CFA,
        [REG_AT_FP] = SL_CFI_FP_AT_FP, [REG_UNDEFINED] = SL_CFI_FP_LOST,
        [REG_OTHER] = SL_CFI_FP_LOST,
    };
    if (now->ret.kind == REG_UNDEFINED)
        return (sl_cfi_rule){.base = SL_CFI_END};
    if (now->ret.kind != REG_AT_CFA || now->ret.off != -8 || now->base == SL_CFI_UNKNOWN ||
        now->cfa_off != (int32_t)now->cfa_off || now->fp.off != (int16_t)now->fp.off)
        return unknown;
    return (sl_cfi_rule){(uint8_t)now->base, fp_kinds[now->fp.kind], (int16_t)now->fp.off,
                         (int32_t)now->cfa_off};
}

sl_cfi_rule sl_cfi_find(const sl_cfi_object *object, uintptr_t at, uintptr_t *function) {
    fde entry;
    *function = 0;
    const uint8_t *entry_bytes = find_entry(object, at);
    if (!entry_bytes || !read_fde(object, entry_bytes, &entry) || at < entry.start ||
        at >= entry.end)
        return unknown;
    *function = entry.start;
    machine m = {.common = &entry.common, .wanted = UINTPTR_MAX, .now = {.base = SL_CFI_UNKNOWN}};
    run(&m, entry.common.program);
    m.initial = m.now;
    m.at = entry.start;
    m.wanted = at;
    run(&m, entry.program);
    return m.is_bad ? unknown : pack(&m.now);
}
