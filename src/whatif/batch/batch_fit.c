/* SPDX-License-Identifier: MIT */
#include "whatif/batch/batch_fit.h"

#include <math.h>

#include "base/core/order.h"
#include "run/blocks/rounding.h"

#define BYTES_MAX ((double)((uint64_t)1 << 56))

/* The tolerance of a point: requests are exact; a block is up to 512 bytes larger, or 1 MiB if
 * the allocator does not split it. */
static double slack_of(const sl_batch_point *point) {
    if (!point->is_rounded)
        return 0.5;
    return point->bytes > SL_ALLOC_SMALL_BYTES ? (double)SL_ALLOC_SMALL_BYTES
                                               : SL_ALLOC_QUANTUM_BYTES;
}

static uint64_t to_bytes(double bytes) {
    return bytes <= 0 ? 0 : bytes >= BYTES_MAX ? (uint64_t)BYTES_MAX : (uint64_t)(bytes + 0.5);
}

/* Nearly all powers are whole numbers, and pow() would dominate the time for a long recording. */
static double raised(double base, double power) {
    return power == 0 ? 1 : power == 1 ? base : power == 2 ? base * base : pow(base, power);
}

/* bytes = c * size^power through the point. */
static double by_power(const sl_batch_point *point, double power, double size) {
    return (double)point->bytes * raised(size / (double)point->size, power);
}

/* The error of the points, as a share of the tolerance; up to 1 the law holds. */
static double power_error(const sl_batch_point *points, size_t cnt, double power) {
    const sl_batch_point *last = &points[0];
    double worst = 0;
    for (size_t i = 1; i < cnt; i++)
        last = points[i].size > last->size ? &points[i] : last;
    for (size_t i = 0; i < cnt; i++) {
        double off = fabs(by_power(last, power, (double)points[i].size) - (double)points[i].bytes);
        double allowed =
            slack_of(&points[i]) + slack_of(last) * (points[i].is_rounded || last->is_rounded);
        worst = fmax(worst, off / allowed);
    }
    return worst;
}

/* (F1): the law that fits best; SL_BATCH_OTHER when none does. */
static sl_batch_law simple_law(const sl_batch_point *points, size_t cnt) {
    sl_batch_law law = SL_BATCH_OTHER;
    double best = 1;
    for (int power = 2; power >= 0; power--) {
        double error = power_error(points, cnt, power);
        if (error > best)
            continue;
        best = error;
        law = power == 0 ? SL_BATCH_CONSTANT : power == 1 ? SL_BATCH_LINEAR : SL_BATCH_SQUARE;
    }
    return law;
}

bool sl_batch_fit_exactly(const sl_batch_point *points, size_t cnt) {
    return simple_law(points, cnt) != SL_BATCH_OTHER;
}

/* ---- two terms (F2) ---- */

/* bytes = a * size^low + b * size^high through two points. */
typedef struct two_terms {
    double a, b, low, high;
} two_terms;

static two_terms through(const sl_batch_point *p, const sl_batch_point *q, double low,
                         double high) {
    double ps = (double)p->size, qs = (double)q->size;
    double pl = raised(ps, low), ph = raised(ps, high), ql = raised(qs, low), qh = raised(qs, high);
    double b = ((double)q->bytes * pl - (double)p->bytes * ql) / (qh * pl - ph * ql);
    return (two_terms){((double)p->bytes - b * ph) / pl, b, low, high};
}

static double terms_at(const two_terms *terms, double size) {
    return terms->a * raised(size, terms->low) + terms->b * raised(size, terms->high);
}

static const double term_powers[][2] = {{0, 1}, {0, 2}, {1, 2}};

static bool holds(const two_terms *terms, const sl_batch_point *points, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        double off = fabs(terms_at(terms, (double)points[i].size) - (double)points[i].bytes);
        if (off > 2 * slack_of(&points[i]))
            return false;
    }
    return terms->a >= 0 && terms->b >= 0;
}

