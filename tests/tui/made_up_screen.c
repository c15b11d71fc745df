/* SPDX-License-Identifier: MIT */
#include "made_up_screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)
#define GIB (1024 * MIB)

static void *take(size_t size) {
    void *at = calloc(1, size);
    if (!at)
        abort();
    return at;
}

static void must(bool is_done) {
    if (!is_done)
        abort();
}

/* ---- machine and runs ---- */

static sl_tui_machine *make_machine(void) {
    sl_tui_machine *m = take(sizeof *m);
    snprintf(m->host, sizeof m->host, "node17.cluster.example.org");
    snprintf(m->system, sizeof m->system, "Linux 6.1.0-13-amd64, x86_64");
    m->cpus = 192;
    m->memory_total = sl_known_u64(2048 * GIB);
    m->memory_available = sl_known_u64(1499 * GIB);
    m->card_cnt = 4;
    for (size_t i = 0; i < m->card_cnt; i++)
        m->cards[i] = (sl_tui_card){.number = (int)i,
                                    .used = sl_known_u64((i * 37 + 24) * GIB),
                                    .total = sl_known_u64(140 * GIB),
                                    .utilization_pct = {i * 30, true},
                                    .temperature_c = {40 + i, true},
                                    .power_mw = {400000 + i * 1000, i != 2}};
    return m;
}

static sl_tui_jobs *make_jobs(void) {
    static const char *const names[] = {
        "20261116-081500-train", "20261116-080102-pretrain_llama_70b", "20261115-235959-eval"};
    static const char *const states[] = {"running", "finished", "broken"};
    sl_tui_jobs *jobs = take(sizeof *jobs);
    for (size_t i = 0; i < SL_COUNT_OF(names); i++) {
        sl_tui_job job = {.is_running = i == 0,
                          .start_s = 1794816900 - (int64_t)i * 7000,
                          .bytes = (i + 1) * 123456789,
                          .process_cnt = i * 8 + 1};
        snprintf(job.name, sizeof job.name, "%s", names[i]);
        snprintf(job.state, sizeof job.state, "%s", states[i]);
        snprintf(job.path, sizeof job.path, "stormlog-runs/%s", names[i]);
        snprintf(job.command, sizeof job.command, "python train.py --batch-size 64 --lr 3e-4");
        must(sl_vec_push(&jobs->rows, job));
    }
    return jobs;
}

/* ---- what is open ---- */

static void fill_curves(sl_tui_device *to) {
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) {
        to->curves[k] = take(SL_TUI_POINTS * sizeof(double));
        for (size_t i = 0; i < SL_TUI_POINTS; i++) {
            double saw = (double)(i % 64) / 64, rise = (double)i / SL_TUI_POINTS;
            double live = (20 + 60 * rise + 12 * saw) * (double)GIB;
            double values[] = {live, (70 + 30 * rise) * (double)GIB,
                               i < 100 ? NAN : (85 + 35 * rise) * (double)GIB};
            to->curves[k][i] = values[k];
        }
        to->now[k] = sl_known_u64((79 + k * 15) * GIB);
        to->peak[k] = sl_known_u64((92 + k * 13) * GIB);
    }
    to->has_curves = to->has_time = true;
    to->to_us = INT64_C(3725) * 1000000;
    to->capacity = sl_known_u64(140 * GIB);
}

