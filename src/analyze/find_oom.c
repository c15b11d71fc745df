/* SPDX-License-Identifier: MIT */
/* The failed request: who held the memory, and why it failed. Causes are tried in this order,
 * the first that fits is given: another process, a leak that dominates, fragmentation, a spike,
 * and what is left is capacity. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/free_space.h"
#include "analyze/allocator/setting_advice.h"
#include "analyze/step_peaks.h"
#include "analyze/thresholds.h"
#include "report/device_words.h"
#include "run/blocks/rounding.h"

/* All that is known about the moment. */
typedef struct oom_facts {
    uint32_t event;
    uint64_t request_bytes; /* rounded */
    uint64_t segment_bytes; /* what was asked of the driver */
    sl_replay_totals totals;
    sl_free_space space;
    sl_maybe_u64 device_free, capacity, limit;
    sl_maybe_u64 others; /* held by other processes */
    uint64_t unused;     /* of the default pool's class that would have to serve the request */
    uint64_t largest;    /* free block of it */
    sl_oom_text text;
    bool has_text;
    bool is_limited; /* the card had room: a limit of the process refused */
    const sl_device_words *words;
} oom_facts;

/* The request alone is too large: what else was held does not matter. */
static bool is_larger_than_all(const oom_facts *facts) {
    return facts->capacity.known && facts->request_bytes > facts->capacity.value;
}

static const char *explain_size(sl_an *an, const oom_facts *facts) {
    return sl_an_text(an, "The request alone, %s, is larger than %s's %s.",
                      sl_an_bytes(an, facts->request_bytes), facts->words->name,
                      sl_an_bytes(an, facts->capacity.value));
}

static void take_text(const sl_an *an, oom_facts *facts) {
    const char *text = an->options->oom_text ? an->options->oom_text : an->trace->oom_message;
    if (!text || !sl_oom_text_parse(text, strlen(text), &facts->text))
        return;
    /* A text about another device says nothing about this one. */
    facts->has_text = facts->text.device < 0 || facts->text.device == an->device->device;
    if (!facts->has_text)
        return;
    if (!facts->capacity.known)
        facts->capacity = facts->text.capacity_bytes;
    if (!facts->device_free.known)
        facts->device_free = facts->text.free_bytes;
    facts->limit = facts->text.allowed_bytes;
}

/* What others hold: listed in the text, or what the card lacks beyond this process. */
static void estimate_others(oom_facts *facts) {
    if (facts->has_text && facts->text.other_processes_bytes.known) {
        facts->others = facts->text.other_processes_bytes;
        return;
    }
    if (!facts->capacity.known || !facts->device_free.known)
        return;
    uint64_t own = facts->has_text && facts->text.process_bytes.known
                       ? facts->text.process_bytes.value
                       : facts->totals.reserved_bytes + SL_T_OOM_CONTEXT_BYTES;
    uint64_t used = own + facts->device_free.value;
    facts->others = sl_known_u64(used < facts->capacity.value ? facts->capacity.value - used : 0);
}

static bool gather(const sl_an *an, oom_facts *facts) {
    sl_event ev = sl_events_get(&an->device->events, an->last_oom);
    *facts = (oom_facts){.event = an->last_oom,
                         .request_bytes = ev.size_bytes,
                         .segment_bytes = sl_round_segment(ev.size_bytes),
                         .capacity = sl_an_device(an)->capacity_bytes,
                         .words = sl_device_words_of(an->trace, an->device->device)};
    if (ev.addr)
        facts->device_free = sl_known_u64(ev.addr);
    if (!sl_replay_totals_at(an->replay, facts->event, &facts->totals) ||
        (an->replay->geometry_known && !sl_free_space_at(an, facts->event, &facts->space)))
        return false;
    bool is_large = facts->request_bytes > SL_ALLOC_SMALL_BYTES;
    facts->unused = is_large ? facts->space.large_bytes : facts->space.small_bytes;
    facts->largest = is_large ? facts->space.largest_large : facts->space.largest_small;
    take_text(an, facts);
    facts->is_limited = facts->limit.known || (facts->device_free.known &&
                                               facts->device_free.value >= facts->segment_bytes);
    if (!facts->is_limited)
        estimate_others(facts);
    return true;
}

/* ---- causes ---- */

static bool is_other_process(const sl_an *an, const oom_facts *facts) {
    (void)an;
    return facts->others.known && facts->capacity.known &&
           (double)facts->others.value >= SL_T_OOM_OTHERS_SHARE * (double)facts->capacity.value &&
           facts->others.value >= facts->segment_bytes;
}

