/* cmd_man.c - corgi man: the man pages, for the build
 *
 * Hidden: people type `man corgi-sim`, which shows what the build made with this. */
#include "corgi/commands.h"

#include "base/command_man.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

struct man_args {
    const char *out;
};

static const struct option_spec options[] = {
    {.name = "out",
     .type = OPTION_STRING,
     .argument = "DIR",
     .offset = offsetof(struct man_args, out),
     .help = "write the pages of all commands there"},
    {0},
};

static int print_page(const struct command_call *call)
{
    struct str path = {0}, page = {0};
    struct err err = {0};
    int used = 0, status = 0;
    const struct command *command =
        command_find(call->root, call->operand_count, call->operands, &used, &path);

    if (used < call->operand_count) {
        command_unknown(command, str_text(&path), call->operands[used], &err);
        status = command_failed(call, &err);
    } else {
        command_man_page(&page, command, str_text(&path));
        fputs(str_text(&page), stdout);
    }
    str_fini(&path);
    str_fini(&page);
    return status;
}

/* "corgi sim" -> "DIR/corgi-sim.1" */
static char *page_file(const char *dir, const char *path)
{
    struct str name = {0};
    char *file;

    str_addf(&name, "%s.1", path);
    for (size_t i = 0; i < name.length; i++)
        if (name.text[i] == ' ')
            name.text[i] = '-';
    file = file_join(dir, str_text(&name));
    str_fini(&name);
    return file;
}

static int write_page(const struct command *command, const char *dir, const char *path,
                      struct err *err)
{
    struct str page = {0};
    char *file = page_file(dir, path);
    int rc;

    command_man_page(&page, command, path);
    rc = file_write(file, str_text(&page), page.length, err);
    free(file);
    str_fini(&page);
    return rc;
}

static int write_pages(const struct command *command, const char *dir, const char *path,
                       struct err *err)
{
    int rc = write_page(command, dir, path, err);

    for (int i = 0; rc == 0 && command->children && command->children[i]; i++) {
        struct str child = {0};

        if (command->children[i]->hidden)
            continue;
        str_addf(&child, "%s %s", path, command->children[i]->name);
        rc = write_pages(command->children[i], dir, str_text(&child), err);
        str_fini(&child);
    }
    return rc;
}

static int run(struct command_call *call)
{
    const struct man_args *args = call->args;
    struct err err = {0};

    if (!args->out)
        return print_page(call);
    if (call->operand_count)
        return command_wrong_use(call, "--out writes all pages and takes no command");
    if (file_make_dirs(args->out, &err) < 0 ||
        write_pages(call->root, args->out, call->root->name, &err) < 0)
        return command_failed(call, &err);
    return 0;
}

const struct command cmd_man = {
    .name = "man",
    .summary = "print the man page of a command",
    .operands = "[COMMAND]...",
    .operand_max = -1,
    .options = options,
    .args_size = sizeof(struct man_args),
    .hidden = true,
    .run = run,
};
