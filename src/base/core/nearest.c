/* SPDX-License-Identifier: MIT */
#include "base/core/nearest.h"

#include <stdio.h>
#include <string.h>

#include "base/core/order.h"

/* Optimal string alignment with three rows: enough, because a swap looks back two rows. */
size_t sl_edit_distance(const char *a, const char *b) {
    size_t rows[3][SL_NEAREST_CAP];
    size_t a_len = strnlen(a, SL_NEAREST_CAP - 1), b_len = strnlen(b, SL_NEAREST_CAP - 1);
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = before[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = sl_min_size(change, sl_min_size(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = sl_min_size(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* A third of the letters may be wrong; beyond that a suggestion is noise. A word that begins like
 * a candidate is near, too: people write --form for --format. */
static bool is_near(const char *word, const char *candidate, size_t distance) {
    size_t len = strlen(word);
    if (len >= 2 && strncmp(word, candidate, len) == 0)
        return true;
    return distance <= (len + 2) / 3;
}

void sl_nearest_offer(sl_nearest *search, sl_str candidate) {
    char text[SL_NEAREST_CAP];
    snprintf(text, sizeof text, "%.*s", (int)candidate.len, candidate.ptr);
    size_t distance = sl_edit_distance(search->word, text);
    if (!is_near(search->word, text, distance))
        return;
    if (search->best[0] && search->best_distance <= distance)
        return;
    memcpy(search->best, text, sizeof text);
    search->best_distance = distance;
}
