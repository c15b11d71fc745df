/* SPDX-License-Identifier: MIT */
/* The half of the pickle interpreter that knows about containers: roles, items, memo. */
#include "read/torch/pickle_events.h"
#include "read/torch/pickle_vm.h"

/* Far above what a snapshot needs (one stack's frames, one unknown list's batch of 1,000). */
#define STACK_LIMIT ((size_t)1 << 20)

static unsigned long long here(const sl_pickle_vm *vm) {
    return (unsigned long long)vm->op_at;
}

sl_status sl_pickle_underflow(const sl_pickle_vm *vm, const char *what) {
    return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at, "the stack lacks %s at byte %llu", what,
                      here(vm));
}

sl_status sl_pickle_push(sl_pickle_vm *vm, const sl_torch_value *value) {
    if (SL_UNLIKELY(vm->stack.cnt >= STACK_LIMIT))
        return sl_fail_at(vm->err, SL_E_LIMIT, vm->op_at,
                          "more than %zu unfinished values on the stack at byte %llu", STACK_LIMIT,
                          here(vm));
    if (!sl_vec_push(&vm->stack, *value))
        return sl_fail_no_memory(vm->err, "the pickle's stack");
    return SL_OK;
}

/* --- Memo ------------------------------------------------------------------------------------- */

static uint32_t entry_of(const sl_torch_value *value) {
    uint32_t past = sl_memo_entry(SL_MEMO_PAST, value->kind);
    if (value->id > SL_MEMO_PAYLOAD_MAX && value->kind != SL_VAL_LIST)
        return past;
    switch (value->kind) {
    case SL_VAL_STR: return sl_memo_entry(SL_MEMO_STR, value->id);
    case SL_VAL_TUPLE: return sl_memo_entry(SL_MEMO_POOL, value->id);
    case SL_VAL_DICT:
        return value->role == SL_ROLE_FRAME ? sl_memo_entry(SL_MEMO_FRAME, value->id) : past;
    case SL_VAL_LIST:
        if (value->role == SL_ROLE_FRAMES && value->id <= SL_MEMO_PAYLOAD_MAX)
            return sl_memo_entry(SL_MEMO_STACK, value->id);
        return value->u == 0 ? sl_memo_entry(SL_MEMO_NO_ITEMS, 0) : past;
    default: return past;
    }
}

/* One empty list may serve ignored and known places alike, so an ignored list counts as empty until
 * it gets an item. Its memo entry is in its id, one up. */
static bool is_ignored_list(const sl_torch_value *value) {
    return value->kind == SL_VAL_LIST && value->role == SL_ROLE_SKIP;
}

