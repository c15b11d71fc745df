/* SPDX-License-Identifier: MIT */
/* Any bytes as the calls of a program: the answer of `stormlog whatif` ends, keeps its promises,
 * and can be written in every form. Blocks lie where the allocator's model puts them, so that the
 * proof succeeds and rows, cards and repairs are reached; some events have a size and an address
 * straight from the input instead.
 *
 * Byte 0: which options; byte 1: what the trace has; then operations of three bytes: what, whose, how much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/whatif/whatif_format.h"
#include "model/bounds.h"
#include "whatif/whatif.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 32, STREAMS = 3, STACKS = 5, OPS_MAX = 800 };

typedef struct program {
    sl_trace *trace;
    sl_device_trace *device;
    sl_alloc_model *model; /* whose addresses the trace has */
    uint64_t bytes[SLOTS]; /* 0 = the slot is empty */
    uint16_t stream[SLOTS];
    bool is_dropped[SLOTS];
    uint32_t stacks[STACKS];
    int64_t now_us;
} program;

static void broken(const char *promise) {
    fprintf(stderr, "not so: %s\n", promise);
    abort();
}

#define must(promise) ((promise) ? (void)0 : broken(#promise))

static void push(program *p, unsigned kind, uint64_t addr, uint64_t bytes, uint16_t stream,
                 uint32_t stack) {
    sl_event event = {.time_us = p->now_us++,
                      .addr = addr,
                      .size_bytes = bytes,
                      .stack_id = stack,
                      .stream_idx = stream,
                      .kind = (sl_event_kind)kind};
    must(sl_events_push(&p->device->events, &event));
}

static uint32_t make_stack(program *p, uint32_t line) {
    static const char file[] = "/home/user/train.py", name[] = "step";
    sl_frame frame = {sl_strtab_intern(&p->trace->strings, name, strlen(name)),
                      sl_strtab_intern(&p->trace->strings, file, strlen(file)), line};
    uint32_t id = sl_stacks_intern_frame(&p->trace->stacks, frame);
    return sl_stacks_intern(&p->trace->stacks, &id, 1);
}

static void begin(program *p, uint8_t has) {
    sl_alloc_settings settings;
    sl_alloc_limits limits = {SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT, 0};
    sl_alloc_settings_init(&settings);
    settings.is_expandable = has & 8;
    p->trace = sl_trace_new("fuzz", SL_SOURCE_TORCH_SNAPSHOT);
    p->device = p->trace ? sl_trace_device(p->trace, 0) : NULL;
    must(p->device &&
         sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){0}, &p->model, NULL) == SL_OK);
    p->trace->has_requested_sizes = has & 1;
    p->trace->has_time = true;
    p->trace->has_event_stacks = true;
    p->trace->settings.expandable_known = has & 16;
    p->trace->settings.is_expandable = has & 8;
    sl_trace_pool(p->trace, 0, 0);
    for (uint64_t i = 0; i < STREAMS; i++) {
        sl_trace_stream(p->trace, i);
        must(sl_alloc_model_add_group(p->model, 0));
    }
    for (uint32_t i = 0; i < STACKS; i++)
        p->stacks[i] = has & 2 ? make_stack(p, 10 + i) : SL_STACK_EMPTY;
}

/* From a byte to some petabytes. */
static uint64_t bytes_of(uint8_t code) {
    return ((uint64_t)(code % 8) + 8) << (code / 8) << (code >= 250 ? 10 : 0);
}

static void give_back(program *p, uint32_t slot, unsigned how) {
    uint64_t addr = sl_alloc_addr(p->model, slot);
    if (!p->bytes[slot])
        return;
    if (!p->is_dropped[slot])
        push(p, SL_EV_FREE_REQUESTED, addr, p->bytes[slot], p->stream[slot], SL_STACK_EMPTY);
    p->is_dropped[slot] = how == 1;
    if (p->is_dropped[slot])
        return;
    push(p, SL_EV_FREE_COMPLETED, addr, p->bytes[slot], p->stream[slot], SL_STACK_EMPTY);
    must(sl_alloc_give_back(p->model, slot));
    p->bytes[slot] = 0;
}

