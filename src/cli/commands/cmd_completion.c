/* SPDX-License-Identifier: MIT */
/* Completion scripts for three shells, drawn from the command table. */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"

static const sl_opt help_row = {
    .name = "help", .short_name = 'h', .type = SL_OPT_FLAG, .help = "print the help text"};

typedef void option_fn(const sl_cmd *cmd, const sl_opt *opt);

static void each_option(const sl_cmd *cmd, option_fn *visit) {
    for (size_t i = 0; i < cmd->option_cnt; i++)
        visit(cmd, &cmd->options[i]);
    visit(cmd, &help_row);
}

typedef void command_fn(const sl_cmd *cmd);

static void each_command(command_fn *visit) {
    const sl_program *program = sl_cli_program();
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            visit(program->cmds[i]);
}

/* "a|b|c" with another separator. */
static void put_choices(const char *choices, char separator) {
    for (; *choices; choices++)
        putchar(*choices == '|' ? separator : *choices);
}

/* For text between single quotes in any of the three shells. */
static void put_quoted(const char *text, const char *escaped_quote) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs(escaped_quote, stdout);
        else
            putchar(*text);
    }
}

static void bash_option_word(const sl_cmd *cmd, const sl_opt *opt) {
    SL_UNUSED(cmd);
    printf(" --%s", opt->name);
}

static void bash_value_case(const sl_cmd *cmd, const sl_opt *opt) {
    if (opt->type == SL_OPT_FLAG)
        return;
    printf("    %s:--%s", cmd->name, opt->name);
    if (opt->short_name)
        printf("|%s:-%c", cmd->name, opt->short_name);
    fputs(") ", stdout);
    if (opt->choices) {
        fputs("COMPREPLY=($(compgen -W '", stdout);
        put_choices(opt->choices, ' ');
        fputs("' -- \"$cur\"))", stdout);
    } else if (opt->type == SL_OPT_FILE) {
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", stdout);
    } else {
        fputs("COMPREPLY=()", stdout);
    }
    puts("; return ;;");
}

static void bash_command_values(const sl_cmd *cmd) {
    each_option(cmd, bash_value_case);
}

static void bash_command_case(const sl_cmd *cmd) {
    printf("    %s) words='", cmd->name);
    if (cmd->operand_choices)
        put_choices(cmd->operand_choices, ' ');
    each_option(cmd, bash_option_word);
    puts("' ;;");
}

static void bash_command_word(const sl_cmd *cmd) {
    printf(" %s", cmd->name);
}

static void write_bash(void) {
    const char *name = sl_cli_program()->name;
    printf("# bash completion for %s; source it, or install it as completions/%s\n", name, name);
    printf("_%s() {\n", name);
    puts("  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("    COMPREPLY=($(compgen -W '--help --version", stdout);
    each_command(bash_command_word);
    puts("' -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}:$prev\" in");
    each_command(bash_command_values);
    puts("  esac\n  case \"${COMP_WORDS[1]}\" in");
    each_command(bash_command_case);
    puts("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  case \"$cur\" in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$cur\")) ;; esac\n}");
    printf("complete -o filenames -F _%s %s\n", name, name);
}

/* Colons and brackets have a meaning inside an _arguments specification. */
static void put_zsh_help(const char *text) {
    for (; *text; text++) {
        if (strchr(":[]", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void zsh_option(const sl_cmd *cmd, const sl_opt *opt) {
    SL_UNUSED(cmd);
    fputs("        '", stdout);
    if (opt->is_repeated)
        putchar('*');
    printf("--%s[", opt->name);
    put_zsh_help(opt->help);
    putchar(']');
    if (opt->choices) {
        fputs(":value:(", stdout);
        put_choices(opt->choices, ' ');
        putchar(')');
    } else if (opt->type != SL_OPT_FLAG) {
        printf(":value:%s", opt->type == SL_OPT_FILE ? "_files" : "");
    }
    puts("' \\");
}

static void zsh_command_case(const sl_cmd *cmd) {
    printf("    %s)\n      _arguments \\\n", cmd->name);
    each_option(cmd, zsh_option);
    fputs("        '*:operand:", stdout);
    if (cmd->operand_choices) {
        putchar('(');
        put_choices(cmd->operand_choices, ' ');
        putchar(')');
    } else {
        fputs("_files", stdout);
    }
    puts("' ;;");
}

static void zsh_command_row(const sl_cmd *cmd) {
    printf("    '%s:", cmd->name);
    put_zsh_help(cmd->summary);
    puts("'");
}

static void write_zsh(void) {
    const char *name = sl_cli_program()->name;
    printf("#compdef %s\n_%s() {\n  local -a commands\n  commands=(\n", name, name);
    each_command(zsh_command_row);
    puts("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in");
    each_command(zsh_command_case);
    printf("  esac\n}\n_%s \"$@\"\n", name);
}

static void fish_option(const sl_cmd *cmd, const sl_opt *opt) {
    printf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", sl_cli_program()->name,
           cmd->name, opt->name);
    if (opt->short_name)
        printf(" -s %c", opt->short_name);
    if (opt->type != SL_OPT_FLAG)
        fputs(opt->type == SL_OPT_FILE ? " -r -F" : " -x", stdout);
    if (opt->choices) {
        fputs(" -a '", stdout);
        put_choices(opt->choices, ' ');
        putchar('\'');
    }
    fputs(" -d '", stdout);
    put_quoted(opt->help, "\\'");
    puts("'");
}

static void fish_command(const sl_cmd *cmd) {
    const char *name = sl_cli_program()->name;
    printf("complete -c %s -n __fish_use_subcommand -f -a %s -d '", name, cmd->name);
    put_quoted(cmd->summary, "\\'");
    puts("'");
    if (cmd->operand_choices) {
        printf("complete -c %s -n '__fish_seen_subcommand_from %s' -f -a '", name, cmd->name);
        put_choices(cmd->operand_choices, ' ');
        puts("'");
    }
    each_option(cmd, fish_option);
}

static void write_fish(void) {
    printf("# fish completion for %s\n", sl_cli_program()->name);
    each_command(fish_command);
}

static const struct {
    const char *shell;
    void (*write)(void);
} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

static int run(const sl_opts *opts, sl_error *err) {
    const char *shell = opts->operands.at[0];
    for (size_t i = 0; i < SL_COUNT_OF(shells); i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].write();
            return 0;
        }
    }
    return sl_fail(err, SL_E_USAGE, "no completion for '%s'; choose bash, zsh or fish", shell);
}

const sl_cmd sl_cmd_completion = {
    .name = "completion",
    .is_unsettable = true,
    .operands = "bash|zsh|fish",
    .operand_min = 1,
    .operand_max = 1,
    .operand_choices = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .description =
        "Load it in the running shell. `make install` installs the scripts for all three shells.",
    .examples = "source <(stormlog completion bash)\n"
                "stormlog completion fish > ~/.config/fish/completions/stormlog.fish\n",
    .run = run,
};
