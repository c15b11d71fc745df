/* SPDX-License-Identifier: MIT */
/* What is said about a forecast, and when it is news. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/forecast/forecast.h"
#include "base/core/order.h"
#include "base/text/human.h"

const char *sl_forecast_part_name(sl_forecast_part part) {
    static const char *const names[] = {
#define SL_FORECAST_PART_NAME(id, name, words) name,
        SL_FORECAST_PART_MAP(SL_FORECAST_PART_NAME)
#undef SL_FORECAST_PART_NAME
    };
    return names[part];
}

const char *sl_forecast_part_words(sl_forecast_part part) {
    static const char *const words_of[] = {
#define SL_FORECAST_PART_WORDS(id, name, words) words,
        SL_FORECAST_PART_MAP(SL_FORECAST_PART_WORDS)
#undef SL_FORECAST_PART_WORDS
    };
    return words_of[part];
}

const char *sl_forecast_limit_name(sl_forecast_limit limit) {
    static const char *const names[] = {
#define SL_FORECAST_LIMIT_NAME(id, name, words) name,
        SL_FORECAST_LIMIT_MAP(SL_FORECAST_LIMIT_NAME)
#undef SL_FORECAST_LIMIT_NAME
    };
    return names[limit];
}

const char *sl_forecast_limit_words(sl_forecast_limit limit) {
    static const char *const words_of[] = {
#define SL_FORECAST_LIMIT_WORDS(id, name, words) words,
        SL_FORECAST_LIMIT_MAP(SL_FORECAST_LIMIT_WORDS)
#undef SL_FORECAST_LIMIT_WORDS
    };
    return words_of[limit];
}

/* "12 min ± 2": one unit for both, and no more digits than the range allows. */
static void put_time(char *buf, size_t cap, const sl_forecast_range *seconds) {
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t u = 0;
    while (u + 1 < SL_COUNT_OF(units) && seconds->value < 2 * units[u].seconds)
        u++;
    double value = seconds->value / units[u].seconds;
    double half = (seconds->high - seconds->low) / 2 / units[u].seconds;
    int digits = half < 0.95 && value < 10 ? 1 : 0;
    snprintf(buf, cap, "%.*f %s ± %.*f", digits, value, units[u].name, digits,
             fmax(half, digits ? 0.1 : 1));
}

const char *sl_forecast_text(char buf[SL_FORECAST_TEXT_CAP], const sl_forecast *f, sl_str line) {
    char time[64], bytes[SL_HUMAN_CAP];
    const char *words = sl_forecast_part_words(f->part);
    *buf = '\0';
    if (!f->is_expected)
        return buf;
    bool has_line = f->part == SL_FORECAST_TENSORS && line.len;
    put_time(time, sizeof time, &f->seconds);
    sl_human_bytes(bytes,
                   (uint64_t)(f->bytes_per_step.known ? f->bytes_per_step.value : f->bytes_per_s));
    snprintf(buf, SL_FORECAST_TEXT_CAP,
             "out of memory in %s at this rate, because of %.*s (+%s per %s)", time,
             has_line ? (int)sl_min_size(line.len, 160) : (int)strlen(words),
             has_line ? line.ptr : words, bytes, f->bytes_per_step.known ? "step" : "second");
    return buf;
}

/* ---- when to say it ---- */

/* A forecast is worse than the one that was said when memory is out this much sooner, by what was left then, and
 * sooner than its range allowed for; and when there was none for so long, the next is a new one. */
#define WORSE_SHARE 0.5
#define OVER_S      120.0

bool sl_forecast_is_news(sl_forecast_said *said, const sl_forecast *f, double now_s) {
    if (!f->is_expected) {
        said->seen_cnt = 0;
        return false;
    }
    double end_s = now_s + f->seconds.value;
    bool is_over = said->is_said && now_s - said->seen_s > OVER_S;
    bool is_worse = said->is_said && end_s < said->end_s - said->range_s &&
                    f->seconds.value < WORSE_SHARE * (said->end_s - now_s);
    said->is_said &= !is_over;
    said->seen_s = now_s;
    if (++said->seen_cnt < 2 || (said->is_said && !is_worse))
        return false;
    said->is_said = true;
    said->end_s = end_s;
    said->range_s = fmax(0, f->seconds.value - f->seconds.low);
    return true;
}