static bool is_leak(const sl_an *an, const oom_facts *facts) {
    return an->leaked_bytes >= facts->request_bytes &&
           (double)an->leaked_bytes >= SL_T_OOM_LEAK_SHARE * (double)facts->totals.allocated_bytes;
}

static bool is_fragmented(const sl_an *an, const oom_facts *facts) {
    return an->replay->geometry_known && facts->unused >= facts->request_bytes &&
           facts->largest < facts->request_bytes;
}

static bool is_spike(const sl_an *an, const oom_facts *facts) {
    double wanted = (double)(facts->totals.requested_bytes + facts->request_bytes);
    /* The host grants what it does not have: only a size that is a mistake fails at once. */
    if (an->device->device == SL_DEVICE_HOST && is_larger_than_all(facts))
        return false;
    return !an->is_building && an->usual_peak_bytes &&
           wanted >= SL_T_OOM_SPIKE_RATIO * (double)an->usual_peak_bytes;
}

static bool is_capacity(const sl_an *an, const oom_facts *facts) {
    (void)an;
    (void)facts;
    return true;
}

typedef const char *explain_fn(sl_an *an, const oom_facts *facts);

static const char *explain_other_process(sl_an *an, const oom_facts *facts) {
    return sl_an_text(an,
                      "Other processes hold about %s of %s's %s; this one has reserved %s. "
                      "Without them the request would have fitted.",
                      sl_an_bytes(an, facts->others.value), facts->words->name,
                      sl_an_bytes(an, facts->capacity.value),
                      sl_an_bytes(an, facts->totals.reserved_bytes));
}

static const char *explain_leak(sl_an *an, const oom_facts *facts) {
    return sl_an_text(
        an,
        "Memory grew until none was left: leaks hold %s, %.0f %% of the allocated %s; the largest "
        "is at %s. The request that failed was only the last one.",
        sl_an_bytes(an, an->leaked_bytes),
        100 * fmin(1,
                   (double)an->leaked_bytes /
                       (double)(facts->totals.allocated_bytes ? facts->totals.allocated_bytes : 1)),
        sl_an_bytes(an, facts->totals.allocated_bytes),
        sl_site_text(an->leak_site, &an->report->arena));
}

static const char *explain_fragmentation(sl_an *an, const oom_facts *facts) {
    return sl_an_text(
        an,
        "%s was reserved but unused, which is more than the request, but the largest piece was %s.",
        sl_an_bytes(an, facts->unused), sl_an_bytes(an, facts->largest));
}

static const char *explain_spike(sl_an *an, const oom_facts *facts) {
    if (is_larger_than_all(facts))
        return explain_size(an, facts);
    return sl_an_text(an,
                      "The step that failed needed at least %s, %.1f times the usual peak of %s: "
                      "an unusual input or a rare branch.",
                      sl_an_bytes(an, facts->totals.requested_bytes + facts->request_bytes),
                      (double)(facts->totals.requested_bytes + facts->request_bytes) /
                          (double)an->usual_peak_bytes,
                      sl_an_bytes(an, an->usual_peak_bytes));
}

static bool knows_reserved(const sl_an *an, const oom_facts *facts) {
    return an->replay->reserved_known || facts->text.reserved_bytes.known;
}

static const char *explain_capacity(sl_an *an, const oom_facts *facts) {
    if (is_larger_than_all(facts))
        return explain_size(an, facts);
    const char *reserved =
        knows_reserved(an, facts)
            ? sl_an_text(an, ", %s reserved", sl_an_bytes(an, facts->totals.reserved_bytes))
            : "";
    return sl_an_text(
        an,
        "What the program holds (%s allocated%s) and the request together do not "
        "fit%s. There is no leak and no unusual step: the program needs more memory than there is.",
        sl_an_bytes(an, facts->totals.allocated_bytes), reserved,
        an->is_building ? ", already while the model is being built" : "");
}

static const char *advise_other_process(sl_an *an, const oom_facts *facts) {
    return sl_an_text(
        an, "Find the other processes with %s, and end them or give this one %s of its own.",
        facts->words->list_users, an->device->device == SL_DEVICE_HOST ? "a machine" : "a card");
}

static const char *advise_leak(sl_an *an, const oom_facts *facts) {
    (void)an;
    (void)facts;
    return "Stop the leak: its finding names the line and the usual fix. A smaller batch only "
           "delays the failure.";
}

static const char *advise_fragmentation(sl_an *an, const oom_facts *facts) {
    (void)an;
    /* The setting follows, if a replay can prove one. */
    return facts->words->conf ? "" : "Pad varying sizes to a few sizes.";
}