static void request(program *p, uint32_t slot, uint8_t whose, uint8_t code) {
    uint64_t before = sl_alloc_model_stats(p->model)->reserved_bytes, bytes = bytes_of(code);
    uint16_t stream = whose % 7 ? 0 : (uint16_t)(whose / 7 % STREAMS);
    give_back(p, slot, 0);
    if (sl_alloc_request(p->model, stream, slot, bytes) != SL_ALLOC_DONE)
        return;
    uint64_t addr = sl_alloc_addr(p->model, slot);
    uint64_t taken = sl_alloc_model_stats(p->model)->reserved_bytes - before;
    uint32_t stack = p->stacks[whose % STACKS];
    if (taken)
        push(p, SL_EV_SEGMENT_ALLOC, addr, taken, stream, stack);
    push(p, SL_EV_ALLOC, addr, bytes, stream, stack);
    p->bytes[slot] = bytes;
    p->stream[slot] = stream;
    p->is_dropped[slot] = false;
}

static void mark_step(program *p) {
    sl_mark mark = {
        .time_us = p->now_us++, .device = 0, .number = p->trace->marks.cnt, .kind = SL_MARK_STEP};
    must(sl_vec_push(&p->trace->marks, mark));
}

static void operate(program *p, const uint8_t op[3], uint8_t has) {
    uint32_t slot = op[1] % SLOTS;
    switch (op[0] % 16) {
    default: request(p, slot, op[1] / 8, op[2]); break;
    case 8:
    case 9:
    case 10:
    case 11: give_back(p, slot, 0); break;
    case 12: give_back(p, slot, 1); break;
    case 13: mark_step(p); break;
    case 14:
        push(p, SL_EV_OOM, op[1] ? bytes_of(op[1]) : 0, bytes_of(op[2]), 0, p->stacks[0]);
        break;
    case 15:
        if (has & 4)
            push(p, op[0] / 16 % SL_EV_LIMIT, bytes_of(op[1]), bytes_of(op[2]),
                 (uint16_t)(op[1] % STREAMS), p->stacks[op[2] % STACKS]);
        break;
    }
}

/* ---- the answer ---- */

static void write_forms(const sl_whatif *answer) {
    static const char *const forms[] = {"txt", "json", "md"};
    sl_whatif_list list = {&answer, 1, false};
    for (size_t i = 0; i < SL_COUNT_OF(forms); i++) {
        char *text = NULL;
        size_t len;
        FILE *to = open_memstream(&text, &len);
        must(to && sl_whatif_format_find(forms[i])->write(&list, to, NULL) == SL_OK);
        must(fclose(to) == 0 && len > 0);
        free(text);
    }
}

static void check(const sl_whatif *answer) {
    for (size_t i = 0; i < answer->rows.cnt; i++) {
        const sl_whatif_row *row = &answer->rows.at[i];
        must(row->peak_low <= row->peak_high);
        if (row->pass.has_failed)
            continue;
        must(row->pass.stats.reserved_peak >= answer->floor_bytes);
        must(row->pass.stats.reserved_peak >= row->pass.stats.active_peak);
        must(row->pass.stats.reserved_peak <= answer->limit_bytes);
    }
    for (size_t i = 0; i < answer->lines.at.cnt; i++) {
        const sl_whatif_line *line = &answer->lines.at.at[i];
        must(line->saves > 0 && line->saves + line->peak == answer->lines.peak);
        must(i == 0 || line->saves <= answer->lines.at.at[i - 1].saves);
    }
}

static void ask(const sl_run_device *device, uint8_t bits) {
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:20",
                                        "garbage_collection_threshold:0.3"};
    sl_alloc_settings settings[SL_COUNT_OF(confs)];
    for (size_t i = 0; i < SL_COUNT_OF(confs); i++) {
        sl_alloc_settings_init(&settings[i]);
        must(sl_alloc_settings_parse(&settings[i], (sl_str){confs[i], strlen(confs[i])}, NULL) ==
             SL_OK);
    }
    sl_whatif_options options = {.settings = settings,
                                 .setting_cnt = SL_COUNT_OF(confs),
                                 .thread_cnt = 1,
                                 .placement_cnt = 1,
                                 .wants_cards = bits & 1,
                                 .wants_lines = true,
                                 .frees_late = bits & 2,
                                 .no_record_stream = bits & 4,
                                 .is_one_stream = bits & 8,
                                 .freed = bits & 16 ? ":1[01] " : NULL,
                                 .without = bits & 32 ? ":12 " : NULL};
    sl_error err = SL_ERROR_INIT;
    sl_whatif *answer = NULL;
    if (bits & 64)
        options.card_bytes = sl_known_u64((uint64_t)64 << 20);
    sl_status status = sl_whatif_new(device, &options, &answer, &err);
    must(status >= 0 || err.text[0]);
    if (status < 0)
        return;
    check(answer);
    write_forms(answer);
    sl_whatif_free(answer);
}