static void fill_sites(sl_tree *tree) {
    static const char *const lines[] = {
        "/home/user/projects/language-models/train.py:42 in train_step",
        "/home/user/projects/language-models/model/attention.py:1207 in forward",
        "(no Python stack: autograd backward)",
        "/home/user/projects/language-models/data.py:7 in collate",
    };
    uint32_t file = sl_tree_add(tree, &(sl_tree_node){.text = "/home/user/projects/train.py",
                                                      .file = "",
                                                      .parent = SL_TREE_ROOT,
                                                      .level = SL_TREE_FILE,
                                                      .is_open = true});
    for (size_t i = 0; i < SL_COUNT_OF(lines); i++) {
        sl_tree_node node = {
            .text = lines[i], .file = "", .parent = file, .level = SL_TREE_LINE, .is_open = i == 0};
        const int64_t figures[] = {(int64_t)((60 >> i) * GIB),
                                   i ? -3 * (int64_t)MIB : 41 * (int64_t)GIB,
                                   (int64_t)((64 >> i) * GIB), (int64_t)(1234567 >> (i * 4))};
        for (size_t f = 0; f < SL_TREE_FIGURE_CNT; f++)
            node.figures[f] = figures[f], node.known[f] = f != SL_TREE_PEAK || i != 2;
        uint32_t at = sl_tree_add(tree, &node);
        for (size_t f = 0; f < 3 && i < 2; f++)
            sl_tree_add(tree, &(sl_tree_node){.text = "/usr/lib/python3/torch/nn/module.py:1501 in "
                                                      "_call_impl",
                                              .file = "",
                                              .parent = at,
                                              .level = SL_TREE_FRAME});
    }
}

static void fill_ledger(sl_ledger_state *to) {
    static const struct {
        sl_ledger_kind kind;
        const char *library;
        uint64_t mib;
    } rows[] = {{SL_LEDGER_TENSORS, "", 80896},
                {SL_LEDGER_CACHE, "", 15360},
                {SL_LEDGER_LIBRARY, "libnccl", 430},
                {SL_LEDGER_CONTEXT, "", 640},
                {SL_LEDGER_OTHERS, "", 11264},
                {SL_LEDGER_DRIVER, "", 512},
                {SL_LEDGER_REST, "", 0}};
    sl_ledger_row *made = take(sizeof *made * SL_COUNT_OF(rows));
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        made[i] = (sl_ledger_row){.kind = rows[i].kind,
                                  .library = {rows[i].library, strlen(rows[i].library)},
                                  .bytes = {rows[i].mib * MIB, i != 5}};
    *to = (sl_ledger_state){.card_used = sl_known_u64(109 * GIB),
                            .card_total = sl_known_u64(140 * GIB),
                            .rows = made,
                            .row_cnt = SL_COUNT_OF(rows)};
}

static void fill_ranks(sl_tui_source *source, const sl_tui_device *device) {
    for (int i = 0; i < 16; i++) {
        sl_tui_rank rank = {.number = i, .is_missing = i == 5, .ending = i == 5 ? "missing" : ""};
        if (i != 5)
            rank.samples = 100000 + (uint64_t)i, rank.first = sl_known_u64(3 * GIB),
            rank.last = sl_known_u64((uint64_t)(70 + i) * GIB), rank.peak = rank.last,
            rank.heat = device->curves[i % 3];
        if (i == 11)
            rank.lead_s = sl_known_f64(2.5);
        must(sl_vec_push(&source->ranks, rank));
    }
    source->world_size = 16;
    source->rank_verdict = "rank 11 diverged first, 2.50 s before the others (+12.0 GiB)";
}

static void fill_findings(sl_tui_source *source) {
    static const char *const evidence[] = {"growth_share 0.97 >= 0.5", "steps 812 >= 5"};
    sl_tui_finding leak = {.title = "train.py:42 leaks 51.2 MiB per step",
                           .text =
                               "The loss is kept with its graph: every step adds its activations.",
                           .advice = "Append loss.item() instead of loss.",
                           .place = "/home/user/projects/language-models/train.py:42 in train_step",
                           .amount = "41.0 GiB in 812 blocks; +51.2 MiB per step",
                           .certainty = "critical, confidence 97 %",
                           .device = "device 0 of rank 3",
                           .severity = SL_SEV_CRITICAL,
                           .rank = {3, true},
                           .evidence = evidence,
                           .evidence_cnt = 2};
    sl_tui_finding other = leak;
    other.title = "15.0 GiB are reserved and in no tensor", other.severity = SL_SEV_WARNING;
    other.evidence_cnt = 0, other.rank = (sl_maybe_u64){7, true};
    must(sl_vec_push(&source->findings, leak) && sl_vec_push(&source->findings, other));
    must(sl_vec_push(&source->notes, "1,234 events were overwritten before they could be read"));
    source->verdict = "Leak: train.py:42 in train_step leaks 51.2 MiB per step (41.0 GiB so far)";
    source->verdict_rank = 3;
}

