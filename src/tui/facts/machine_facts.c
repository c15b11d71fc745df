/* SPDX-License-Identifier: MIT */
#include "tui/facts/machine_facts.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Opened once: the driver's library stays loaded. */
const sl_counters_ops *sl_machine_cards(const char **why) {
    static const sl_counters_ops *cards;
    static bool is_tried;
    static sl_error err;
    if (!is_tried)
        cards = sl_counters_open(&err);
    is_tried = true;
    if (why)
        *why = cards ? "" : err.text;
    return cards;
}

static void read_cards(sl_tui_machine *machine) {
    const char *why;
    const sl_counters_ops *ops = sl_machine_cards(&why);
    snprintf(machine->no_cards, sizeof machine->no_cards, "%s", why);
    int cnt = ops ? ops->count() : 0;
    machine->card_cnt = 0;
    for (int i = 0; i < cnt && machine->card_cnt < SL_TUI_CARDS_MAX; i++) {
        sl_device_sample sample = {0};
        if (ops->read(i, &sample, NULL) < 0)
            continue;
        machine->cards[machine->card_cnt++] =
            (sl_tui_card){.number = i,
                          .used = sample.used_bytes,
                          .total = sample.total_bytes,
                          .utilization_pct = sample.utilization_pct,
                          .temperature_c = sample.temperature_c,
                          .power_mw = sample.power_mw};
    }
}

void sl_machine_facts_read(sl_tui_machine *machine) {
    struct utsname name;
    sl_host_sample host = {0};
    if (uname(&name) == 0) {
        snprintf(machine->host, sizeof machine->host, "%.70s", name.nodename);
        snprintf(machine->system, sizeof machine->system, "%.40s %.60s, %.40s", name.sysname,
                 name.release, name.machine);
    }
    machine->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    sl_counters_read_host(&host);
    machine->memory_total = host.total_bytes;
    machine->memory_available = host.available_bytes;
    read_cards(machine);
}
