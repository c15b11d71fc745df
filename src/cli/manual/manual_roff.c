/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "cli/manual/help.h"
#include "cli/manual/manual.h"
#include "stormlog/version.h"

#define PARAGRAPH_CAP 1600

/* Text in which nothing is a request or an escape: a dot or quote at the start of a line and every
 * backslash and dash are protected. */
static void put_text(FILE *to, const char *text) {
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            putc(*text, to);
        at_start = *text == '\n';
    }
}

static void put_line(FILE *to, const char *text) {
    put_text(to, text);
    putc('\n', to);
}

static void put_upper(FILE *to, const char *text) {
    for (; *text; text++)
        putc(toupper((unsigned char)*text), to);
}

static void put_paragraphs(FILE *to, const char *text) {
    char paragraph[PARAGRAPH_CAP];
    while (sl_help_paragraph(&text, paragraph, sizeof paragraph)) {
        fputs(".PP\n", to);
        put_line(to, paragraph);
    }
}

static void put_entry(FILE *to, const char *head, const char *text) {
    fputs(".TP\n.B ", to);
    put_line(to, head);
    put_line(to, text);
}

static void put_options(FILE *to, const sl_cmd *cmd) {
    char head[128], text[PARAGRAPH_CAP];
    for (size_t i = 0; i < cmd->option_cnt; i++) {
        sl_help_option_head(&cmd->options[i], head, sizeof head);
        sl_help_option_text(&cmd->options[i], text, sizeof text);
        put_entry(to, head, text);
    }
    put_entry(to, "-h, --help", "print the help text");
}

static void put_examples(FILE *to, const char *examples) {
    fputs(".SH EXAMPLES\n.nf\n", to);
    put_line(to, examples);
    fputs(".fi\n", to);
}

static void put_exit_codes(FILE *to) {
    char code[8];
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < sl_exit_row_cnt; i++) {
        snprintf(code, sizeof code, "%d", sl_exit_rows[i].code);
        put_entry(to, code, sl_exit_rows[i].meaning);
    }
}

static void put_command_list(FILE *to, const sl_program *program) {
    char head[64];
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < program->cmd_cnt; i++) {
        const sl_cmd *cmd = program->cmds[i];
        if (cmd->is_hidden)
            continue;
        snprintf(head, sizeof head, "%s", cmd->name);
        put_entry(to, head, cmd->summary);
    }
}

/* The programs that replace others have few commands: one page has all of them. */
static void put_commands_whole(FILE *to, const sl_program *program) {
    for (size_t i = 0; i < program->cmd_cnt; i++) {
        const sl_cmd *cmd = program->cmds[i];
        fprintf(to, ".SH \"%s %s\"\n", program->name, cmd->name);
        put_paragraphs(to, cmd->description ? cmd->description : cmd->summary);
        put_options(to, cmd);
    }
    fputs(".SH SEE ALSO\n.BR stormlog (1)\n", to);
}

static void put_title(FILE *to, const sl_program *program, const sl_cmd *cmd) {
    fputs(".TH ", to);
    put_upper(to, program->name);
    if (cmd) {
        fputs("\\-", to);
        put_upper(to, cmd->name);
    }
    fprintf(to, " 1 \"\" \"stormlog %s\" \"User Commands\"\n.SH NAME\n", SL_VERSION_STRING);
    fprintf(to, "%s%s%s \\- ", program->name, cmd ? "\\-" : "", cmd ? cmd->name : "");
    put_line(to, cmd ? cmd->summary : program->summary);
}

static void write_roff(FILE *to, const sl_program *program, const sl_cmd *cmd) {
    put_title(to, program, cmd);
    fprintf(to, ".SH SYNOPSIS\n.B %s %s\n", program->name, cmd ? cmd->name : "");
    put_line(to, cmd ? "[options]" : "COMMAND [options]");
    if (cmd && *cmd->operands)
        put_line(to, cmd->operands);
    const char *description = cmd ? cmd->description : program->description;
    if (description) {
        fputs(".SH DESCRIPTION\n", to);
        put_paragraphs(to, description);
    }
    if (cmd) {
        fputs(".SH OPTIONS\n", to);
        put_options(to, cmd);
    } else {
        put_command_list(to, program);
        if (program->is_compat)
            put_commands_whole(to, program);
    }
    if (cmd && cmd->examples)
        put_examples(to, cmd->examples);
    put_exit_codes(to);
}

const sl_manual_kind sl_manual_roff = {
    .program_file = "stormlog.1",
    .other_file = "%s.1",
    .command_file = "stormlog-%s.1",
    .write = write_roff,
};