sl_status sl_pickle_memoize(sl_pickle_vm *vm, uint64_t id) {
    if (vm->stack.cnt == 0 || vm->stack.at[vm->stack.cnt - 1].kind == SL_VAL_MARK)
        return sl_pickle_underflow(vm, "a value to memoise");
    /* Picklers number upwards, so an id cannot exceed the bytes before it. */
    if (id > vm->op_at || id > UINT32_MAX)
        return sl_fail_at(vm->err, SL_E_LIMIT, vm->op_at,
                          "memo id %llu at byte %llu is larger than the number of bytes before it",
                          (unsigned long long)id, here(vm));
    sl_torch_value *top = &vm->stack.at[vm->stack.cnt - 1];
    uint32_t entry;
    if (top->is_open) {
        entry = sl_memo_entry(SL_MEMO_OPEN, top->role);
        if (vm->open[top->role].memo_idx == SL_NO_IDX)
            vm->open[top->role].memo_idx = (size_t)id;
    } else if (is_ignored_list(top)) {
        entry = entry_of(top);
        top->id = (uint32_t)id + 1;
    } else {
        entry = entry_of(top);
    }
    if (sl_memo_tag_of(sl_memo_get(&vm->memo, id)) != SL_MEMO_EMPTY)
        sl_run_clear(&vm->runs);
    if (!sl_memo_put(&vm->memo, (size_t)id, entry))
        return sl_fail_no_memory(vm->err, "the pickle's memo");
    return SL_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

typedef struct place {
    sl_torch_role role;
    uint64_t index; /* in the parent list */
    bool is_marked; /* an item after the newest mark */
    bool is_in_list;
} place;

static sl_torch_role role_in_list(const sl_torch_value *list, bool is_list) {
    const sl_torch_role_row *row = &sl_torch_roles[list->role];
    return (sl_torch_role)(is_list ? row->of_lists : row->of_dicts);
}

static sl_torch_role role_in_dict(const sl_pickle_vm *vm, const sl_torch_value *dict,
                                  const sl_torch_value *key, bool is_list) {
    if (key->kind != SL_VAL_STR)
        return SL_ROLE_SKIP;
    return sl_torch_fit(sl_torch_child_role(vm->build, dict->role, key->id), is_list);
}

/* As an item of the container below the newest mark. */
static place place_at_mark(const sl_pickle_vm *vm, bool is_list) {
    place found = {SL_ROLE_SKIP, 0, true, false};
    if (vm->mark == SL_NO_IDX || vm->mark == 0)
        return found;
    const sl_torch_value *parent = &vm->stack.at[vm->mark - 1];
    size_t behind = vm->stack.cnt - vm->mark - 1;
    if (parent->kind == SL_VAL_LIST) {
        found.is_in_list = true;
        found.role = role_in_list(parent, is_list);
        found.index = parent->u + vm->stack.at[vm->mark].u + behind;
    } else if (parent->kind == SL_VAL_DICT && behind % 2 == 1) {
        found.role = role_in_dict(vm, parent, &vm->stack.at[vm->stack.cnt - 1], is_list);
    }
    return found;
}

/* As the one item of the list, or the value of the one key of the dict, on top of the stack. */
static place place_at_top(const sl_pickle_vm *vm, bool is_list) {
    place found = {SL_ROLE_SKIP, 0, false, false};
    size_t cnt = vm->stack.cnt;
    const sl_torch_value *top = &vm->stack.at[cnt - 1];
    if (top->kind == SL_VAL_LIST) {
        found.is_in_list = true;
        found.role = role_in_list(top, is_list);
        found.index = top->u;
    } else if (cnt >= 2 && top[-1].kind == SL_VAL_DICT) {
        found.role = role_in_dict(vm, &top[-1], top, is_list);
    }
    return found;
}

static place find_place(const sl_pickle_vm *vm, bool is_list) {
    if (vm->stack.cnt == 0)
        return (place){is_list ? SL_ROLE_SEGMENTS : SL_ROLE_ROOT, 0, false, false};
    place found = place_at_mark(vm, is_list);
    return found.role != SL_ROLE_SKIP ? found : place_at_top(vm, is_list);
}

static sl_status close_role(sl_pickle_vm *vm, sl_torch_role role) {
    sl_pickle_open *open = &vm->open[role];
    if (!open->is_open)
        return SL_OK;
    uint32_t id = 0;
    vm->build->at_byte = vm->op_at;
    SL_TRY(sl_torch_end(vm->build, role, &id, vm->err));
    sl_torch_value *value = &vm->stack.at[open->stack_idx];
    value->is_open = false;
    value->id = id;
    if (open->memo_idx != SL_NO_IDX)
        vm->memo.at[open->memo_idx] = entry_of(value);
    open->is_open = false;
    return SL_OK;
}

sl_status sl_pickle_settle(sl_pickle_vm *vm, size_t stack_idx) {
    const sl_torch_value *value = &vm->stack.at[stack_idx];
    return value->is_open ? close_role(vm, (sl_torch_role)value->role) : SL_OK;
}

sl_status sl_pickle_recall(sl_pickle_vm *vm, uint64_t id) {
    uint32_t entry = sl_memo_get(&vm->memo, id);
    if (sl_memo_tag_of(entry) == SL_MEMO_OPEN) {
        /* Complete as far as anybody can tell; adding to it later is an error (P1). */
        SL_TRY(close_role(vm, (sl_torch_role)sl_memo_payload(entry)));
        entry = sl_memo_get(&vm->memo, id);
    }
    uint32_t payload = sl_memo_payload(entry);
    sl_torch_value value = {.id = payload};
    switch (sl_memo_tag_of(entry)) {
    case SL_MEMO_STR: value.kind = SL_VAL_STR; break;
    case SL_MEMO_POOL: value.kind = SL_VAL_TUPLE; break;
    case SL_MEMO_FRAME: value.kind = SL_VAL_DICT, value.role = SL_ROLE_FRAME, value.u = 1; break;
    case SL_MEMO_STACK:
        value.kind = SL_VAL_LIST, value.role = SL_ROLE_FRAMES, value.u = payload != SL_STACK_EMPTY;
        break;
    case SL_MEMO_NO_ITEMS: value.kind = SL_VAL_LIST, value.id = 0; break;
    case SL_MEMO_PAST: value.kind = SL_VAL_PAST; break;
    case SL_MEMO_OPEN:
        return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                          "memo entry %llu, used at byte %llu, is %s that has not ended",
                          (unsigned long long)id, here(vm), sl_torch_roles[payload].text);
    case SL_MEMO_EMPTY:
        return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                          "memo entry %llu, used at byte %llu, was never set",
                          (unsigned long long)id, here(vm));
    }
    return sl_pickle_push(vm, &value);
}

