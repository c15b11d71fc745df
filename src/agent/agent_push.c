/* SPDX-License-Identifier: MIT */
/* Pushing: one request after the other from where the sink's cursors are. Nothing is kept between two tries: after a
 * failure the points are read again from the recordings. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "agent/agent_impl.h"
#include "base/core/order.h"
#include "base/core/str.h"

/* Bytes of a request before compression. */
#define REQUEST_MAX ((size_t)1 << 20)

/* What one recording has in the request under way. */
typedef struct part {
    sl_agent_member *member;
    int64_t next_ms;
    size_t cnt;
    bool is_complete;
} part;

typedef struct request {
    SL_VEC(part) parts;
    size_t point_cnt;
    sl_agent_body body;
    bool has_more; /* recordings have further points already */
} request;

static void free_request(request *r) {
    sl_vec_free(&r->parts);
    free(r->body.bytes);
}

/* ---- gathering ---- */

static sl_status add_member(sl_agent_sink *sink, sl_agent_member *member, sl_agent_points *points,
                            request *r, sl_error *err) {
    sl_agent_progress *progress = &member->sinks[sink->idx];
    size_t left = sink->limit - r->point_cnt;
    SL_TRY(sl_agent_rank_refresh(member->rank, err));
    SL_TRY(sl_agent_rank_next(member->rank, &progress->walk, sink->agent->options->interval_ms,
                              left, points, err));
    if (points->cnt == 0) {
        progress->is_done = points->is_complete;
        return SL_OK;
    }
    part p = {member, points->next_ms, points->cnt, points->is_complete};
    SL_TRY(sl_agent_encoder_add(sink->encoder, member->rank, points, err));
    if (!sl_vec_push(&r->parts, p))
        return sl_fail_no_memory(err, "a request");
    member->busy++;
    r->point_cnt += points->cnt;
    r->has_more |= !points->is_edge;
    return SL_OK;
}

/* A recording that cannot be read any more does not hold up the others. */
static void drop_member(sl_agent_sink *sink, sl_agent_member *member, const sl_error *err) {
    if (!member->is_broken)
        sl__agent_say(sink->agent, "cannot read '%s': %s", member->rank->path, err->text);
    member->is_broken = true;
    sink->agent->unreadable_cnt++;
}

/* Recordings in turn, beginning after the last one of the request before. The mutex is held. */
static sl_status gather(sl_agent_sink *sink, request *r, sl_error *err) {
    sl_agent *agent = sink->agent;
    sl_agent_points points = {0};
    size_t cnt = agent->members.cnt, i;
    for (i = 0; i < cnt; i++) {
        sl_agent_member *member = agent->members.at[(sink->next_member + i) % cnt];
        sl_error failed = SL_ERROR_INIT;
        if (r->point_cnt >= sink->limit || sl_agent_encoder_size(sink->encoder) >= REQUEST_MAX) {
            r->has_more = true;
            break;
        }
        if (member->is_broken || member->sinks[sink->idx].is_done ||
            sl__agent_is_worker(agent, member))
            continue;
        if (add_member(sink, member, &points, r, &failed) < 0)
            drop_member(sink, member, &failed);
    }
    sink->next_member = cnt ? (sink->next_member + i) % cnt : 0;
    sl_agent_points_fini(&points);
    return r->parts.cnt ? sl_agent_encoder_finish(sink->encoder, &r->body, err) : SL_OK;
}

/* ---- after the answer; the mutex is held ---- */

static void keep_cursor(sl_agent_sink *sink, const sl_agent_member *member) {
    sl_agent_entry *entry = sl_agent_state_entry(&sink->agent->state, &member->rank->key);
    sl_agent_cursor *cursor = entry ? sl_agent_entry_cursor(entry, sink->id) : NULL;
    if (!cursor)
        return; /* no memory: it is sent again after a restart */
    cursor->at_ms = member->sinks[sink->idx].walk.at_ms;
    cursor->is_done = member->sinks[sink->idx].is_done;
    entry->seen_ms = sl__agent_wall_ms();
}

