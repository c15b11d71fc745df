/* SPDX-License-Identifier: MIT */
/* Which records name a collective operation. Each distinct text is checked once. */
#ifndef SL_COLLECTIVE_MARKS_H
#define SL_COLLECTIVE_MARKS_H

#include "telemetry/telemetry.h"

typedef struct sl_collective_marks {
    const sl_telemetry *set; /* borrowed */
    uint8_t *text_state;     /* owned; by string id: 0 not checked yet, 1 no, 2 yes */
    uint8_t *metadata_state; /* owned; the same for JSON objects */
} sl_collective_marks;

sl_status sl_collective_marks_init(sl_collective_marks *marks, const sl_telemetry *set,
                                   sl_error *err);
bool sl_collective_marks_has(sl_collective_marks *marks, const sl_tm_record *record);
void sl_collective_marks_fini(sl_collective_marks *marks);

#endif