static sl_status take_item(sl_pickle_vm *vm, size_t list_idx, size_t item_idx) {
    SL_TRY(sl_pickle_settle(vm, item_idx));
    sl_torch_role role = (sl_torch_role)vm->stack.at[list_idx].role;
    if (role == SL_ROLE_SKIP)
        return SL_OK;
    vm->build->at_byte = vm->op_at;
    return sl_torch_append(vm->build, role, &vm->stack.at[item_idx], vm->err);
}

/* (P2): the item before the one that opens now. */
static sl_status retire_item(sl_pickle_vm *vm) {
    if (vm->stack.cnt != vm->mark + 2)
        return SL_OK;
    SL_TRY(take_item(vm, vm->mark - 1, vm->mark + 1));
    vm->stack.cnt--;
    vm->stack.at[vm->mark].u++;
    return SL_OK;
}

/* The opcode that opens an event has been read and nothing is after the mark: tries the fast
 * way from that opcode on. */
static sl_status take_events(sl_pickle_vm *vm, bool *has_taken) {
    uint64_t cnt;
    vm->in->at--;
    SL_TRY(sl_pickle_take_events(vm, &cnt));
    vm->stack.at[vm->mark].u += cnt;
    *has_taken = cnt > 0;
    vm->in->at += cnt == 0;
    return SL_OK;
}

sl_status sl_pickle_open_container(sl_pickle_vm *vm, bool is_list) {
    place at = find_place(vm, is_list);
    sl_torch_value value = {.kind = is_list ? SL_VAL_LIST : SL_VAL_DICT, .role = (uint8_t)at.role};
    if (at.role == SL_ROLE_SKIP)
        return sl_pickle_push(vm, &value);
    if (at.is_marked && at.is_in_list)
        SL_TRY(retire_item(vm));
    SL_TRY(close_role(vm, at.role));
    if (at.role == SL_ROLE_EVENT && at.is_marked && vm->stack.cnt == vm->mark + 1) {
        bool has_taken;
        SL_TRY(take_events(vm, &has_taken));
        if (has_taken)
            return SL_OK;
    }
    vm->build->at_byte = vm->op_at;
    SL_TRY(sl_torch_begin(vm->build, at.role, at.index, vm->err));
    value.is_open = true;
    SL_TRY(sl_pickle_push(vm, &value));
    vm->open[at.role] = (sl_pickle_open){true, vm->stack.cnt - 1, SL_NO_IDX};
    return SL_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Where the items begin: after the mark, or the newest `cnt` values. The container is below;
 * it must be of this kind and open (P1). */
static sl_status find_items(sl_pickle_vm *vm, bool has_mark, size_t cnt, sl_torch_kind kind,
                            size_t *first) {
    if (has_mark ? vm->mark == SL_NO_IDX || vm->mark == 0 : vm->stack.cnt < cnt + 1)
        return sl_pickle_underflow(vm, has_mark ? "a mark above a container" : "the items");
    *first = has_mark ? vm->mark + 1 : vm->stack.cnt - cnt;
    if (!has_mark && vm->mark != SL_NO_IDX && vm->mark >= *first - 1)
        return sl_pickle_underflow(vm, "the items above its mark");
    const sl_torch_value *target = &vm->stack.at[*first - (has_mark ? 2 : 1)];
    if (target->kind != kind)
        return sl_fail_at(
            vm->err, SL_E_FORMAT, vm->op_at, "items are added to %s at byte %llu, expected %s",
            sl_torch_kind_text(target), here(vm), kind == SL_VAL_LIST ? "a list" : "a dict");
    if (target->role != SL_ROLE_SKIP && !target->is_open)
        return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                          "items are added to %s at byte %llu, after its end",
                          sl_torch_roles[target->role].text, here(vm));
    return SL_OK;
}

