/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <string.h>

#include "record/hooks/elf_view.h"
#include "sltest.h"

static const char here; /* an address in this program */

/* dlsym is the reference. */
static void finds_the_symbols_that_the_dynamic_linker_finds(void **state) {
    (void)state;
    static const char *const names[] = {"malloc", "getpid", "qsort", "strtoull", "fopen"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        assert_ptr_equal(sl_elf_find_original(names[i], &here), dlsym(RTLD_NEXT, names[i]));
    assert_null(sl_elf_find_original("no_library_defines_this", &here));
}

static int check_view(const sl_elf_view *view, void *cnt) {
    assert_true(view->low < view->high);
    assert_true(sl_elf_contains(view, view->symbols));
    assert_null(sl_elf_find_symbol(view, "no_library_defines_this"));
    assert_null(strchr(sl_elf_name(view), '/'));
    ++*(int *)cnt;
    return 0;
}

static void walks_all_objects(void **state) {
    (void)state;
    int cnt = 0;
    assert_int_equal(sl_elf_each(check_view, &cnt), 0);
    assert_true(cnt >= 3); /* the program, libc, the loader */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_symbols_that_the_dynamic_linker_finds),
        cmocka_unit_test(walks_all_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
