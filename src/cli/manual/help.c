/* SPDX-License-Identifier: MIT */
#include "cli/manual/help.h"

#include <ctype.h>
#include <string.h>

#include "base/text/term.h"

/* Where the second column of a list starts, and where on a narrow terminal. */
#define HELP_COLUMN   24
#define NARROW_COLUMN 8
#define HEAD_CAP      128
/* Longer paragraphs than this are cut; a test walks the table. */
#define PARAGRAPH_CAP 1600

bool sl_help_paragraph(const char **at, char *buf, size_t cap) {
    if (!*at || !**at)
        return false;
    const char *end = strstr(*at, "\n\n");
    size_t len = end ? (size_t)(end - *at) : strlen(*at);
    snprintf(buf, cap, "%.*s", (int)len, *at);
    *at = end ? end + 2 : *at + len;
    return true;
}

static void print_paragraphs(FILE *to, const char *text, const char *lead) {
    char paragraph[PARAGRAPH_CAP];
    sl_wrap how = {.first = lead, .rest = lead};
    while (sl_help_paragraph(&text, paragraph, sizeof paragraph)) {
        putc('\n', to);
        sl_term_wrap(to, &how, paragraph);
    }
}

void sl_help_option_head(const sl_opt *opt, char *buf, size_t cap) {
    const char *metavar = sl_opt_metavar(opt);
    char letter[8] = "";
    if (opt->short_name)
        snprintf(letter, sizeof letter, "-%c, ", opt->short_name);
    snprintf(buf, cap, "%s--%s%s%s", letter, opt->name, *metavar ? " " : "", metavar);
}

/* "  head      text", the text on a line of its own where the head is too long. */
static void print_entry(FILE *to, const char *head, const char *text) {
    static const char spaces[HELP_COLUMN + 1] = "                        ";
    char first[HEAD_CAP];
    bool is_narrow = sl_term_columns() < SL_TERM_NARROW;
    size_t column = is_narrow ? NARROW_COLUMN : HELP_COLUMN;
    const char *indent = spaces + HELP_COLUMN - column;
    bool fits = strlen(head) + 4 <= column;
    if (!fits)
        sl_term_wrap(to, &(sl_wrap){.first = "  ", .rest = "      "}, head);
    snprintf(first, sizeof first, "  %-*s", (int)column - 2, head);
    sl_term_wrap(to, &(sl_wrap){.first = fits ? first : indent, .rest = indent}, text);
}

void sl_help_sentence(const char *phrase, char *buf, size_t cap) {
    snprintf(buf, cap, "%s.", phrase);
    buf[0] = (char)toupper((unsigned char)buf[0]);
}

void sl_help_option_text(const sl_opt *opt, char *buf, size_t cap) {
    if (opt->initial)
        snprintf(buf, cap, "%s (default: %s)", opt->help, opt->initial);
    else
        snprintf(buf, cap, "%s%s", opt->help, opt->is_repeated ? " (may be repeated)" : "");
}

static void print_option(FILE *to, const sl_opt *opt) {
    char head[HEAD_CAP], text[PARAGRAPH_CAP];
    sl_help_option_head(opt, head, sizeof head);
    sl_help_option_text(opt, text, sizeof text);
    print_entry(to, head, text);
}

/* Examples keep their lines. */
static void print_examples(FILE *to, const char *examples) {
    fputs("\nexamples:\n", to);
    while (*examples) {
        size_t len = strcspn(examples, "\n");
        fprintf(to, "  %.*s\n", (int)len, examples);
        examples += len + (examples[len] == '\n');
    }
}

static void print_sentence(FILE *to, const char *phrase) {
    char text[PARAGRAPH_CAP];
    sl_help_sentence(phrase, text, sizeof text);
    sl_term_wrap(to, &(sl_wrap){0}, text);
}

void sl_help_command(FILE *to, const sl_program *program, const sl_cmd *cmd) {
    char usage[HEAD_CAP];
    snprintf(usage, sizeof usage, "usage: %s %s%s%s%s", program->name, cmd->name,
             cmd->option_cnt ? " [options]" : "", *cmd->operands ? " " : "", cmd->operands);
    sl_term_wrap(to, &(sl_wrap){.rest = "       "}, usage);
    putc('\n', to);
    print_sentence(to, cmd->summary);
    print_paragraphs(to, cmd->description, "");
    fputs("\noptions:\n", to);
    for (size_t i = 0; i < cmd->option_cnt; i++)
        print_option(to, &cmd->options[i]);
    print_entry(to, "-h, --help", "print this help");
    if (cmd->examples)
        print_examples(to, cmd->examples);
}

void sl_help_program(FILE *to, const sl_program *program) {
    fprintf(to, "usage: %s COMMAND [options]\n\n", program->name);
    print_sentence(to, program->summary);
    print_paragraphs(to, program->description, "");
    fputs("\ncommands:\n", to);
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            print_entry(to, program->cmds[i]->name, program->cmds[i]->summary);
    fputs("\noptions:\n", to);
    print_entry(to, "-h, --help", "print this help; after a command, its help");
    print_entry(to, "-V, --version", "print the version");
    fputs("\nexit codes:\n", to);
    if (program->is_compat) {
        fputs("  0  done, or stopped by Ctrl+C\n  1  it failed\n"
              "  2  usage error; diagnose: memory is at risk\n",
              to);
        return;
    }
    for (size_t i = 0; i < sl_exit_row_cnt; i++) {
        char first[16];
        snprintf(first, sizeof first, "  %d  ", sl_exit_rows[i].code);
        sl_term_wrap(to, &(sl_wrap){.first = first, .rest = "     "}, sl_exit_rows[i].meaning);
    }
}
