/* SPDX-License-Identifier: MIT */
#include "tui/facts/machine_facts.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "counters/counters.h"

/* Opened once: the driver's library stays loaded. */
static const sl_counters_ops *open_cards(sl_tui_machine *machine) {
    static const sl_counters_ops *cards;
    static bool is_tried;
    static sl_error why;
    if (!is_tried)
        cards = sl_counters_open(&why);
    is_tried = true;
    snprintf(machine->no_cards, sizeof machine->no_cards, "%s", cards ? "" : why.text);
    return cards;
}

static void read_cards(sl_tui_machine *machine) {
    const sl_counters_ops *ops = open_cards(machine);
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
