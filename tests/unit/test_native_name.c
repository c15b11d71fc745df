/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "read/torch/native_name.h"
#include "sltest.h"

typedef struct name_row {
    const char *symbol, *want; /* want NULL: as it is */
} name_row;

static void check(const char *symbol, const char *want) {
    char buf[SL_NATIVE_NAME_CAP];
    sl_str got = sl_native_name((sl_str){symbol, strlen(symbol)}, buf);
    if (got.len != strlen(want) || memcmp(got.ptr, want, got.len) != 0)
        fail_msg("'%s' is '%.*s', want '%s'", symbol, (int)got.len, got.ptr, want);
}

/* Names of torch 1.13, libstdc++ and C programs. */
static void reads_names(void **state) {
    (void)state;
    static const name_row rows[] = {
        {"main+0x1f", NULL},
        {"+0x1b1f8", NULL},
        {"", NULL},
        {"_Z", NULL},
        {"_Zebra+0x4", NULL},
        {"_Z3foov", "foo"},
        {"_Z3foov+0x10", "foo+0x10"},
        {"_Z3foov.cold+0x10", "foo.cold+0x10"},
        {"_ZL3foov", "foo"},
        {"_ZN2at6native4onesEN3c108ArrayRefIlEENS1_8optionalINS1_10ScalarTypeEEE+0x63",
         "at::native::ones+0x63"},
        {"_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", "c10::ProfiledCPUMemoryReporter::New"},
        {"_ZN3c1010TensorImplC2EONS_7StorageENS_14DispatchKeySetE", "c10::TensorImpl::TensorImpl"},
        {"_ZN3c1010TensorImplD0Ev", "c10::TensorImpl::~TensorImpl"},
        {"_ZN2at12_GLOBAL__N_14workEv", "at::(anonymous namespace)::work"},
        {"_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_", "std::vector<...>::push_back"},
        {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
         "std::__cxx11::basic_string<...>::append"},
        {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<<<...>"},
        {"_ZN5torch5utils4partILN3c106LayoutE6EEEvv", "torch::utils::part<...>"},
        {"_ZN1AILin5ELb1EE3runEv", "A<...>::run"},
        {"_ZNK1AclEi", "A::operator()"},
        {"_ZZN3lib4workEiENKUlvE_clEv", "lib::work::{lambda}::operator()"},
        {"_ZZZN1a1bEvENKUliE0_clEiENKUlvE_clEv",
         "a::b::{lambda}::operator()::{lambda}::operator()"},
        {"_Z7to_textB5cxx11v", "to_text[abi:cxx11]"},
        /* What is not followed stays as it is. */
        {"_ZNK3c106SymIntcvNS_8SymFloatEEv", NULL},
        {"_ZTv0_n104_NK5torch2nn10LinearImpl12pretty_printERSo", NULL},
        {"_ZN1AIXsr1BE1vEE1fEv", NULL},
        {"_ZN3foo", NULL},
        {"_ZN99fooE", NULL},
        {"_ZN999999999999999999999999999999999fooE", NULL},
        {"_ZNI", NULL},
        {"_ZNE", NULL},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        check(rows[i].symbol, rows[i].want ? rows[i].want : rows[i].symbol);
}

/* Names that make a demangler recurse or repeat itself without end. */
static void survives_hostile_names(void **state) {
    (void)state;
    static const char *const units[] = {"N",  "I", "Z",    "LN", "Ul", "1a",
                                        "S_", "E", "L1aE", "DT", "IJ"};
    enum { LEN = 60000 };
    char *text = malloc(LEN + 16), buf[SL_NATIVE_NAME_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(units); i++)
        for (size_t k = 0; k < 3; k++) {
            static const char *const starts[] = {"_Z", "_ZN1aI", "_ZZ1avE"};
            size_t len = strlen(starts[k]), unit = strlen(units[i]);
            memcpy(text, starts[k], len);
            for (; len + unit <= LEN; len += unit)
                memcpy(text + len, units[i], unit);
            sl_str got = sl_native_name((sl_str){text, len}, buf);
            assert_true(got.ptr == text || got.len <= SL_NATIVE_NAME_CAP);
        }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names),
        cmocka_unit_test(survives_hostile_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
