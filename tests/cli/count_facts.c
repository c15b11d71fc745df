/* SPDX-License-Identifier: MIT */
/* The program itself, linked so that each replay, each ledger and each sweep of allocator settings
 * it makes is counted. At the end it writes one line for each device it made something of into the
 * file of COUNT_FACTS: what, input, device, how often. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/ledger.h"
#include "whatif/whatif.h"

typedef struct made {
    const char *what;
    char path[512];
    int device, cnt;
} made;

static made all[64];
static size_t all_cnt;

static void count(const char *what, const sl_trace *trace, int device) {
    char path[512];
    snprintf(path, sizeof path, "%s", trace->path);
    for (size_t i = 0; i < all_cnt; i++)
        if (all[i].what == what && all[i].device == device && strcmp(all[i].path, path) == 0) {
            all[i].cnt++;
            return;
        }
    if (all_cnt == sizeof all / sizeof all[0])
        abort();
    all[all_cnt] = (made){.what = what, .device = device, .cnt = 1};
    memcpy(all[all_cnt++].path, path, sizeof path);
}

sl_status __real_sl_replay_new(const sl_trace *, const sl_device_trace *, sl_replay **, sl_error *);
sl_status __wrap_sl_replay_new(const sl_trace *, const sl_device_trace *, sl_replay **, sl_error *);
sl_status __wrap_sl_replay_new(const sl_trace *trace, const sl_device_trace *device,
                               sl_replay **out, sl_error *err) {
    count("replay", trace, device->device);
    return __real_sl_replay_new(trace, device, out, err);
}

sl_status __real_sl_ledger_new(const sl_trace *, const sl_replay *, sl_ledger **, sl_error *);
sl_status __wrap_sl_ledger_new(const sl_trace *, const sl_replay *, sl_ledger **, sl_error *);
sl_status __wrap_sl_ledger_new(const sl_trace *trace, const sl_replay *replay, sl_ledger **out,
                               sl_error *err) {
    count("ledger", trace, replay->device->device);
    return __real_sl_ledger_new(trace, replay, out, err);
}

sl_status __real_sl_whatif_new(const sl_run_device *, const sl_whatif_options *, sl_whatif **,
                               sl_error *);
sl_status __wrap_sl_whatif_new(const sl_run_device *, const sl_whatif_options *, sl_whatif **,
                               sl_error *);
sl_status __wrap_sl_whatif_new(const sl_run_device *device, const sl_whatif_options *options,
                               sl_whatif **out, sl_error *err) {
    count("whatif", device->input->trace, device->events->device);
    return __real_sl_whatif_new(device, options, out, err);
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("COUNT_FACTS");
    FILE *out = path ? fopen(path, "w") : NULL;
    for (size_t i = 0; out && i < all_cnt; i++)
        fprintf(out, "%s\t%s\t%d\t%d\n", all[i].what, all[i].path, all[i].device, all[i].cnt);
    if (out)
        fclose(out);
}
