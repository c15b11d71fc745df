/* SPDX-License-Identifier: MIT */
/* Any bytes as the agent's cursor file: entries that print and read back the same, or one error of one line. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is written and read again. */
static void check_again(const sl_agent_state *state) {
    sl_agent_state again = {0};
    sl_error err = SL_ERROR_INIT;
    char *text = NULL;
    size_t len = 0;
    if (sl_agent_state_print(state, &text, &len, &err) < 0 ||
        sl_agent_state_parse(&again, text, len, "x", &err) < 0 ||
        again.entries.cnt != state->entries.cnt)
        abort();
    free(text);
    sl_agent_state_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_agent_state state = {0};
    sl_error err = SL_ERROR_INIT;
    sl_status status = sl_agent_state_parse(&state, (const char *)data, size, "x", &err);
    if (status == SL_OK)
        check_again(&state);
    else if (strncmp(err.text, "'x', line ", 10) != 0)
        abort();
    sl_agent_state_fini(&state);
    return 0;
}
