/* SPDX-License-Identifier: MIT */
/* Recording from inside a program: link with -lstormlog_record, or load the library and look the
 * functions up. Under `stormlog run` the recorder is in the process already; sl_record_step and
 * the marks then go to the same file.
 *
 * All functions may be called from any thread, at any time, in any order. */
#ifndef SL_RECORD_H
#define SL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SL_API
#define SL_API __attribute__((visibility("default")))
#endif

enum sl_record_cpu { SL_RECORD_CPU_AUTO = 0, SL_RECORD_CPU_ON = 1, SL_RECORD_CPU_OFF = 2 };
enum sl_record_stacks {
    SL_RECORD_STACKS_PYTHON = 0,
    SL_RECORD_STACKS_NONE = 1,
    SL_RECORD_STACKS_NATIVE = 2 /* Python frames, and those of native code inside them */
};

/* Zero-initialise, set struct_size, then what is wanted. Since 0.1. */
typedef struct sl_record_options {
    uint32_t struct_size; /* sizeof(sl_record_options) */
    uint32_t cpu;         /* enum sl_record_cpu; AUTO: on where there is no GPU */
    uint32_t stacks;      /* enum sl_record_stacks */
    uint32_t interval_ms; /* between two readings of counters; 0 = 100 */
    uint64_t ring_bytes;  /* room for raw events; 0 = the default */
    const char *dir;      /* folder for the file; NULL = STORMLOG_DIR, else "stormlog-runs" */
    uint32_t has_modules; /* 1: the path of the running PyTorch module is in the stacks */
    uint32_t has_replay;  /* 1: what makes `stormlog whatif` exact is recorded, too */
} sl_record_options;

/* Begins to record this process: hooks are put into the libraries that are loaded and into those
 * that will be. The file is made at the first memory event. Blocks that are live already are not
 * known to the recording. options may be NULL. Returns 0; -1 when STORMLOG_DISABLE is set or a
 * recording is under way (under `stormlog run`, for one); -2 when an option makes no sense.
 * Since 0.1. */
SL_API int sl_record_start(const sl_record_options *options);

/* Ends the recording, closes the file and takes all hooks out again. Since 0.1. */
SL_API void sl_record_stop(void);

/* 1 while a recording is armed or under way, else 0. Since 0.1. */
SL_API int sl_record_is_on(void);

/* Path of the newest file, "" before its first memory event. The text stays as it is until a second
 * recording has begun after this one. Since 0.1. */
SL_API const char *sl_record_path(void);

/* The calling thread holds Python's GIL: from now on the recorder will see the end of the interpreter in
 * time, and so may read the stacks of all Python threads; before, only the main thread's. Not needed
 * under `stormlog run`. Does nothing where there is no Python. Since 0.1. */
SL_API void sl_record_enter_python(void);

/* Requests for memory that failed in this recording so far, also those whose error the program
 * caught; 0 when nothing is recorded. `stormlog export PATH --to oom-bundle` writes the evidence of
 * each. Since 0.1. */
SL_API uint64_t sl_record_oom_count(void);

/* A step of the program ended. The number is the one every command shows and takes (`--at
 * step:NUMBER`), as long as numbers ascend; otherwise steps are counted from 0. Steps found without a
 * call of this (torch optimizers) stop being counted from the first call on. Since 0.1. */
SL_API void sl_record_step(uint64_t number);

/* From now on only sl_record_step ends steps: for a program that has not ended its first one yet. Since
 * 0.1. */
SL_API void sl_record_own_steps(void);

/* A named range, and a named point. name is copied. Since 0.1. */
SL_API void sl_record_mark_begin(const char *name);
SL_API void sl_record_mark_end(const char *name);
SL_API void sl_record_mark(const char *name);

/* --- An allocator of your own: a pool, an arena, a cache of cards' memory --------------------------
 *
 * Report a block after the allocator has taken it from its lists and before it is handed out, and its end
 * before it goes back into them: events of one address then never overlap. device is the index of a card,
 * -1 for host memory; another number is ignored, as is a NULL address. Cheap enough for every block: no
 * lock, no allocation, no system call; errno stays. Nothing happens when nothing is recorded.
 *
 * caller decides which code the block belongs to when native stacks are recorded
 * (SL_RECORD_STACKS_NATIVE, `stormlog run --stacks native`): __builtin_return_address(0) of the
 * allocator's own function gives the code that called it, NULL the allocator itself. Under Python the
 * line of Python is known without it. */

/* A block was taken. Since 0.1. */
SL_API void sl_record_alloc(int device, const void *address, uint64_t bytes, const void *caller);

/* It was given back. Since 0.1. */
SL_API void sl_record_free(int device, const void *address);

/* A request could not be served; call it before the allocator returns. The recording then has the
 * evidence: what was live, and where. Since 0.1. */
SL_API void sl_record_oom(int device, uint64_t requested_bytes, const void *caller);

#ifdef __cplusplus
}
#endif

#endif