static void drop_items(sl_pickle_vm *vm, bool has_mark, size_t first) {
    vm->stack.cnt = first;
    if (!has_mark)
        return;
    uint32_t older = vm->stack.at[vm->mark].id;
    vm->stack.cnt = vm->mark;
    vm->mark = older == UINT32_MAX ? SL_NO_IDX : older;
}

sl_status sl_pickle_append(sl_pickle_vm *vm, bool has_mark) {
    size_t first;
    SL_TRY(find_items(vm, has_mark, 1, SL_VAL_LIST, &first));
    size_t list = first - (has_mark ? 2 : 1);
    for (size_t i = first; i < vm->stack.cnt; i++)
        SL_TRY(take_item(vm, list, i));
    uint64_t retired = has_mark ? vm->stack.at[vm->mark].u : 0;
    sl_torch_value *target = &vm->stack.at[list];
    target->u += retired + (vm->stack.cnt - first);
    if (is_ignored_list(target) && target->id && target->u > 0)
        vm->memo.at[target->id - 1] = entry_of(target);
    drop_items(vm, has_mark, first);
    return SL_OK;
}

static sl_status set_pair(sl_pickle_vm *vm, sl_torch_role role, size_t key_idx) {
    SL_TRY(sl_pickle_settle(vm, key_idx));
    SL_TRY(sl_pickle_settle(vm, key_idx + 1));
    if (role == SL_ROLE_SKIP)
        return SL_OK;
    const sl_torch_value *key = &vm->stack.at[key_idx];
    if (key->kind != SL_VAL_STR)
        return sl_fail_at(vm->err, SL_E_FORMAT, vm->op_at,
                          "%s that ends at byte %llu has %s as a key, expected a str",
                          sl_torch_roles[role].text, here(vm), sl_torch_kind_text(key));
    vm->build->at_byte = vm->op_at;
    return sl_torch_set(vm->build, role, key->id, key + 1, vm->err);
}

sl_status sl_pickle_set_items(sl_pickle_vm *vm, bool has_mark) {
    size_t first;
    SL_TRY(find_items(vm, has_mark, 2, SL_VAL_DICT, &first));
    size_t dict = first - (has_mark ? 2 : 1), cnt = vm->stack.cnt - first;
    if (cnt % 2 != 0)
        return sl_pickle_underflow(vm, "the value of the last key");
    for (size_t i = first; i < vm->stack.cnt; i += 2)
        SL_TRY(set_pair(vm, (sl_torch_role)vm->stack.at[dict].role, i));
    vm->stack.at[dict].u += cnt / 2;
    drop_items(vm, has_mark, first);
    return SL_OK;
}

/* --- Tuples ----------------------------------------------------------------------------------- */

static uint32_t pool_of(sl_pickle_vm *vm, size_t first, size_t cnt) {
    if (cnt != 2)
        return SL_POOL_NONE;
    const sl_torch_value *items = vm->stack.at + first;
    if (items[0].kind != SL_VAL_INT || items[1].kind != SL_VAL_INT)
        return SL_POOL_NONE;
    return sl_trace_pool(vm->build->trace, (int64_t)items[0].u, (int64_t)items[1].u);
}

sl_status sl_pickle_make_tuple(sl_pickle_vm *vm, size_t cnt) {
    bool has_mark = cnt == SL_NO_IDX;
    if (has_mark ? vm->mark == SL_NO_IDX : vm->stack.cnt < cnt)
        return sl_pickle_underflow(vm, has_mark ? "a mark" : "the items of a tuple");
    size_t first = has_mark ? vm->mark + 1 : vm->stack.cnt - cnt;
    if (!has_mark && vm->mark != SL_NO_IDX && vm->mark >= first && cnt > 0)
        return sl_pickle_underflow(vm, "the items of a tuple above its mark");
    for (size_t i = first; i < vm->stack.cnt; i++)
        SL_TRY(sl_pickle_settle(vm, i));
    sl_torch_value tuple = {.kind = SL_VAL_TUPLE, .id = pool_of(vm, first, vm->stack.cnt - first)};
    drop_items(vm, has_mark, first);
    return sl_pickle_push(vm, &tuple);
}
