/* SPDX-License-Identifier: MIT */
/* A program that uses only the public header and libstormlog.so. Prints TAP. Strict C99.
 * Arguments: a snapshot, and a file that is not one. */
#include <stdio.h>
#include <stormlog/stormlog.h>
#include <string.h>

static int number, failures;

static void check(int is_right, const char *what) {
    printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++number, what);
    failures += !is_right;
}

static void report(const sl_input *input) {
    char message[SL_MESSAGE_CAP] = "", *json = NULL;
    sl_report_options options = {0};
    check(sl_input_report_json(input, NULL, &json, message, sizeof message) == 0, "a report");
    check(json && strstr(json, "\"schema\": \"stormlog.report/1\""), "it is the JSON report");
    check(json && strstr(json, "\"verdict\": \"leak\""), "it has the verdict");
    sl_text_free(json);

    options.struct_size = sizeof options;
    options.has_device = 1;
    options.device = 7;
    check(sl_input_report_json(input, &options, &json, message, sizeof message) < 0 && !json,
          "a device that is not there");
    check(strchr(message, '7') != NULL, "is named in the message");

    options.has_device = 0;
    options.filter = "(";
    check(sl_input_report_json(input, &options, &json, message, sizeof message) < 0,
          "a bad filter");

    /* A caller built with an older header: fields after its struct_size are not read. */
    options.struct_size = (uint32_t)offsetof(sl_report_options, filter);
    check(sl_input_report_json(input, &options, &json, NULL, 0) == 0,
          "a shorter struct of options");
    sl_text_free(json);
}

int main(int argc, char **argv) {
    char message[SL_MESSAGE_CAP] = "";
    sl_input *input = NULL;
    if (argc != 3)
        return 2;
    check(strcmp(sl_version(), SL_VERSION_STRING) == 0, "version");
    check(sl_abi_version() == SL_ABI_VERSION, "version of the interface");
    check(sl_input_open(argv[1], &input, message, sizeof message) == 0 && input, "open");
    if (!input)
        return printf("# %s\n", message), 1;
    check(sl_input_event_count(input) > 1000, "events");
    report(input);
    sl_input_close(input);

    check(sl_input_open(argv[2], &input, message, sizeof message) < 0 && !input, "a foreign file");
    check(strstr(message, argv[2]) != NULL, "is named in the message");
    check(sl_input_open("/no/such/file", &input, NULL, 0) < 0, "no room for a message is fine");
    sl_input_close(NULL);
    sl_text_free(NULL);
    printf("1..%d\n", number);
    return failures != 0;
}
