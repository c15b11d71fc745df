/* SPDX-License-Identifier: MIT */
#include "model/oom_class.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char torch_reason[] = "torch.cuda.OutOfMemoryError";

static const char *const patterns[] = {
    "out of memory",      "cuda out of memory", "hip out of memory",
    "resource exhausted", "failed to allocate", "allocation failed",
};

/* Texts of memory that ran out which the Python tool does not know. */
static const char *const more_patterns[] = {
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "cannot allocate memory",
    "can't allocate memory",
    "not enough memory: you tried to allocate",
    "unable to allocate",
    "std::bad_alloc",
    "cuda_error_out_of_memory",
    "nccl error: unhandled cuda error: out",
};

static bool contains(const char *text, const char *part) {
    return text && strcasestr(text, part);
}

static bool ends_with(const char *text, const char *end) {
    size_t len = text ? strlen(text) : 0, end_len = strlen(end);
    return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

static bool say(char reason[SL_OOM_REASON_CAP], const char *fmt, const char *word) {
    snprintf(reason, SL_OOM_REASON_CAP, fmt, word);
    return true;
}

bool sl_oom_classify(const char *type, const char *module, const char *message, bool is_strict,
                     char reason[SL_OOM_REASON_CAP]) {
    if (ends_with(type, "resourceexhaustederror"))
        return say(reason, "%s", "tensorflow.ResourceExhaustedError");
    if (type && strcasecmp(type, "outofmemoryerror") == 0 && contains(module, "torch"))
        return say(reason, "%s", torch_reason);
    for (size_t i = 0; i < SL_COUNT_OF(patterns); i++)
        if (contains(message, patterns[i]))
            return say(reason, "message_pattern:%s", patterns[i]);
    if (is_strict)
        return false;
    if (type && strcmp(type, "MemoryError") == 0)
        return say(reason, "%s", "python.MemoryError");
    for (size_t i = 0; i < SL_COUNT_OF(more_patterns); i++)
        if (contains(message, more_patterns[i]))
            return say(reason, "message_pattern:%s", more_patterns[i]);
    return false;
}

/* "torch.cuda.OutOfMemoryError: CUDA out of memory": split into module, type and message. */
static bool classify_line(const char *line, char reason[SL_OOM_REASON_CAP]) {
    char module[80] = "", type[80] = "";
    size_t len = strcspn(line, ": \n");
    if (len < sizeof module && line[len] == ':') {
        memcpy(module, line, len);
        char *dot = strrchr(module, '.');
        snprintf(type, sizeof type, "%s", dot ? dot + 1 : module);
        if (dot)
            *dot = '\0';
        else
            module[0] = '\0';
    }
    return sl_oom_classify(type, module, line, false, reason);
}

bool sl_oom_find_in_output(const char *text, char reason[SL_OOM_REASON_CAP], sl_str *line) {
    bool is_found = false;
    char copy[1024], found[SL_OOM_REASON_CAP];
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        snprintf(copy, sizeof copy, "%.*s", (int)(len < sizeof copy ? len : sizeof copy - 1), at);
        /* Lines that are indented are code and frames of a traceback. */
        if (!isspace((unsigned char)copy[0]) && classify_line(copy, found)) {
            snprintf(reason, SL_OOM_REASON_CAP, "%s", found);
            *line = (sl_str){at, len};
            is_found = true;
        }
        at += len + (at[len] == '\n');
    }
    return is_found;
}