static sl_tui_source *make_source(void) {
    sl_tui_source *source = take(sizeof *source);
    sl_tui_process process = {
        .path = "/home/user/projects/language-models/stormlog-runs/latest/python3-4711.slog",
        .label = "main process 4711 (train.py)",
        .command = "python3 train.py",
        .host = "node17",
        .ending = "still running",
        .is_live = true,
        .pid = {4711, true},
        .length_us = INT64_C(3725) * 1000000,
        .events = 12345678,
        .oom_cnt = 1,
        .steps = {8123, true},
        .steps_per_s = {2.183, true}};
    sl_tui_device device = {.label = "device 0", .growth_span = "since this screen was opened"};
    fill_curves(&device);
    fill_sites(&device.sites);
    fill_ledger(&device.ledger);
    device.forecast = "out of memory in 12 min ± 2 at this rate, because of train.py:42 "
                      "(+51.2 MiB per step)";
    device.failure = "if it failed now: attention.py:1207: the card is full; it asks for 2.00 GiB, "
                     "1.50 GiB fits";
    device.is_failing = true;
    source->name = "/home/user/projects/language-models/stormlog-runs/latest";
    must(sl_vec_push(&source->processes, process));
    must(sl_vec_push(&source->devices, device));
    device.number = SL_DEVICE_HOST, device.label = "host memory";
    device.forecast = NULL, device.failure = NULL;
    must(sl_vec_push(&source->devices, device));
    sl_tui_alert alert = {INT64_C(3600) * 1000000, "95 % or more of the card is used: 137 GiB", 0};
    must(sl_vec_push(&source->alerts, alert));
    fill_ranks(source, &device);
    fill_findings(source);
    source->is_whole = true;
    return source;
}

static sl_tui_timeline *make_timeline(const sl_tui_source *source) {
    static const char *const names[] = {"train.py:42 in train_step", "attention.py:1207 in forward",
                                        "everything else"};
    sl_tui_timeline *t = take(sizeof *t);
    t->cnt = SL_TUI_POINTS / 2;
    t->band_cnt = SL_COUNT_OF(names);
    for (size_t b = 0; b < t->band_cnt; b++) {
        t->names[b] = names[b];
        t->bands[b] = source->devices.at[0].curves[0];
    }
    t->reserved = source->devices.at[0].curves[1];
    t->to_us = t->end_us = INT64_C(3725) * 1000000;
    t->has_time = true;
    t->silences[t->silence_cnt++] =
        (sl_tui_silence){INT64_C(1200) * 1000000, INT64_C(2400) * 1000000};
    sl_tui_timeline_set_axis(t);
    must(sl_vec_push(&t->steps, 5));
    return t;
}

static sl_tui_whatif *make_whatif(void) {
    static const char *const settings[] = {"as recorded (defaults)", "expandable_segments:True",
                                           "max_split_size_mb:128,roundup_power2_divisions:4"};
    sl_tui_whatif *w = take(sizeof *w);
    w->asked = "settings: expandable_segments:True max_split_size_mb:128   card: as recorded";
    w->lines[w->line_cnt++] =
        "1,234,567 of 1,234,567 addresses came out the same: the replay is exact.";
    w->lines[w->line_cnt++] = "expandable_segments:True would have reserved 12.1 GiB less (11 %).";
    w->rows = take(sizeof *w->rows * 3);
    w->row_cnt = 3;
    for (size_t i = 0; i < 3; i++)
        w->rows[i] = (sl_tui_setting){.text = settings[i],
                                      .spread = "94.1 to 94.9 GiB over 16 placements",
                                      .failure = "the request of 2.00 GiB at train.py:42 fails",
                                      .peak = (106 - 6 * i) * GIB,
                                      .saves = (int64_t)(6 * i * GIB),
                                      .card = {(110 - 6 * i) * GIB, i != 2},
                                      .is_best = i == 1,
                                      .has_failed = i == 2};
    return w;
}

