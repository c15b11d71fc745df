/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_facts.h"

#include <stdlib.h>

#include "base/core/str.h"
#include "log/layout/log_layout.h"
#include "model/torch_frames.h"

struct sl_slog_facts {
    sl_log_reader *log; /* borrowed */
    sl_label_meaning labels[SL_LABEL_CAP];
    uint8_t *is_built; /* owned; by stack id: 0 not asked yet, 1 no, 2 yes */
    size_t is_built_cnt;
    uint64_t training_from_ns; /* UINT64_MAX = not yet */
    uint64_t last_step_ns;     /* 0 = none */
    uint64_t kept_before_ns;   /* what is older and lives is kept; 0 = nothing is */
    bool has_looks;            /* optimizers were scanned */
    bool has_tags;             /* a label of the live table is a phase or a tag */
};

/* ---- labels ---- */

sl_label_meaning sl_slog_label(sl_slog_facts *f, uint16_t label) {
    if (label == 0 || label >= SL_LABEL_CAP)
        return (sl_label_meaning){0};
    sl_label_meaning *meaning = &f->labels[label];
    if (!meaning->is_known) {
        sl_str name = sl_log_get_label(f->log, label);
        *meaning = (sl_label_meaning){
            .is_known = name.len > 0,
            .is_look = sl_str_is(name, SL_TAG_LOOKED_LABEL),
            .is_closure = sl_str_is(name, SL_PHASE_CLOSURE_LABEL),
            .phase = (uint8_t)sl_train_phase_find(name),
            .tag = (uint8_t)sl_tag_find(name.ptr, name.len),
        };
    }
    return *meaning;
}

/* ---- stacks ---- */

static bool find_build_frame(const sl_log_reader *log, uint32_t stack) {
    sl_fmt_frame frame;
    while (sl_log_get_frame(log, stack, &frame, &stack))
        if (sl_torch_frame_find(sl_log_get_string(log, frame.function),
                                sl_log_get_string(log, frame.file))
                .marks &
            SL_FRAME_BUILD)
            return true;
    return false;
}

/* Answers are kept per stack. Stacks that were added after the log was opened are scanned each
 * time; so are all stacks if there is no memory for the answers. */
bool sl_slog_is_built(sl_slog_facts *f, uint32_t stack) {
    if (!f->is_built) {
        f->is_built_cnt = sl_log_stack_cnt(f->log);
        f->is_built = calloc(f->is_built_cnt, 1);
    }
    if (!f->is_built || stack >= f->is_built_cnt)
        return find_build_frame(f->log, stack);
    if (!f->is_built[stack])
        f->is_built[stack] = find_build_frame(f->log, stack) ? 2 : 1;
    return f->is_built[stack] == 2;
}

/* ---- time ---- */

void sl_slog_note_training(sl_slog_facts *f, uint64_t time_ns) {
    if (time_ns < f->training_from_ns)
        f->training_from_ns = time_ns;
}

bool sl_slog_is_training(const sl_slog_facts *f, uint64_t time_ns) {
    return time_ns >= f->training_from_ns;
}

bool sl_slog_has_steps(const sl_slog_facts *f) {
    return f->last_step_ns > 0;
}

/* When the n-th last step was over; 0 when there were fewer. */
static uint64_t step_before_last(const sl_log_marks *marks, unsigned n) {
    for (size_t i = marks->cnt; i-- > 0;)
        if (marks->at[i].kind == SL_EV_STEP && --n == 0)
            return marks->at[i].time_ns;
    return 0;
}

/* The list of steps outlives the ring. */
static sl_status find_steps(sl_slog_facts *f, sl_error *err) {
    sl_log_marks marks;
    SL_TRY(sl_log_load_marks(f->log, &marks, err));
    for (size_t i = 0; i < marks.cnt; i++) {
        if (marks.at[i].kind != SL_EV_STEP)
            continue;
        sl_slog_note_training(f, marks.at[i].time_ns);
        if (marks.at[i].time_ns > f->last_step_ns)
            f->last_step_ns = marks.at[i].time_ns;
    }
    f->kept_before_ns = step_before_last(&marks, SL_TAG_KEPT_STEPS);
    sl_vec_free(&marks);
    return SL_OK;
}

/* ---- the live table ---- */

void sl_slog_see_tables(sl_slog_facts *f, const sl_log_tables *tables) {
    for (size_t i = 0; i < tables->blocks.cnt; i++) {
        const sl_log_block *block = &tables->blocks.at[i];
        sl_label_meaning meaning = sl_slog_label(f, block->tag);
        if (meaning.phase != SL_PHASE_NONE)
            sl_slog_note_training(f, block->time_ns);
        f->has_looks |= meaning.tag != SL_TAG_UNKNOWN;
        f->has_tags |= meaning.phase != SL_PHASE_NONE || meaning.tag != SL_TAG_UNKNOWN;
    }
}

bool sl_slog_has_tags(const sl_slog_facts *f) {
    return f->has_tags;
}

uint32_t sl_slog_site_stack(const sl_log_tables *tables, uint32_t site) {
    size_t low = 0, high = tables->sites.cnt;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (tables->sites.at[mid].id < site)
            low = mid + 1;
        else
            high = mid;
    }
    return low < tables->sites.cnt && tables->sites.at[low].id == site ? tables->sites.at[low].stack
                                                                       : 0;
}

sl_tag sl_slog_block_tag(sl_slog_facts *f, const sl_log_tables *tables, const sl_log_block *block) {
    sl_label_meaning meaning = sl_slog_label(f, block->tag);
    bool is_kept = block->time_ns < f->kept_before_ns;
    sl_tag_facts facts = {.annotated = (sl_tag)meaning.tag,
                          .phase = (sl_train_phase)meaning.phase,
                          .is_built = sl_slog_is_built(f, sl_slog_site_stack(tables, block->site)),
                          .is_training = sl_slog_has_steps(f) && /* else old ones look like new */
                                         sl_slog_is_training(f, block->time_ns),
                          .has_model = true,
                          .has_outlived = block->time_ns < f->last_step_ns,
                          .was_passed_over = f->has_looks && is_kept,
                          .is_kept = is_kept};
    return sl_tag_decide(&facts);
}

/* ---- life ---- */

sl_status sl_slog_facts_new(sl_log_reader *log, sl_slog_facts **out, sl_error *err) {
    sl_slog_facts *f = calloc(1, sizeof *f);
    if (!f)
        return sl_fail_no_memory(err, "the tags of a recording");
    f->log = log;
    f->training_from_ns = UINT64_MAX;
    sl_status status = find_steps(f, err);
    if (status < 0)
        sl_slog_facts_free(f);
    else
        *out = f;
    return status;
}

void sl_slog_facts_free(sl_slog_facts *f) {
    if (!f)
        return;
    free(f->is_built);
    free(f);
}