static bool fit_mixed(const sl_batch_point *points, size_t cnt, double size, double *bytes) {
    for (size_t i = 0; cnt >= 3 && i < SL_COUNT_OF(term_powers); i++) {
        two_terms terms =
            through(&points[0], &points[cnt - 1], term_powers[i][0], term_powers[i][1]);
        if (holds(&terms, points, cnt)) {
            *bytes = terms_at(&terms, size);
            return true;
        }
    }
    return false;
}

/* ---- no law (F3) ---- */

/* A constant part and a part that grows as the program's tensors do; if a part would be
 * negative, a steeper growth. */
static double drawn_through(const sl_batch_point *p, const sl_batch_point *q,
                            const sl_batch_point *near, double size, double growth) {
    two_terms plain = through(p, q, 0, growth), steeper = through(p, q, growth, 2 * growth);
    if (plain.a >= 0 && plain.b >= 0)
        return terms_at(&plain, size);
    if (steeper.a >= 0 && steeper.b >= 0)
        return terms_at(&steeper, size);
    return q->bytes < p->bytes ? (double)near->bytes : by_power(near, 2 * growth, size);
}

static sl_batch_estimate estimate_other(const sl_batch_point *p, const sl_batch_point *q,
                                        double size, double growth) {
    bool is_between = size > (double)p->size && size < (double)q->size;
    const sl_batch_point *near =
        fabs(log(size / (double)p->size)) < fabs(log(size / (double)q->size)) ? p : q;
    double likely = drawn_through(p, q, near, size, growth), low = (double)near->bytes, high = low;
    if (is_between) {
        low = (double)sl_min_u64(p->bytes, q->bytes);
        high = (double)sl_max_u64(p->bytes, q->bytes);
        likely = fmin(fmax(likely, low), high);
    } else {
        double grown = by_power(near, growth, size);
        low = fmin(low, grown);
        high = fmax(high, grown);
        /* If the bytes decreased, the library may return to its earlier choice. */
        if (q->bytes < p->bytes)
            high = fmax(high, by_power(p, size > (double)p->size ? growth : 0, size));
    }
    return (sl_batch_estimate){to_bytes(likely), to_bytes(fmin(low, likely)),
                               to_bytes(fmax(high, likely)), SL_BATCH_OTHER};
}

/* (F4). */
static sl_batch_estimate estimate_alone(const sl_batch_point *point, double size, double growth) {
    uint64_t grown = to_bytes(by_power(point, growth, size));
    return (sl_batch_estimate){grown, sl_min_u64(grown, point->bytes),
                               sl_max_u64(grown, point->bytes), SL_BATCH_ALONE};
}

static sl_batch_estimate exactly(uint64_t bytes, sl_batch_law law) {
    return (sl_batch_estimate){bytes, bytes, bytes, law};
}

sl_batch_estimate sl_batch_estimate_at(const sl_batch_point *points, size_t cnt, uint64_t size,
                                       double growth) {
    double at = (double)size, mixed;
    if (cnt == 1)
        return estimate_alone(&points[0], at, growth);
    sl_batch_law law = simple_law(points, cnt);
    /* A recorded size keeps its recorded bytes: they are more reliable than any law. */
    for (size_t i = 0; i < cnt; i++)
        if (points[i].size == size)
            return exactly(points[i].bytes, law);
    if (law != SL_BATCH_OTHER)
        return exactly(to_bytes(by_power(&points[cnt - 1], (double)(law - SL_BATCH_CONSTANT), at)),
                       law);
    if (fit_mixed(points, cnt, at, &mixed))
        return exactly(to_bytes(mixed), SL_BATCH_MIXED);
    size_t i = 1;
    while (i + 1 < cnt && points[i].size < size)
        i++;
    return estimate_other(&points[i - 1], &points[i], at, growth);
}