static const char *advise_spike(sl_an *an, const oom_facts *facts) {
    (void)an;
    (void)facts;
    return "Limit or split the unusual input (cap its length, process it in chunks), or use "
           "activation checkpointing for it.";
}

static const char *advise_capacity(sl_an *an, const oom_facts *facts) {
    if (is_larger_than_all(facts))
        return "Check the sizes that this line requests: one is far too large.";
    return sl_an_text(an,
                      "Use less: a smaller batch or model, mixed precision, activation "
                      "checkpointing, gradient accumulation, a sharded optimizer; or use %s.",
                      facts->words->larger);
}

typedef struct cause_row {
    sl_oom_cause cause;
    bool (*fits)(const sl_an *an, const oom_facts *facts);
    explain_fn *explain, *advise;
} cause_row;

static const cause_row cause_rows[] = {
    {SL_CAUSE_OTHER_PROCESS, is_other_process, explain_other_process, advise_other_process},
    {SL_CAUSE_LEAK, is_leak, explain_leak, advise_leak},
    {SL_CAUSE_FRAGMENTATION, is_fragmented, explain_fragmentation, advise_fragmentation},
    {SL_CAUSE_SPIKE, is_spike, explain_spike, advise_spike},
    {SL_CAUSE_CAPACITY, is_capacity, explain_capacity, advise_capacity},
};

static const cause_row *find_cause(sl_an *an, const oom_facts *facts) {
    for (size_t i = 0; i < SL_COUNT_OF(cause_rows); i++) {
        bool fits = cause_rows[i].fits(an, facts);
        sl_an_reason(an, "oom: device %d: cause '%s': %s", an->device->device,
                     sl_oom_cause_name(cause_rows[i].cause), fits ? "yes" : "no");
        if (fits)
            return &cause_rows[i];
    }
    return &cause_rows[SL_COUNT_OF(cause_rows) - 1];
}

static const char *explain_limit(sl_an *an, const oom_facts *facts) {
    const char *name = facts->words->name;
    if (!facts->is_limited)
        return facts->capacity.known ? ""
                                     : sl_an_text(an,
                                                  " The input does not record how much memory %s "
                                                  "has, so other processes may hold the rest.",
                                                  name);
    if (facts->limit.known)
        return sl_an_text(an,
                          " The process may use only %s (set_per_process_memory_fraction); %s "
                          "itself was not full.",
                          sl_an_bytes(an, facts->limit.value), name);
    return sl_an_text(an,
                      " %c%s still had %s free, so a limit of the process "
                      "(set_per_process_memory_fraction) refused the request.",
                      name[0] - 'a' + 'A', name + 1, sl_an_bytes(an, facts->device_free.value));
}

/* ---- the report ---- */

static uint64_t count_ooms(const sl_an *an) {
    uint64_t cnt = 0;
    for (uint32_t i = an->from; i < an->to; i++)
        cnt += an->device->events.kind[i] == SL_EV_OOM;
    return cnt;
}

static bool fill_oom(sl_an *an, const oom_facts *facts, const cause_row *cause,
                     const char *explanation) {
    size_t top = an->options->top ? an->options->top : SL_SITES_MOST;
    sl_oom_report oom = {.present = true,
                         .device = an->device->device,
                         .requested_bytes = facts->request_bytes,
                         .allocated_bytes = sl_known_u64(facts->totals.allocated_bytes),
                         .reserved_bytes = an->replay->reserved_known
                                               ? sl_known_u64(facts->totals.reserved_bytes)
                                               : (sl_maybe_u64){0},
                         .device_free_bytes = facts->device_free,
                         .limit_bytes = facts->limit,
                         .time_us = sl_replay_time(an->replay, facts->event),
                         .site = sl_user_site(an->trace, an->device->events.stack_id[facts->event]),
                         .cause = cause->cause,
                         .explanation = explanation,
                         .count = count_ooms(an)};
    if (!sl_sites_holdings(an->sites, an->replay, facts->event, top, &an->report->arena,
                           &oom.holders))
        return false;
    /* Of several devices the latest failure is the one that ended the run. */
    sl_oom_report *latest = &sl_an_input(an)->oom;
    if (!latest->present || oom.time_us >= latest->time_us)
        *latest = oom;
    return true;
}