static void advance(sl_agent_sink *sink, const request *r) {
    for (size_t i = 0; i < r->parts.cnt; i++) {
        const part *p = &r->parts.at[i];
        p->member->sinks[sink->idx].walk.at_ms = p->next_ms;
        p->member->sinks[sink->idx].is_done = p->is_complete;
        keep_cursor(sink, p->member);
    }
}

/* Positions of a while ago: what a sink had acknowledged for so long is on its disk. */
static void roll_safe(sl_agent_sink *sink) {
    int64_t now_ms = sl__agent_mono_ms();
    if (now_ms - sink->rolled_ms < sink->agent->options->resend_ms)
        return;
    sink->rolled_ms = now_ms;
    for (size_t i = 0; i < sink->agent->members.cnt; i++) {
        sl_agent_progress *progress = &sink->agent->members.at[i]->sinks[sink->idx];
        progress->safe_ms = progress->older_ms;
        progress->older_ms = progress->walk.at_ms;
    }
}

/* VictoriaMetrics acknowledges what it has not written yet, and loses the last seconds when it is killed. Once it
 * cannot be reached, what it took last is sent again; it keeps one of two equal samples (docs/agent.md). */
static void rewind_sink(sl_agent_sink *sink) {
    if (sink->options.form != SL_AGENT_FORM_IMPORT || sink->failures > 1)
        return;
    for (size_t i = 0; i < sink->agent->members.cnt; i++) {
        sl_agent_member *member = sink->agent->members.at[i];
        sl_agent_progress *progress = &member->sinks[sink->idx];
        if (progress->safe_ms >= progress->walk.at_ms)
            continue;
        progress->walk.at_ms = progress->safe_ms;
        progress->is_done = false;
        keep_cursor(sink, member);
    }
}

static void say_once(sl_agent_sink *sink, const char *text) {
    if (strcmp(sink->last_error, text) == 0)
        return;
    snprintf(sink->last_error, sizeof sink->last_error, "%s", text);
    sl__agent_say(sink->agent, "%s", text);
}

static int64_t wait_ms(const sl_agent_sink *sink, uint32_t retry_after_s) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (uint64_t)sl__agent_mono_ms();
    return sl_http_wait_ms(&sl_http_backoff_default, sink->failures, retry_after_s, random);
}

static int64_t take_accepted(sl_agent_sink *sink, const request *r) {
    if (sink->failures)
        sl__agent_say(sink->agent, "%s takes data again", sl_agent_form_name(sink->options.form));
    sink->failures = 0;
    sink->last_error[0] = '\0';
    sink->limit = sl_min_size(sink->limit * 2, SIZE_MAX / 4);
    sink->sample_cnt += r->body.sample_cnt;
    sink->success_ms = sl__agent_wall_ms();
    advance(sink, r);
    roll_safe(sink);
    return r->has_more ? 0 : sink->agent->options->batch_ms;
}

/* The sink cannot take anything now, or nothing from us: the recordings keep it. */
static int64_t take_failure(sl_agent_sink *sink, const sl_http_response *response,
                            const char *text) {
    sink->failures++;
    sink->retry_cnt++;
    say_once(sink, text);
    rewind_sink(sink);
    return wait_ms(sink, response->retry_after_s);
}

/* The sink will never take this request: half of it, until the one point is found that it does not take. That one is
 * counted and left out. Prometheus answers so, too, for points that it has already. */
static int64_t take_refusal(sl_agent_sink *sink, const request *r, const char *text) {
    if (r->point_cnt > 1) {
        sink->limit = r->point_cnt / 2;
        sink->next_member = 0;
        for (size_t i = 0; i < sink->agent->members.cnt; i++)
            if (sink->agent->members.at[i] == r->parts.at[0].member)
                sink->next_member = i;
        return 0;
    }
    sink->refused_cnt += r->body.sample_cnt;
    say_once(sink, text);
    sink->failures = 0;
    sink->limit = 2;
    advance(sink, r);
    return 0;
}

/* 400, 413 and 422 are about the data. The others (401, 404, a redirect) are about the set-up: somebody will repair
 * it, and until then nothing is thrown away. */
