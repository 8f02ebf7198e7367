/* cmd_help.c - corgi help, man, completion and version: what the tables of commands say
 *
 * base/command_texts.c makes the texts.  The build makes the man pages and the completion
 * with these; people type `man corgi-sim`, so corgi man is hidden. */
#include "corgi/commands.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

/* Print what make() says of the command that the operands name. */
static int print_about(const struct command_call *call,
                       void (*make)(struct str *out, const struct command *command,
                                    const char *path))
{
    struct str path = {0}, text = {0};
    struct err err = {0};
    int used = 0, status = 0;
    const struct command *command =
        command_find(call->root, call->operand_count, call->operands, &used, &path);

    if (used < call->operand_count) {
        command_unknown(command, str_text(&path), call->operands[used], &err);
        status = command_failed(call, &err);
    } else {
        make(&text, command, str_text(&path));
        fputs(str_text(&text), stdout);
    }
    str_fini(&path);
    str_fini(&text);
    return status;
}

static int run_help(struct command_call *call)
{
    return print_about(call, command_help_text);
}

const struct command cmd_help = {
    .name = "help",
    .summary = "explain a command",
    .operands = "[COMMAND]...",
    .examples = "corgi help completion",
    .run = run_help,
};

/* ---- man pages --------------------------------------------------------------------- */

struct man_args {
    const char *out;
};

static const struct option_spec man_options[] = {
    OPT(struct man_args, out, STRING, "out", 0, "DIR",
        "write the pages of all commands there"),
    {0},
};

struct man_pages {
    const char *dir;
    struct err err;
};

/* Of "corgi sim" to "DIR/corgi-sim.1". */
static int write_page(void *ctx, const struct command *command, const char *path)
{
    struct man_pages *pages = ctx;
    struct str name = {0}, page = {0};
    char *file;
    int rc;

    str_addf(&name, "%s.1", path);
    for (size_t i = 0; i < name.length; i++)
        if (name.text[i] == ' ')
            name.text[i] = '-';
    file = file_join(pages->dir, str_text(&name));
    command_man_page(&page, command, path);
    rc = file_write(file, str_text(&page), page.length, &pages->err);
    free(file);
    str_fini(&name);
    str_fini(&page);
    return rc;
}

static int run_man(struct command_call *call)
{
    const struct man_args *args = call->args;
    struct man_pages pages = {.dir = args->out};

    if (!args->out)
        return print_about(call, command_man_page);
    if (call->operand_count)
        return command_wrong_use(call, "--out writes all pages and takes no command");
    if (file_make_dirs(args->out, &pages.err) < 0 ||
        command_visit(call->root, call->root->name, write_page, &pages) < 0)
        return command_failed(call, &pages.err);
    return 0;
}

const struct command cmd_man = {
    .name = "man",
    .summary = "print the man page of a command",
    .operands = "[COMMAND]...",
    .options = man_options,
    .args_size = sizeof(struct man_args),
    .hidden = true,
    .run = run_man,
};

/* ---- completion -------------------------------------------------------------------- */

static int run_completion(struct command_call *call)
{
    struct str script = {0};
    struct err err = {0};

    if (command_completion_script(&script, call->root, call->operands[0], &err) < 0)
        return command_failed(call, &err);
    fputs(str_text(&script), stdout);
    str_fini(&script);
    return 0;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .help =
        "Print a script that completes Corgi's commands and options, and asks the daemon "
        "for jobs, nodes, GPUs and types; where files are wanted, files.\n\n"
        "In zsh `source <(corgi completion zsh)` does it after compinit; fish reads "
        "`corgi completion fish | source`.  The packages install all three.",
    .examples = "source <(corgi completion bash)\n"
                "corgi completion fish > corgi.fish",
    .operands = "bash|zsh|fish",
    .run = run_completion,
};

/* ---- version ----------------------------------------------------------------------- */

static int run_version(struct command_call *call)
{
    printf("%s %s\n", call->root->name, CORGI_VERSION);
    return 0;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "show the version",
    .run = run_version,
};