static bool report_oom(sl_an *an, const oom_facts *facts) {
    const cause_row *cause = find_cause(an, facts);
    const char *explanation =
        sl_an_text(an, "%s%s", cause->explain(an, facts), explain_limit(an, facts));
    sl_evidence evidence[] = {
        {"request", (double)facts->request_bytes, "bytes", NAN, NULL},
        {"allocated", (double)facts->totals.allocated_bytes, "bytes", NAN, NULL},
        {"reserved", knows_reserved(an, facts) ? (double)facts->totals.reserved_bytes : NAN,
         "bytes", NAN, NULL},
        {"unused in the pool of the request", (double)facts->unused, "bytes",
         (double)facts->request_bytes, ">="},
        {"largest free block there", (double)facts->largest, "bytes", (double)facts->request_bytes,
         "<"},
        {"leaked", (double)an->leaked_bytes, "bytes",
         SL_T_OOM_LEAK_SHARE * (double)facts->totals.allocated_bytes, ">="},
        {"usual peak of a step", (double)an->usual_peak_bytes, "bytes", NAN, NULL},
    };
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_OOM, SL_SEV_CRITICAL, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->subkind = sl_oom_cause_name(cause->cause);
    f->site = sl_user_site(an->trace, an->device->events.stack_id[facts->event]);
    f->bytes = sl_known_u64(facts->request_bytes);
    f->first_time_us = f->last_time_us = sl_replay_time(an->replay, facts->event);
    f->title = sl_an_text(an, "out of memory at %s: a request of %s failed, cause: %s",
                          sl_site_text(f->site, &an->report->arena),
                          sl_an_bytes(an, facts->request_bytes), sl_oom_cause_name(cause->cause));
    f->explanation = explanation;
    /* The last resort, and a cause when other processes cannot be ruled out, has a lower
     * confidence. */
    bool is_sure =
        cause->cause != SL_CAUSE_CAPACITY && (facts->is_limited || facts->capacity.known);
    f->confidence = is_sure ? 0.9 : 0.7;
    return sl_an_advise_setting(an, f, cause->advise(an, facts)) &&
           fill_oom(an, facts, cause, explanation);
}

/* An error's text without its event: the numbers are those of the text. */
static bool report_text_only(sl_an *an) {
    oom_facts facts = {.event = sl_an_end(an),
                       .capacity = sl_an_device(an)->capacity_bytes,
                       .words = sl_device_words_of(an->trace, an->device->device)};
    take_text(an, &facts);
    if (!facts.has_text || !facts.text.tried_bytes.known || sl_an_input(an)->oom.present)
        return true;
    if (!sl_replay_totals_at(an->replay, facts.event, &facts.totals))
        return false;
    facts.request_bytes = facts.segment_bytes = facts.text.tried_bytes.value;
    if (facts.text.allocated_bytes.known)
        facts.totals.allocated_bytes = facts.text.allocated_bytes.value;
    if (facts.text.reserved_bytes.known)
        facts.totals.reserved_bytes = facts.text.reserved_bytes.value;
    facts.is_limited = facts.limit.known;
    facts.unused = facts.text.unallocated_bytes.value;
    if (!facts.is_limited)
        estimate_others(&facts);
    const cause_row *cause = find_cause(an, &facts);
    sl_finding *f = sl_an_finding(an, SL_FINDING_OOM, SL_SEV_CRITICAL, NULL, 0);
    if (!f)
        return false;
    const char *explanation =
        sl_an_text(an, "%s%s", cause->explain(an, &facts), explain_limit(an, &facts));
    f->subkind = sl_oom_cause_name(cause->cause);
    f->bytes = sl_known_u64(facts.request_bytes);
    f->confidence = 0.6;
    f->title = sl_an_text(an, "out of memory: %s could not be allocated, cause: %s",
                          sl_an_bytes(an, facts.request_bytes), sl_oom_cause_name(cause->cause));
    f->explanation = explanation;
    if (!sl_an_advise_setting(an, f, cause->advise(an, &facts)))
        return false;
    sl_an_input(an)->oom = (sl_oom_report){.present = true,
                                           .device = an->device->device,
                                           .requested_bytes = facts.request_bytes,
                                           .allocated_bytes = facts.text.allocated_bytes,
                                           .reserved_bytes = facts.text.reserved_bytes,
                                           .device_free_bytes = facts.device_free,
                                           .limit_bytes = facts.limit,
                                           .time_us = sl_an_device(an)->last_time_us,
                                           .cause = cause->cause,
                                           .explanation = explanation,
                                           .holders = sl_an_device(an)->top_live,
                                           .count = 1};
    return true;
}

bool sl_find_oom(sl_an *an) {
    if (an->last_oom == SL_IDX_NONE)
        return report_text_only(an);
    oom_facts facts;
    return gather(an, &facts) && report_oom(an, &facts);
}
