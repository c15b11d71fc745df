/* SPDX-License-Identifier: MIT */
/* A spike: one step, or very few, whose peak is far above the usual one and goes away again. */
#include <inttypes.h>
#include <math.h>

#include "analyze/step_peaks.h"
#include "analyze/thresholds.h"

static bool is_spike(const sl_an *an, const sl_step_peak *peak, uint64_t usual) {
    return peak->bytes >= usual &&
           (double)peak->bytes >= sl_an_t(an)->spike_ratio * (double)usual &&
           (double)(peak->bytes - usual) >= sl_an_t(an)->spike_bytes && peak->end_bytes <= usual;
}

/* The site that grew most from the peak of an ordinary step to the spike. */
static bool find_holder(const sl_an *an, uint32_t spike, uint32_t ordinary, sl_site *site,
                        uint64_t *excess) {
    size_t cnt = an->sites->sites.cnt;
    uint64_t *sums = calloc(cnt * 2 + 1, sizeof *sums);
    bool ok = sums && sl_sites_bytes_at(an->sites, an->replay, spike, sums, NULL) &&
              sl_sites_bytes_at(an->sites, an->replay, ordinary, sums + cnt, NULL);
    uint32_t best = 0;
    int64_t most = INT64_MIN;
    for (uint32_t i = 0; ok && i < cnt; i++) {
        int64_t delta = (int64_t)(sums[i] - sums[cnt + i]);
        if (delta > most && an->sites->sites.at[i].is_shown) {
            most = delta;
            best = i;
        }
    }
    if (ok) {
        *site = an->sites->sites.at[best].site;
        *excess = most > 0 ? (uint64_t)most : 0;
    }
    free(sums);
    return ok;
}

/* The step whose peak is nearest to the usual one. */
static size_t ordinary_step(const sl_step_peaks *peaks, uint64_t usual) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = sl_step_peaks_warm(peaks->cnt); i < peaks->cnt; i++) {
        double distance = fabs((double)peaks->at[i].bytes - (double)usual);
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

static bool report_spike(sl_an *an, const sl_step_peaks *peaks, size_t step, uint64_t usual) {
    const sl_step_peak *peak = &peaks->at[step];
    sl_site site;
    uint64_t excess;
    if (!find_holder(an, peak->event, peaks->at[ordinary_step(peaks, usual)].event, &site, &excess))
        return false;
    sl_evidence evidence[] = {
        {"peak / usual peak", (double)peak->bytes / (double)(usual ? usual : 1), "1",
         sl_an_t(an)->spike_ratio, ">="},
        {"excess", (double)(peak->bytes - usual), "bytes", sl_an_t(an)->spike_bytes, ">="},
        {"steps", (double)peaks->cnt, "steps", sl_an_t(an)->spike_min_steps, ">="},
    };
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_SPIKE, SL_SEV_WARNING, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->site = site;
    f->bytes = sl_known_u64(peak->bytes - usual);
    f->first_time_us = f->last_time_us = sl_replay_time(an->replay, peak->event);
    f->confidence = 0.9;
    const char *where = sl_site_text(site, &an->report->arena);
    uint64_t number = sl_steps_number_at(an->steps, an->steps->borders.at[step]);
    f->title = sl_an_text(an, "spike in step %" PRIu64 ": %s, usually %s", number,
                          sl_an_bytes(an, peak->bytes), sl_an_bytes(an, usual));
    f->explanation = sl_an_text(an,
                                "In step %" PRIu64 ", of %zu in all, the live memory rose to %s, "
                                "%.1f times the usual peak of %s, and fell back. Most of the "
                                "excess, %s, was held by %s.",
                                number, peaks->cnt, sl_an_bytes(an, peak->bytes),
                                (double)peak->bytes / (double)(usual ? usual : 1),
                                sl_an_bytes(an, usual), sl_an_bytes(an, excess), where);
    f->advice = "One unusually large input or a rare branch decides how much memory the whole run "
                "needs. Limit or split such inputs (cap the length, evaluate in chunks), or run "
                "the rare branch under torch.no_grad().";
    return true;
}

bool sl_find_spike(sl_an *an) {
    sl_step_peaks peaks = {0};
    /* What only grows has no usual peak. */
    if (an->is_building || an->steps->only_keep ||
        (double)an->steps->borders.cnt < sl_an_t(an)->spike_min_steps)
        return true;
    bool ok = sl_step_peaks_find(an, &peaks);
    uint64_t usual = ok ? sl_step_peaks_usual(&peaks) : 0;
    an->usual_peak_bytes = usual;
    size_t cnt = 0, highest = 0;
    for (size_t i = sl_step_peaks_warm(peaks.cnt); usual && i < peaks.cnt; i++) {
        if (!is_spike(an, &peaks.at[i], usual))
            continue;
        if (!cnt || peaks.at[i].bytes > peaks.at[highest].bytes)
            highest = i;
        cnt++;
    }
    double allowed = fmax(1, SL_T_SPIKE_MAX_SHARE * (double)peaks.cnt);
    if (ok && cnt && (double)cnt <= allowed && an->last_oom == SL_IDX_NONE)
        ok = report_spike(an, &peaks, highest, usual);
    sl_an_reason(an,
                 "spike: device %d: usual peak of a step %" PRIu64 " bytes, %zu of %zu steps are "
                 "%.0f times above it and fall back",
                 an->device->device, usual, cnt, peaks.cnt, sl_an_t(an)->spike_ratio);
    sl_vec_free(&peaks);
    return ok;
}
