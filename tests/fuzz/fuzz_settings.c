/* SPDX-License-Identifier: MIT */
/* Any bytes as allocator settings: accepted and written as text that is equal, or an error. */
#include <stdlib.h>
#include <string.h>

#include "whatif/alloc/alloc_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_alloc_settings first, second;
    sl_error err = SL_ERROR_INIT;
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_init(&first);
    sl_alloc_settings_init(&second);
    if (sl_alloc_settings_parse(&first, (sl_str){(const char *)data, size}, &err) < 0) {
        if (err.text[0] == '\0' || err.position < 0 || (size_t)err.position > size ||
            !sl_alloc_settings_equal(&first, &second))
            abort();
        return 0;
    }
    sl_alloc_settings_text(text, &first);
    if (sl_alloc_settings_parse(&second, (sl_str){text, strlen(text)}, &err) < 0 ||
        !sl_alloc_settings_equal(&first, &second))
        abort();
    return 0;
}
