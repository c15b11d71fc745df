/* SPDX-License-Identifier: MIT
 *
 * Takes the recorder's functions for torch out of the import slots of the loaded libraries, and
 * puts them back, in less than a microsecond: so steps with and without recording can alternate in
 * one process. "Out" is the state after sl_record_stop: the slots hold torch's own functions. Works
 * both under `stormlog run` and for a process that called sl_record_start.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "record/hooks/elf_view.h"

#define SLOT_MAX       256
#define SAMPLE_MAX     (1u << 20)
#define OTHER_DATA_MAX (64u << 20)

/* Called by steps.py. */
__attribute__((visibility("default"))) int slot_switch_find(void);
__attribute__((visibility("default"))) void slot_switch_set(int state);
__attribute__((visibility("default"))) unsigned long slot_switch_count(void);
__attribute__((visibility("default"))) unsigned long slot_switch_samples(int64_t *ticks);
__attribute__((visibility("default"))) uint64_t slot_switch_ticks(void);
__attribute__((visibility("default"))) void slot_switch_use_caches(size_t bytes);

/* What a slot can hold. */
typedef enum slot_state {
    SLOT_TORCH,    /* nothing is recorded */
    SLOT_RECORDER, /* everything is */
    SLOT_REPORTED, /* torch reports CPU memory as during a recording; the reports are ignored */
    SLOT_COUNTED,  /* the same, and reports are counted */
    SLOT_TIMED,    /* as SLOT_RECORDER, and every report is timed */
    SLOT_TIMED_0,  /* as SLOT_REPORTED, and timed: the cost of the clock and of torch */
    SLOT_STATE_CNT,
} slot_state;

typedef struct switched_slot {
    _Atomic(void *) *at;
    void *value[SLOT_STATE_CNT];
} switched_slot;

static switched_slot slots[SLOT_MAX];
static size_t slot_cnt;
static atomic_ulong report_cnt;

typedef void report_fn(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                       uint64_t device);

static _Atomic(report_fn *) timed_report; /* called between the two readings */
static int64_t samples[SAMPLE_MAX];       /* ticks; negative for a free */
static atomic_uint sample_cnt;

static bool is_cpu_recorded;

static bool answer_as_recorder(void) {
    return is_cpu_recorded;
}

static void count_report(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                         uint64_t device) {
    SL_UNUSED(ptr), SL_UNUSED(size), SL_UNUSED(allocated), SL_UNUSED(reserved), SL_UNUSED(device);
    atomic_fetch_add(&report_cnt, 1);
}

static inline uint64_t read_ticks(void) {
#if defined(__x86_64__)
    __builtin_ia32_lfence(); /* wait for earlier instructions, so that they are not timed */
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static uint8_t other_data[OTHER_DATA_MAX]; /* stands for the program's memory */
static size_t other_bytes;                 /* of it are read before each timed report */
static volatile uint64_t other_sum;

static void use_caches(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < other_bytes; i += 64)
        sum += other_data[i];
    other_sum = sum;
}

static void time_report(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                        uint64_t device) {
    report_fn *report = atomic_load_explicit(&timed_report, memory_order_relaxed);
    use_caches();
    uint64_t start = read_ticks();
    report(ptr, size, allocated, reserved, device);
    int64_t ticks = (int64_t)(read_ticks() - start);
    unsigned i = atomic_fetch_add_explicit(&sample_cnt, 1, memory_order_relaxed);
    if (i < SAMPLE_MAX)
        samples[i] = size < 0 ? -ticks : ticks;
}

