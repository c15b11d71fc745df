/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "record/hooks/hook_table.h"
#include "sltest.h"

static void every_row_is_complete_and_unique(void **state) {
    (void)state;
    for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
        const sl_hook *hook = &sl_hooks[i];
        assert_non_null(hook->replacement);
        assert_true(hook->symbol[0] && hook->library && hook->meaning[0]);
        assert_non_null(strchr(SL_HOOK_FIRST_LETTERS, hook->symbol[0]));
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(hook->symbol, sl_hooks[j].symbol);
            assert_ptr_not_equal(hook->replacement, sl_hooks[j].replacement);
        }
    }
}

/* The length prefix of an Itanium name counts the letters of the function; a wrong one never binds. */
static void mangled_names_are_well_formed(void **state) {
    (void)state;
    for (unsigned i = 0; i < SL_HOOK_CNT; i++) {
        const char *at = strstr(sl_hooks[i].symbol, "_ZN3c10");
        if (!at)
            continue;
        at += strlen("_ZN3c10");
        while (*at >= '0' && *at <= '9') {
            size_t len = strtoul(at, (char **)&at, 10);
            assert_true(strlen(at) > len);
            for (size_t c = 0; c < len; c++)
                assert_true(isalpha((unsigned char)at[c]) || at[c] == '_');
            at += len;
        }
        assert_int_equal(*at, 'E');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete_and_unique),
        cmocka_unit_test(mangled_names_are_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
