/* SPDX-License-Identifier: MIT */
/* Points of recordings as the bytes that servers take: Prometheus' text (VictoriaMetrics' import, and what /metrics
 * answers), and remote write 1.0 (protocol buffers, snappy). One thread per encoder. */
#ifndef SL_AGENT_ENCODE_H
#define SL_AGENT_ENCODE_H

#include <stdio.h>

#include "agent/agent_rank.h"

/* enumerator, name as in an option, its URL's usual path. */
#define SL_AGENT_FORM_MAP(X)                         \
    X(IMPORT, "import", "/api/v1/import/prometheus") \
    X(REMOTE_WRITE, "remote-write", "/api/v1/write")

typedef enum sl_agent_form {
#define SL_AGENT_FORM_ENUM(id, name, path) SL_AGENT_FORM_##id,
    SL_AGENT_FORM_MAP(SL_AGENT_FORM_ENUM)
#undef SL_AGENT_FORM_ENUM
        SL_AGENT_FORM_CNT
} sl_agent_form;

const char *sl_agent_form_name(sl_agent_form form);

typedef struct sl_agent_encoder sl_agent_encoder;

/* SL_E_UNSUPPORTED when a library is missing (libsnappy for remote write). */
sl_status sl_agent_encoder_new(sl_agent_form form, sl_agent_encoder **out, sl_error *err);
void sl_agent_encoder_free(sl_agent_encoder *encoder); /* NULL is fine */

/* Adds points to the request. */
sl_status sl_agent_encoder_add(sl_agent_encoder *encoder, const sl_agent_rank *rank,
                               const sl_agent_points *points, sl_error *err);

/* Bytes before compression, to end a request in time. */
size_t sl_agent_encoder_size(const sl_agent_encoder *encoder);

typedef struct sl_agent_body {
    char *bytes; /* owned */
    size_t len;
    uint64_t sample_cnt;
    const char *const *headers; /* of the request; static */
} sl_agent_body;

/* Ends the request; the encoder is empty again. */
sl_status sl_agent_encoder_finish(sl_agent_encoder *encoder, sl_agent_body *body, sl_error *err);

/* ---- the text ---- */

/* One line of text, without time when time_ms is 0; counts it. */
void sl_agent_text_sample(FILE *to, sl_agent_series series, const sl_agent_labels *labels,
                          double value, int64_t time_ms);

/* "# HELP" and "# TYPE" before the first series of a family; nothing for the others. */
void sl_agent_text_family(FILE *to, sl_agent_series series);

/* ---- libsnappy ---- */

/* Compresses one block; *out is owned. */
sl_status sl_agent_snappy(const void *bytes, size_t len, char **out, size_t *out_len,
                          sl_error *err);
sl_status sl_agent_snappy_load(sl_error *err);

#endif
