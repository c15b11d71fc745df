/* SPDX-License-Identifier: MIT */
/* Completion scripts for three shells, drawn from the command table. A script serves all three
 * programs; `make install` gives it their names. */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"

static const sl_opt help_row = {
    .name = "help", .short_name = 'h', .type = SL_OPT_FLAG, .help = "print the help text"};

/* One command of one program. */
typedef struct place {
    const sl_program *program;
    const sl_cmd *cmd;
} place;

typedef void option_fn(place at, const sl_opt *opt);

static void each_option(place at, option_fn *visit) {
    for (size_t i = 0; i < at.cmd->option_cnt; i++)
        visit(at, &at.cmd->options[i]);
    visit(at, &help_row);
}

typedef void command_fn(place at);

static void each_command(const sl_program *program, command_fn *visit) {
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            visit((place){program, program->cmds[i]});
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

static void bash_option_word(place at, const sl_opt *opt) {
    SL_UNUSED(at);
    printf(" --%s", opt->name);
}

static void bash_value_case(place at, const sl_opt *opt) {
    if (opt->type == SL_OPT_FLAG)
        return;
    printf("    %s:--%s", at.cmd->name, opt->name);
    if (opt->short_name)
        printf("|%s:-%c", at.cmd->name, opt->short_name);
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

static void bash_command_values(place at) {
    each_option(at, bash_value_case);
}

static void bash_command_case(place at) {
    printf("    %s) words='", at.cmd->name);
    if (at.cmd->operand_choices)
        put_choices(at.cmd->operand_choices, ' ');
    each_option(at, bash_option_word);
    puts("' ;;");
}

static void bash_command_word(place at) {
    printf(" %s", at.cmd->name);
}

static void write_bash(const sl_program *program) {
    const char *name = program->name;
    printf("# bash completion for %s; source it, or install it as completions/%s\n", name, name);
    printf("_%s() {\n", name);
    puts("  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("    COMPREPLY=($(compgen -W '--help --version", stdout);
    each_command(program, bash_command_word);
    puts("' -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}:$prev\" in");
    each_command(program, bash_command_values);
    puts("  esac\n  case \"${COMP_WORDS[1]}\" in");
    each_command(program, bash_command_case);
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

static void zsh_option(place at, const sl_opt *opt) {
    SL_UNUSED(at);
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

static void zsh_command_case(place at) {
    printf("    %s)\n      _arguments \\\n", at.cmd->name);
    each_option(at, zsh_option);
    fputs("        '*:operand:", stdout);
    if (at.cmd->operand_choices) {
        putchar('(');
        put_choices(at.cmd->operand_choices, ' ');
        putchar(')');
    } else {
        fputs("_files", stdout);
    }
    puts("' ;;");
}

static void zsh_command_row(place at) {
    printf("    '%s:", at.cmd->name);
    put_zsh_help(at.cmd->summary);
    puts("'");
}

static void write_zsh(const sl_program *program) {
    printf("_%s() {\n  local -a commands\n  commands=(\n", program->name);
    each_command(program, zsh_command_row);
    puts("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in");
    each_command(program, zsh_command_case);
    puts("  esac\n}");
}

/* zsh reads the names in the first line of the file and calls it with $service set to one of
 * them. */
static void zsh_begin(void) {
    fputs("#compdef", stdout);
    for (size_t i = 0; i < sl_program_cnt; i++)
        printf(" %s", sl_programs[i].name);
    putchar('\n');
}

static void zsh_end(void) {
    puts("_$service \"$@\"");
}

static void fish_option(place at, const sl_opt *opt) {
    printf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", at.program->name,
           at.cmd->name, opt->name);
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

static void fish_command(place at) {
    const char *name = at.program->name;
    printf("complete -c %s -n __fish_use_subcommand -f -a %s -d '", name, at.cmd->name);
    put_quoted(at.cmd->summary, "\\'");
    puts("'");
    if (at.cmd->operand_choices) {
        printf("complete -c %s -n '__fish_seen_subcommand_from %s' -f -a '", name, at.cmd->name);
        put_choices(at.cmd->operand_choices, ' ');
        puts("'");
    }
    each_option(at, fish_option);
}

static void write_fish(const sl_program *program) {
    printf("# fish completion for %s\n", program->name);
    each_command(program, fish_command);
}

static void put_nothing(void) {
}

static const struct {
    const char *name;
    void (*begin)(void), (*write)(const sl_program *), (*end)(void);
} shells[] = {
    {"bash", put_nothing, write_bash, put_nothing},
    {"zsh", zsh_begin, write_zsh, zsh_end},
    {"fish", put_nothing, write_fish, put_nothing},
};

static int run(const sl_opts *opts, sl_error *err) {
    const char *shell = opts->operands.at[0];
    for (size_t i = 0; i < SL_COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].begin();
            for (size_t j = 0; j < sl_program_cnt; j++)
                shells[i].write(&sl_programs[j]);
            shells[i].end();
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
        "Load it in the running shell. It completes stormlog, gpumemprof and tfmemprof. `make "
        "install` installs the scripts for all three shells.",
    .examples = "source <(stormlog completion bash)\n"
                "stormlog completion fish > ~/.config/fish/completions/stormlog.fish\n",
    .run = run,
};
