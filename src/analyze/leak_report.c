/* SPDX-License-Identifier: MIT */
#include "analyze/leak_report.h"

#include <inttypes.h>
#include <math.h>

#include "base/text/human.h"

typedef struct leak_words {
    const char *name;
    const char *what; /* completes "… keeps" */
    const char *advice;
} leak_words;

static const leak_words words[] = {
    [SL_LEAK_TENSOR] =
        {"tensor retention", "tensors that are never freed",
         "Look for the container that collects what this line allocates (a list, dict, "
         "queue, closure or caught exception) and bound or clear it. If only the "
         "value is wanted, store tensor.item() or tensor.detach().cpu()."},
    [SL_LEAK_GRAPH] = {"graph retention", "activations that an autograd graph holds",
                       "A loss, output or hidden state is kept together with its graph. Keep "
                       "loss.item() or loss.detach() instead of the tensor, detach what is carried "
                       "over from step to step, evaluate under torch.no_grad(), and drop "
                       "retain_graph=True or create_graph=True unless it is needed."},
    [SL_LEAK_BUFFER] = {"growing buffer", "a buffer that is replaced by a larger one",
                        "torch.cat onto a tensor that is kept copies it and makes it larger every "
                        "time. Allocate the "
                        "buffer once with its final size and write into it, bound it, or reset it "
                        "between sequences."},
    [SL_LEAK_PARAM] = {"tensor retention", "parameters or optimizer state that are never freed",
                       "Modules are built again and again, and something still refers to the old "
                       "ones: an optimizer's param_groups and state, a list of checkpoints, a "
                       "registry. Remove them there too."},
};

/* A function of a native library or program: it may know nothing of tensors. */
static const leak_words native_words = {"block retention", "blocks that are never freed",
                                        "Look for what keeps the blocks that this function takes: "
                                        "a container that only grows, or a path on "
                                        "which they are not given back."};

static const leak_words *words_of(const sl_leak *leak, sl_site site) {
    sl_frame frame;
    bool is_native = leak->kind == SL_LEAK_TENSOR && sl_site_frame(site, &frame) && !frame.line;
    return is_native ? &native_words : &words[leak->kind];
}

static double confidence(const sl_leak_scan *scan, const sl_leak *leak) {
    double base = (1 - leak->trend.p) * leak->trend.tau;
    if (leak->by_survivors) {
        double evicted =
            leak->growth_bytes ? (double)leak->evicted_bytes / (double)leak->growth_bytes : 0;
        base = (double)leak->hits / (double)scan->window.bin_cnt *
               (1 - 1 / (1 + (double)leak->occasions)) * (1 - fmin(evicted, 1) / 2);
    }
    base *= scan->window.has_steps ? 1 : 0.7;
    base *= leak->is_hoard ? 0.6 : 1;
    base *= leak->is_bare ? 0.7 : 1;
    return fmin(fmax(base, 0.05), 0.99);
}

/* Seconds of one part of the window; unknown without a clock. */
static sl_maybe_f64 part_seconds(const sl_an *an, const sl_leak_window *window) {
    if (!an->trace->has_time)
        return (sl_maybe_f64){0};
    double us = sl_replay_span_us(an->replay, window->edges.at[0], window->end);
    return us > 0 ? sl_known_f64(us / 1e6 / (double)window->part_cnt) : (sl_maybe_f64){0};
}

static double growth_share(const sl_leak_scan *scan, const sl_leak *leak) {
    const sl_leak_window *window = &scan->window;
    double total = scan->total[window->valley_cnt - 1] - scan->total[0];
    /* Valleys of the total begin one part later than the survivors: scale to the same length. */
    total *= (double)window->part_cnt / fmax((double)window->part_cnt - 1, 1);
    return total > 0 ? fmin((double)leak->growth_bytes / total, 1) : 1;
}

static size_t collect_evidence(const sl_leak_scan *scan, const sl_leak *leak, sl_evidence out[8]) {
    const sl_leak_window *window = &scan->window;
    size_t n = 0;
    out[n++] = (sl_evidence){"steps after warm-up", (double)window->part_cnt,
                             window->has_steps ? "steps" : "parts", SL_T_LEAK_MIN_STEPS, ">="};
    if (leak->by_survivors) {
        out[n++] = (sl_evidence){"parts of the run with survivors", (double)leak->hits, "parts",
                                 (double)window->bin_cnt - SL_T_LEAK_MISSED_BINS, ">="};
        out[n++] = (sl_evidence){
            "old bytes freed later, per surviving byte",
            leak->growth_bytes ? (double)leak->evicted_bytes / (double)leak->growth_bytes : 0, "1",
            SL_T_LEAK_MAX_EVICTED, "<="};
    } else {
        out[n++] = (sl_evidence){"Kendall's tau of the lowest live bytes", leak->trend.tau, "1",
                                 SL_T_VALLEY_MIN_TAU, ">="};
        out[n++] = (sl_evidence){"probability without a trend", leak->trend.p, "1",
                                 SL_T_VALLEY_MAX_P, "<="};
        out[n++] = (sl_evidence){
            "largest fall over the growth",
            leak->growth_bytes ? leak->trend.largest_fall / (double)leak->growth_bytes : 0, "1",
            SL_T_VALLEY_MAX_FALL, "<="};
    }
    out[n++] = (sl_evidence){"growing calls", (double)leak->calls, "calls", NAN, NULL};
    out[n++] =
        (sl_evidence){"growth in the window", (double)leak->growth_bytes, "bytes", NAN, NULL};
    return n;
}

