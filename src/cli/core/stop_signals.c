/* SPDX-License-Identifier: MIT */
#include "cli/core/stop_signals.h"

#include <signal.h>

#include "base/core/sl_base.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[SL_COUNT_OF(numbers)];
static sl_stop_flag came;

static void on_signal(int number) {
    came = number;
}

const sl_stop_flag *sl_stop_signals_hold(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    came = 0;
    for (size_t i = 0; i < SL_COUNT_OF(numbers); i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* nohup */
            sigaction(numbers[i], &action, NULL);
    }
    return &came;
}

void sl_stop_signals_release(void) {
    for (size_t i = 0; i < SL_COUNT_OF(numbers); i++)
        sigaction(numbers[i], &before[i], NULL);
}

void sl_stop_signals_obey(void) {
    if (came)
        raise(came);
}