/* The recorder's functions that a step of training calls, and what stands in for torch's in the last two states. */
static const struct function_row {
    const char *symbol;
    void *stand_in
        [SLOT_STATE_CNT]; /* NULL: torch's own, or the recorder's in SLOT_RECORDER and SLOT_TIMED */
} functions[] = {
#define REPORT_STAND_INS                                                           \
    {                                                                              \
        [SLOT_COUNTED] = (void *)count_report, [SLOT_TIMED] = (void *)time_report, \
        [SLOT_TIMED_0] = (void *)time_report                                       \
    }
    {"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", REPORT_STAND_INS},
    {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", REPORT_STAND_INS},
    {"_ZN3c1022memoryProfilingEnabledEv",
     {[SLOT_REPORTED] = (void *)answer_as_recorder,
      [SLOT_COUNTED] = (void *)answer_as_recorder,
      [SLOT_TIMED_0] = (void *)answer_as_recorder}},
    {"_ZN3c108GradMode11set_enabledEb", {NULL}},
};

typedef struct function_pair {
    void *recorder, *torch;
} function_pair;

static function_pair pairs[SL_COUNT_OF(functions)];

/* Whether the CPU allocator is told to report. */
static bool ask_recorder(void) {
    for (size_t i = 0; i < SL_COUNT_OF(functions); i++)
        if (functions[i].stand_in[SLOT_REPORTED] && pairs[i].recorder)
            return ((bool (*)(void))pairs[i].recorder)();
    return false;
}

static int find_functions(const sl_elf_view *view, void *unused) {
    SL_UNUSED(unused);
    bool is_recorder = strncmp(sl_elf_name(view), "libstormlog_record.so", 21) == 0;
    bool is_torch = strncmp(sl_elf_name(view), "libc10.so", 9) == 0;
    for (size_t i = 0; i < SL_COUNT_OF(functions) && (is_recorder || is_torch); i++)
        *(is_recorder ? &pairs[i].recorder : &pairs[i].torch) =
            sl_elf_find_symbol(view, functions[i].symbol);
    return 0;
}

static void take_slot(_Atomic(void *) *at, size_t function) {
    const struct function_row *row = &functions[function];
    const function_pair *pair = &pairs[function];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (slot_cnt == SLOT_MAX || !pair->torch ||
        mprotect((void *)((uintptr_t)at & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0)
        abort(); /* switching only half of the slots would measure the wrong thing */
    switched_slot *slot = &slots[slot_cnt++];
    slot->at = at;
    for (int state = 0; state < SLOT_STATE_CNT; state++) {
        bool is_recording = state == SLOT_RECORDER || state == SLOT_TIMED;
        slot->value[state] = row->stand_in[state] ? row->stand_in[state]
                             : is_recording       ? pair->recorder
                                                  : pair->torch;
    }
}

static void find_slots(const sl_elf_view *view, const Elf64_Rela *relocs, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        _Atomic(void *) *at = (_Atomic(void *) *)(view->base + relocs[i].r_offset);
        uint32_t type = (uint32_t)ELF64_R_TYPE(relocs[i].r_info);
        if (!ELF64_R_SYM(relocs[i].r_info) ||
            (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT))
            continue;
        for (size_t f = 0; f < SL_COUNT_OF(functions); f++)
            if (pairs[f].recorder && atomic_load(at) == pairs[f].recorder)
                take_slot(at, f);
    }
}

static int visit_library(const sl_elf_view *view, void *unused) {
    SL_UNUSED(unused);
    find_slots(view, view->plt_relocs, view->plt_reloc_cnt);
    find_slots(view, view->data_relocs, view->data_reloc_cnt);
    return 0;
}

/* To be called while recording, after a first step has bound every slot. Number of slots found. */
int slot_switch_find(void) {
    slot_cnt = 0;
    sl_elf_each(find_functions, NULL);
    is_cpu_recorded = ask_recorder();
    sl_elf_each(visit_library, NULL);
    return (int)slot_cnt;
}

/* A process has the report function of one version of torch. */
static report_fn *report_of(int state) {
    void *found = NULL;
    for (size_t f = 0; f < SL_COUNT_OF(functions); f++)
        if (functions[f].stand_in[SLOT_TIMED] && pairs[f].torch)
            found = state == SLOT_TIMED ? pairs[f].recorder : pairs[f].torch;
    return (report_fn *)found;
}

void slot_switch_set(int state) {
    atomic_store(&timed_report, report_of(state));
    for (size_t i = 0; i < slot_cnt; i++)
        atomic_store_explicit(slots[i].at, slots[i].value[state], memory_order_release);
}

/* Reports since the last call. */
unsigned long slot_switch_count(void) {
    return atomic_exchange(&report_cnt, 0);
}

/* Copies the samples since the last call, at most SAMPLE_MAX; their number. */
unsigned long slot_switch_samples(int64_t *ticks) {
    unsigned cnt = atomic_exchange(&sample_cnt, 0);
    cnt = cnt < SAMPLE_MAX ? cnt : SAMPLE_MAX;
    memcpy(ticks, samples, cnt * sizeof samples[0]);
    return cnt;
}

uint64_t slot_switch_ticks(void) {
    return read_ticks();
}

/* Before each timed report this much other memory is read. */
void slot_switch_use_caches(size_t bytes) {
    memset(other_data, 1, sizeof other_data); /* pages of their own */
    other_bytes = bytes < sizeof other_data ? bytes : sizeof other_data;
}