static const char *how_decided(sl_an *an, const sl_leak_scan *scan, const sl_leak *leak) {
    const sl_leak_window *window = &scan->window;
    const char *unit = window->has_steps ? "steps" : "equal parts";
    if (leak->by_survivors)
        return sl_an_text(an,
                          "Of the %zu %s after warm-up, %" PRIu32 " left blocks behind that were "
                          "never freed, spread over %" PRIu32 " of %" PRIu32 " parts of the run.",
                          window->part_cnt, unit, leak->occasions, leak->hits, window->bin_cnt);
    return sl_an_text(an,
                      "Over the %zu %s after warm-up, the lowest live memory of this line rose "
                      "steadily (Kendall's tau %.2f, p %.1g).",
                      window->part_cnt, unit, leak->trend.tau, leak->trend.p);
}

static const char *what_grows(sl_an *an, const sl_leak *leak) {
    if (leak->kind == SL_LEAK_GRAPH)
        return sl_an_text(an,
                          " %" PRIu32 " different operations on %" PRIu32
                          " line%s grow together, as they do when an autograd graph is kept.",
                          leak->calls, leak->sites, sl_plural(leak->sites));
    if (leak->kind == SL_LEAK_BUFFER)
        return sl_an_text(an, " The number of blocks stays at %" PRIu64 " while their size grows.",
                          leak->blocks);
    return "";
}

static void set_slopes(sl_an *an, const sl_leak_scan *scan, const sl_leak *leak, sl_finding *f) {
    sl_maybe_f64 seconds = part_seconds(an, &scan->window);
    if (scan->window.has_steps)
        f->bytes_per_step = sl_known_f64(leak->trend.slope);
    if (seconds.known)
        f->bytes_per_second = sl_known_f64(leak->trend.slope / seconds.value);
    f->r_squared = sl_known_f64(leak->trend.r_squared);
}

static const char *per_unit(sl_an *an, const sl_leak_scan *scan, const sl_leak *leak) {
    double slope = leak->trend.slope;
    return sl_an_text(an, "%s per %s", sl_an_bytes(an, slope > 0 ? (uint64_t)(slope + 0.5) : 0),
                      scan->window.has_steps ? "step" : "1/20 of the trace");
}

static sl_severity judge(const sl_an *an, const sl_leak *leak, double sure) {
    double live = (double)sl_an_device(an)->live_requested_bytes;
    bool is_critical = sure >= SL_T_LEAK_CRITICAL_SURE &&
                       (double)leak->bytes >= sl_an_t(an)->leak_critical_bytes &&
                       (double)leak->bytes >= sl_an_t(an)->leak_critical_share * live;
    return is_critical && !leak->is_bare ? SL_SEV_CRITICAL : SL_SEV_WARNING;
}

bool sl_leak_report(sl_an *an, const sl_leak_scan *scan, const sl_leak *leak) {
    sl_evidence evidence[8];
    size_t evidence_cnt = collect_evidence(scan, leak, evidence);
    double sure = confidence(scan, leak);
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_LEAK, judge(an, leak, sure), evidence, evidence_cnt);
    if (!f)
        return false;
    f->site = sl_sites_show(an->sites, leak->site_idx, leak->stack_id);
    const leak_words *w = words_of(leak, f->site);
    f->subkind = w->name;
    f->confidence = sure;
    f->bytes = sl_known_u64(leak->bytes);
    f->blocks = sl_known_u64(leak->blocks);
    f->growth_share = sl_known_f64(growth_share(scan, leak));
    f->first_time_us = sl_replay_time(an->replay, scan->window.edges.at[0]);
    f->last_time_us = sl_replay_time(an->replay, scan->window.end);
    set_slopes(an, scan, leak, f);
    const char *where = sl_site_text(f->site, &an->report->arena);
    f->title = sl_an_text(an, "%s at %s: %s kept, +%s", w->name, where,
                          sl_an_bytes(an, leak->bytes), per_unit(an, scan, leak));
    const char *share = f->growth_share.value < 0.005
                            ? "less than 1 %"
                            : sl_an_text(an, "%.0f %%", 100 * f->growth_share.value);
    f->explanation = sl_an_text(
        an, "%s keeps %s. %s It holds %s in %" PRIu64 " block%s and explains %s of the growth.%s%s",
        where, w->what, how_decided(an, scan, leak), sl_an_bytes(an, leak->bytes), leak->blocks,
        sl_plural(leak->blocks), share, what_grows(an, leak),
        leak->is_bare ? " Neither a layer nor a backward pass runs in this loop: if it prepares "
                        "data that is meant to stay, "
                        "this is not a leak."
                      : "");
    f->advice = w->advice;
    return true;
}