static bool is_about_data(int status) {
    return status == 400 || status == 413 || status == 422;
}

static int64_t judge(sl_agent_sink *sink, const request *r, sl_status sent,
                     const sl_http_response *response, const sl_error *err) {
    char text[SL_ERROR_TEXT_CAP + 64], line[120];
    sl_http_first_line(response, line, sizeof line);
    if (sent < 0)
        snprintf(text, sizeof text, "cannot push: %s", err->text);
    else
        snprintf(text, sizeof text, "the sink '%s' answered %d%s%s",
                 sl_agent_form_name(sink->options.form), response->status, line[0] ? ": " : "",
                 line);
    sink->sent_bytes += response->sent_bytes;
    sink->request_cnt++;
    switch (sl_http_judge(sent, response->status)) {
    case SL_HTTP_DONE: return take_accepted(sink, r);
    case SL_HTTP_REFUSED:
        if (sent == SL_OK && is_about_data(response->status))
            return take_refusal(sink, r, text);
        return take_failure(sink, response, text);
    default: return take_failure(sink, response, text);
    }
}

static int64_t send_request(sl_agent_sink *sink, const request *r) {
    sl_agent *agent = sink->agent;
    sl_error err = SL_ERROR_INIT;
    sl_http_response response;
    sl_http_request post = {.method = "POST",
                            .url = sink->options.url,
                            .headers = r->body.headers,
                            .body = {r->body.bytes, r->body.len}};
    sl_status sent = sl_http_send(sink->http, &post, &response, &err);
    pthread_mutex_lock(&agent->mutex);
    int64_t wait = judge(sink, r, sent, &response, &err);
    for (size_t i = 0; i < r->parts.cnt; i++)
        r->parts.at[i].member->busy--;
    pthread_mutex_unlock(&agent->mutex);
    sl_http_response_fini(&response);
    sl__agent_save(agent);
    return wait;
}

int64_t sl__agent_push(sl_agent_sink *sink) {
    sl_agent *agent = sink->agent;
    request r = {0};
    sl_error err = SL_ERROR_INIT;
    pthread_mutex_lock(&agent->mutex);
    sl_status status = gather(sink, &r, &err);
    sink->is_idle = r.parts.cnt == 0;
    for (size_t i = 0; status < 0 && i < r.parts.cnt; i++)
        r.parts.at[i].member->busy--;
    if (status < 0)
        say_once(sink, err.text);
    pthread_mutex_unlock(&agent->mutex);
    int64_t wait =
        status == SL_OK && r.parts.cnt ? send_request(sink, &r) : agent->options->batch_ms;
    free_request(&r);
    return wait;
}

/* ---- a sink ---- */

sl_status sl__agent_sink_open(sl_agent *agent, size_t idx, sl_error *err) {
    sl_agent_sink *sink = &agent->sinks[idx];
    uint32_t request_ms = agent->options->request_ms;
    if (agent->options->is_once) /* the last request begins within the limit, and ends soon after */
        request_ms = (uint32_t)sl_min_u64(request_ms, (uint64_t)agent->options->once_ms);
    *sink = (sl_agent_sink){.agent = agent,
                            .idx = idx,
                            .options = agent->options->sinks[idx],
                            .limit = SIZE_MAX / 4,
                            .rolled_ms = sl__agent_mono_ms()};
    sink->id = sl_agent_sink_id(sl_agent_form_name(sink->options.form), sink->options.url);
    sl_http_options http = {.bearer_token = sink->options.bearer_token,
                            .user_password = sink->options.user_password,
                            .ca_file = sink->options.ca_file,
                            .unix_socket = sink->options.unix_socket,
                            .total_ms = request_ms};
    SL_TRY(sl_http_open(&sink->http, &http, err));
    return sl_agent_encoder_new(sink->options.form, &sink->encoder, err);
}

void sl__agent_sink_close(sl_agent_sink *sink) {
    sl_http_close(sink->http);
    sl_agent_encoder_free(sink->encoder);
}