static void fill_source(sl_source_excerpt *to) {
    static const char *const rows[] = {"def train_step(model, batch):",
                                       "    loss = model(batch).mean()",
                                       "    loss.backward()",
                                       "    losses.append(loss)",
                                       "    optimizer.step()",
                                       "    return loss",
                                       ""};
    to->first = 39, to->marked = 42, to->cnt = SL_COUNT_OF(rows);
    for (size_t i = 0; i < to->cnt; i++)
        snprintf(to->rows[i], sizeof to->rows[i], "%s", rows[i]);
}

static sl_tui_users *make_users(void) {
    static const char *const jobs[] = {"slurm 4711234", "docker 0123456789ab @trainer-0", "", ""};
    sl_tui_users *users = take(sizeof *users);
    for (size_t i = 0; i < SL_COUNT_OF(jobs); i++) {
        sl_tui_user *user = &users->rows[users->cnt++];
        *user = (sl_tui_user){.pid = (int)(4711 + i * 100003),
                              .card = i == 3 ? -1 : (int)i,
                              .bytes = {(79 - i * 20) * GIB, i != 2},
                              .first_bytes = (60 - i * 15) * GIB,
                              .is_recorded = i == 0,
                              .is_gone = i == 3};
        snprintf(user->owner, sizeof user->owner, "user%zu", i);
        snprintf(user->job, sizeof user->job, "%s", jobs[i]);
        snprintf(user->command, sizeof user->command, "python train.py --batch-size 64 --lr 3e-4");
        user->history_cnt = i == 2 ? 0 : 100;
        for (size_t h = 0; h < user->history_cnt; h++)
            user->history[h] = (double)user->first_bytes + (double)(h * h % 97) * (double)GIB / 10;
    }
    return users;
}

static sl_tui_comparison *make_comparison(void) {
    static const sl_tui_change rows[] = {
        {"peak", "allocated, device 0", false, 51 * GIB, 92 * GIB},
        {"peak", "reserved, device 0", false, 94 * GIB, 94 * GIB},
        {"grown", "/home/user/projects/language-models/train.py:42 in train_step", true, 19 * GIB,
         60 * GIB},
        {"gone", "/home/user/projects/language-models/data.py:7 in collate", true, 123 * MIB, 0},
    };
    sl_tui_comparison *c = take(sizeof *c);
    c->before = "/home/user/projects/language-models/stormlog-runs/20261115-235959-eval";
    c->after = "/home/user/projects/language-models/stormlog-runs/latest";
    c->lines[c->line_cnt++] = "before: Healthy: no leak, no failed request";
    c->lines[c->line_cnt++] =
        "after:  Leak: train.py:42 in train_step leaks 51.2 MiB per step (41.0 GiB so far)";
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        must(sl_vec_push(&c->rows, rows[i]));
    return c;
}

static sl_tui_follow *make_follow(const sl_tui_source *source) {
    sl_tui_follow *f = take(sizeof *f);
    f->cnt = SL_TUI_POINTS;
    memcpy(f->values, source->devices.at[0].curves[0], sizeof f->values);
    f->to_us = INT64_C(3725) * 1000000;
    f->has_time = true;
    f->now = 60 * GIB, f->peak = 64 * GIB;
    return f;
}

sl_screen *made_up_screen(void) {
    sl_screen *screen = take(sizeof *screen);
    sl_output *output = take(sizeof *output);
    screen->machine = make_machine();
    screen->jobs = make_jobs();
    screen->whole = make_source();
    screen->timeline = make_timeline(screen->whole);
    screen->whatif = make_whatif();
    snprintf(output->rows[0], sizeof output->rows[0],
             "wrote train-20261116-081500.html (1.25 MiB)");
    output->cnt = 1;
    screen->output = output;
    screen->ui = take(sizeof *screen->ui);
    screen->ui->warn_pct = 95;
    screen->ui->cursor = 350;
    fill_source(&screen->ui->source);
    screen->users = make_users();
    screen->compared = make_comparison();
    screen->follow = make_follow(screen->whole);
    return screen;
}