/* ---- two of them, as recordings of two sizes ---- */

static void check_batch(const sl_batch *batch) {
    for (size_t i = 0; i < batch->rows.cnt; i++) {
        const sl_batch_row *row = &batch->rows.at[i];
        must(row->low <= row->peak && row->peak <= row->high);
        must(row->verdict != SL_BATCH_FITS || row->high <= batch->card_bytes.value);
    }
    for (size_t i = 0; i < batch->largest.cnt; i++)
        must(batch->largest.at[i].high <= batch->card_bytes.value);
    must(batch->aligned_cnt <= batch->request_cnt);
}

static void ask_batch(const sl_run_device *a, const sl_run_device *b) {
    static const uint64_t sizes[] = {2, 4, 9};
    sl_batch_input inputs[] = {{a, 3}, {b, 5}};
    sl_batch_options options = {.inputs = inputs,
                                .input_cnt = 2,
                                .sizes = sizes,
                                .size_cnt = SL_COUNT_OF(sizes),
                                .card_bytes = {(uint64_t)64 << 20, true},
                                .placement_cnt = 1};
    sl_error err = SL_ERROR_INIT;
    sl_batch *batch = NULL;
    sl_status status = sl_batch_new(&options, &batch, &err);
    must(status >= 0 || err.text[0]);
    if (status < 0)
        return;
    check_batch(batch);
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    must(to && sl_batch_write_text(batch, false, to, NULL) == SL_OK);
    must(fclose(to) == 0 && len > 0);
    free(text);
    sl_batch_free(batch);
}

static void finish(program *p, sl_run *run) {
    sl_run_free(run);
    sl_alloc_model_free(p->model);
    sl_trace_free(p->trace);
}

/* The same operations but for some in the middle, and sizes that are different by one code. */
static void make_other(program *p, const uint8_t *data, size_t size, sl_run **run) {
    *p = (program){.now_us = 1};
    begin(p, data[1]);
    for (size_t i = 2, ops = 0; i + 3 <= size && ops < OPS_MAX; i += 3, ops++) {
        uint8_t op[3] = {data[i], data[i + 1], data[i + 2]};
        if (op[2] % 2 && op[2] < 200)
            op[2] = (uint8_t)(op[2] + 8);
        if (ops % 64 < 40 || ops % 64 >= 40u + data[0] % 8u)
            operate(p, op, data[1]);
    }
    if (p->device->events.cnt && sl_trace_check_bounds(p->trace, NULL) == SL_OK)
        must(sl_run_new((const sl_trace *const *)&p->trace, 1, run, NULL) == SL_OK);
}

static void compare(const sl_run_device *device, const uint8_t *data, size_t size) {
    program other;
    sl_run *run = NULL;
    make_other(&other, data, size, &run);
    if (run)
        ask_batch(device, &run->inputs[0].devices[0]);
    finish(&other, run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    program p = {.now_us = 1};
    sl_run *run = NULL;
    if (size < 2)
        return 0;
    begin(&p, data[1]);
    for (size_t i = 2, ops = 0; i + 3 <= size && ops < OPS_MAX; i += 3, ops++)
        operate(&p, data + i, data[1]);
    if (sl_trace_check_bounds(p.trace, NULL) == SL_OK) {
        must(sl_run_new((const sl_trace *const *)&p.trace, 1, &run, NULL) == SL_OK);
        if (p.device->events.cnt) {
            ask(&run->inputs[0].devices[0], data[0]);
            compare(&run->inputs[0].devices[0], data, size);
        }
    }
    finish(&p, run);
    return 0;
}
