/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/manual/help.h"
#include "cli/manual/manual.h"

#define PARAGRAPH_CAP 1600

/* Text outside of code: `<` would begin an HTML element, and `|` ends a cell of a table. */
static void put_words(FILE *to, const char *text, const char *escaped) {
    bool is_code = false;
    for (; *text; text++) {
        is_code ^= *text == '`';
        if (strchr(escaped, *text) && (*text == '|' || !is_code))
            putc('\\', to);
        putc(*text, to);
    }
}

static void put_option_row(FILE *to, const sl_opt *opt) {
    char head[128], text[PARAGRAPH_CAP];
    sl_help_option_head(opt, head, sizeof head);
    fputs("| `", to);
    put_words(to, head, "|");
    fputs("` | ", to);
    sl_help_option_text(opt, text, sizeof text);
    put_words(to, text, "|<");
    fputs(" |\n", to);
}

static void write_command(FILE *to, const char *mark, const sl_program *program,
                          const sl_cmd *cmd) {
    char sentence[PARAGRAPH_CAP];
    sl_help_sentence(cmd->summary, sentence, sizeof sentence);
    fprintf(to, "%s %s %s\n\n%s\n\n```text\n%s %s%s%s%s\n```\n", mark, program->name, cmd->name,
            sentence, program->name, cmd->name, cmd->option_cnt ? " [options]" : "",
            *cmd->operands ? " " : "", cmd->operands);
    if (cmd->description) {
        putc('\n', to);
        put_words(to, cmd->description, "<");
        putc('\n', to);
    }
    fputs("\n| option | meaning |\n| --- | --- |\n", to);
    for (size_t i = 0; i < cmd->option_cnt; i++)
        put_option_row(to, &cmd->options[i]);
    fputs("| `-h, --help` | print the help text |\n", to);
    if (cmd->examples)
        fprintf(to, "\n#%s Examples\n\n```sh\n%s%s```\n", mark, cmd->examples,
                cmd->examples[strlen(cmd->examples) - 1] == '\n' ? "" : "\n");
}

static void write_index(FILE *to, const sl_program *program) {
    fprintf(to, "# Commands\n\nThese pages are printed by the program from its command table: "
                "`build/stormlog __doc --dir docs/cli`.\n\n| command | does |\n| --- | --- |\n");
    for (size_t i = 0; i < program->cmd_cnt; i++) {
        const sl_cmd *cmd = program->cmds[i];
        if (!cmd->is_hidden)
            fprintf(to, "| [`%s`](%s.md) | %s |\n", cmd->name, cmd->name, cmd->summary);
    }
    for (size_t i = 1; i < sl_program_cnt; i++)
        fprintf(to, "| [`%s`](%s.md) | %s |\n", sl_programs[i].name, sl_programs[i].name,
                sl_programs[i].summary);
    fputs("\n| exit code | means |\n| --- | --- |\n", to);
    for (size_t i = 0; i < sl_exit_row_cnt; i++)
        fprintf(to, "| %d | %s |\n", sl_exit_rows[i].code, sl_exit_rows[i].meaning);
}

/* The programs that replace others have few commands: one page has all of them. */
static void write_whole(FILE *to, const sl_program *program) {
    char sentence[PARAGRAPH_CAP];
    sl_help_sentence(program->summary, sentence, sizeof sentence);
    fprintf(to, "# %s\n\n%s\n", program->name, sentence);
    for (size_t i = 0; i < program->cmd_cnt; i++) {
        putc('\n', to);
        write_command(to, "##", program, program->cmds[i]);
    }
}

static void write_markdown(FILE *to, const sl_program *program, const sl_cmd *cmd) {
    if (cmd)
        write_command(to, "#", program, cmd);
    else if (program->is_compat)
        write_whole(to, program);
    else
        write_index(to, program);
}

const sl_manual_kind sl_manual_markdown = {
    .program_file = "README.md",
    .other_file = "%s.md",
    .command_file = "%s.md",
    .write = write_markdown,
};
