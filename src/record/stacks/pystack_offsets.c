/* SPDX-License-Identifier: MIT */
#include "record/stacks/pystack_offsets.h"

#include <string.h>

/* Sources: the headers of each release, x86-64 and aarch64 alike (both LP64). 3.11 is checked
 * against the installed headers by tests/unit/test_pystack_offsets.c. */
static const sl_py_layout fixed_layouts[] = {
    {
        .minor = 9,
        .line_format = SL_PY_LINES_LNOTAB,
        .instr_unit_bytes = 1,
        .instr_is_index = true,
        .tstate_frame = 24,
        .cframe_frame = SL_PY_NO_FIELD,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instr = 104,
        .frame_owner = SL_PY_NO_FIELD,
        .frame_locals = 360,
        .code_first_line = 40,
        .code_filename = 104,
        .code_name = 112,
        .code_linetable = 120,
        .code_start = SL_PY_NO_FIELD,
        .code_version = SL_PY_NO_FIELD,
        .ascii_data = 48,
        .compact_data = 72,
    },
    {
        .minor = 10,
        .line_format = SL_PY_LINES_RANGES,
        .instr_unit_bytes = 2,
        .instr_is_index = true,
        .tstate_frame = 24,
        .cframe_frame = SL_PY_NO_FIELD,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instr = 96,
        .frame_owner = SL_PY_NO_FIELD,
        .frame_locals = 352,
        .code_first_line = 40,
        .code_filename = 104,
        .code_name = 112,
        .code_linetable = 120,
        .code_start = SL_PY_NO_FIELD,
        .code_version = SL_PY_NO_FIELD,
        .ascii_data = 48,
        .compact_data = 72,
    },
    {
        .minor = 11,
        .line_format = SL_PY_LINES_LOCATIONS,
        .instr_unit_bytes = 2,
        .tstate_frame = 56,
        .cframe_frame = 8,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instr = 56,
        .frame_owner = 69,
        .frame_locals = 72,
        .code_first_line = 72,
        .code_filename = 112,
        .code_name = 128,
        .code_linetable = 136,
        .code_start = 184,
        .code_version = SL_PY_NO_FIELD,
        .ascii_data = 48,
        .compact_data = 72,
    },
    {
        .minor = 12,
        .line_format = SL_PY_LINES_LOCATIONS,
        .instr_unit_bytes = 2,
        .tstate_frame = 56,
        .cframe_frame = 0,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_instr = 56,
        .frame_owner = 70,
        .frame_locals = 72,
        .code_first_line = 68,
        .code_filename = 112,
        .code_name = 128,
        .code_linetable = 136,
        .code_start = 192,
        .code_version = 92,
        .ascii_data = 40,
        .compact_data = 56,
    },
};

/* _Py_DebugOffsets, the table at the start of _PyRuntime from 3.13 on. Its groups grew between
 * releases, so each release has the positions of the groups it writes, counted in 8-byte words. */
typedef struct debug_table {
    uint8_t minor;
    uint8_t thread_state;
    uint8_t interpreter_frame;
    uint8_t code_object;
} debug_table;

static const debug_table debug_tables[] = {
    {.minor = 13, .thread_state = 19, .interpreter_frame = 28, .code_object = 34},
    {.minor = 14, .thread_state = 22, .interpreter_frame = 31, .code_object = 39},
};

/* Words inside the groups; the same in 3.13 and 3.14. */
enum {
    WORD_VERSION = 1,
    WORD_FREE_THREADED = 2,
    THREAD_CURRENT_FRAME = 4,
    FRAME_PREVIOUS = 1,
    FRAME_EXECUTABLE = 2,
    FRAME_INSTR_PTR = 3,
    FRAME_LOCALS = 4,
    FRAME_OWNER = 5,
    CODE_FILENAME = 1,
    CODE_QUALNAME = 3,
    CODE_LINETABLE = 4,
    CODE_FIRST_LINE = 5,
    CODE_START = 9,
};

/* No structure named here is larger; a bigger offset means the table is not what we think. */
#define OFFSET_MAX 4096

static bool take_offset(const uint64_t *words, unsigned idx, uint16_t *out) {
    if (words[idx] > OFFSET_MAX)
        return false;
    *out = (uint16_t)words[idx];
    return true;
}

static bool take_all(const uint64_t *words, const debug_table *table, sl_py_layout *layout) {
    unsigned frame = table->interpreter_frame, code = table->code_object;
    return take_offset(words, table->thread_state + THREAD_CURRENT_FRAME, &layout->tstate_frame) &&
           take_offset(words, frame + FRAME_PREVIOUS, &layout->frame_previous) &&
           take_offset(words, frame + FRAME_EXECUTABLE, &layout->frame_code) &&
           take_offset(words, frame + FRAME_INSTR_PTR, &layout->frame_instr) &&
           take_offset(words, frame + FRAME_LOCALS, &layout->frame_locals) &&
           take_offset(words, frame + FRAME_OWNER, &layout->frame_owner) &&
           take_offset(words, code + CODE_FILENAME, &layout->code_filename) &&
           take_offset(words, code + CODE_QUALNAME, &layout->code_name) &&
           take_offset(words, code + CODE_LINETABLE, &layout->code_linetable) &&
           take_offset(words, code + CODE_FIRST_LINE, &layout->code_first_line) &&
           take_offset(words, code + CODE_START, &layout->code_start);
}

static bool read_debug_table(const debug_table *table, const void *runtime, sl_py_layout *layout,
                             const char **reason) {
    uint64_t words[64];
    if (!runtime || memcmp(runtime, "xdebugpy", 8) != 0) {
        *reason = "its runtime has no table of offsets";
        return false;
    }
    memcpy(words, runtime, sizeof words);
    if (((words[WORD_VERSION] >> 16) & 0xff) != table->minor) {
        *reason = "its table of offsets is of another version";
        return false;
    }
    if (words[WORD_FREE_THREADED]) {
        *reason = "builds without a GIL are not supported";
        return false;
    }
    *layout = (sl_py_layout){
        .minor = table->minor,
        .line_format = SL_PY_LINES_LOCATIONS,
        .instr_unit_bytes = 2,
        .cframe_frame = SL_PY_NO_FIELD,
        .code_version = SL_PY_NO_FIELD,
        .ascii_data = 40,
        .compact_data = 56,
    };
    *reason = "its table of offsets holds impossible values";
    return take_all(words, table, layout);
}

bool sl_py_layout_find(unsigned minor, const void *runtime, sl_py_layout *layout,
                       const char **reason) {
    for (size_t i = 0; i < SL_COUNT_OF(fixed_layouts); i++)
        if (fixed_layouts[i].minor == minor) {
            *layout = fixed_layouts[i];
            return true;
        }
    for (size_t i = 0; i < SL_COUNT_OF(debug_tables); i++)
        if (debug_tables[i].minor == minor)
            return read_debug_table(&debug_tables[i], runtime, layout, reason);
    *reason = "its frame layout is not known to this version of stormlog";
    return false;
}
