/* SPDX-License-Identifier: MIT */
/* Reading and analysing recordings of GPU memory: link with -lstormlog.
 *
 *     sl_input *input;
 *     char message[SL_MESSAGE_CAP], *json;
 *     if (sl_input_open("snap.pickle", &input, message, sizeof message) != 0)
 *         return fprintf(stderr, "%s\n", message), 1;
 *     if (sl_input_report_json(input, NULL, &json, message, sizeof message) == 0) {
 *         puts(json);
 *         sl_text_free(json);
 *     }
 *     sl_input_close(input);
 *
 * Nothing in an input is ever executed. What is not in this header or in stormlog/version.h,
 * stormlog/format.h and stormlog/record.h is not part of the interface.
 *
 * Results: 0, or a negative number; the message then says in one line what failed. The groups of
 * numbers are fixed: -1x wrong use, -2x files, -3x the content of an input, -4x the system, -5x
 * devices and libraries, -6x limits, -9x a bug.
 *
 * Threads: different inputs may be used from different threads; one input by one thread at a time,
 * except that several threads may make reports of one input. */
#ifndef SL_STORMLOG_H
#define SL_STORMLOG_H

#include <stddef.h>
#include <stdint.h>

#include <stormlog/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SL_API
#define SL_API __attribute__((visibility("default")))
#endif

/* Room for every message. */
#define SL_MESSAGE_CAP 512

/* An opened input; what is inside is not for callers. */
typedef struct sl_input sl_input;

/* The version of the library that runs, "0.1.0"; static, never NULL. Since 0.1. */
SL_API const char *sl_version(void);

/* SL_ABI_VERSION of the library that runs. Since 0.1. */
SL_API int sl_abi_version(void);

/* Reads a PyTorch memory snapshot (plain, gzip or zstd) or any other kind of input that
 * `stormlog analyze` takes. On success *input is the caller's, to be given to sl_input_close; on
 * failure it is set to NULL. message may be NULL when cap is 0. Since 0.1. */
SL_API int sl_input_open(const char *path, sl_input **input, char *message, size_t cap);

/* Releases an input; NULL is fine. Since 0.1. */
SL_API void sl_input_close(sl_input *input);

/* Events that were read, of all devices. Since 0.1. */
SL_API uint64_t sl_input_event_count(const sl_input *input);

/* Zero-initialise, set struct_size, then what is wanted. Since 0.1. */
typedef struct sl_report_options {
    uint32_t struct_size;    /* sizeof(sl_report_options) */
    int32_t has_device;      /* 1: only `device` */
    int32_t device;          /* -1 is host memory */
    uint32_t top;            /* holders listed a device; 0 = 10 */
    const char *filter;      /* extended regular expression on "file:line function"; NULL = all */
    uint64_t capacity_bytes; /* of the card where the input does not say it; 0 = unknown */
} sl_report_options;

/* Analyses the input and gives the JSON report (docs/report.md) as text, which is the caller's, to
 * be given to sl_text_free; NULL on failure. options may be NULL. Since 0.1. */
SL_API int sl_input_report_json(const sl_input *input, const sl_report_options *options,
                                char **json, char *message, size_t cap);

/* Releases a text of this library; NULL is fine. Since 0.1. */
SL_API void sl_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
