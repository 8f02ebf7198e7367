/* command.c - main() of all programs: finds the command, has options.c parse its words,
 * runs it */
#include "base/command.h"

#include "base/mem.h"
#include "base/suggest.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_USE = 2 };

static int say_wrong_use(const char *path, const char *text)
{
    fprintf(stderr, "%s: %s; see '%s --help'\n", path, text, path);
    return EXIT_WRONG_USE;
}

int command_wrong_use(const struct command_call *call, const char *format, ...)
{
    char text[sizeof(((struct err *)NULL)->text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return say_wrong_use(call->path, text);
}

int command_failed(const struct command_call *call, const struct err *err)
{
    if (err->code == ERR_USAGE)
        return say_wrong_use(call->path, err->text);
    fprintf(stderr, "%s: %s\n", call->path, err->text);
    return EXIT_FAILED;
}

static const struct command *child_named(const struct command *group, const char *name)
{
    for (int i = 0; group->children && group->children[i]; i++)
        if (!strcmp(group->children[i]->name, name))
            return group->children[i];
    return NULL;
}

const struct command *command_find(const struct command *root, int word_count,
                                   char *const *words, int *used, struct str *path)
{
    const struct command *command = root, *child;

    str_add(path, root->name);
    for (*used = 0; *used < word_count; (*used)++) {
        child = child_named(command, words[*used]);
        if (!child)
            break;
        command = child;
        str_addf(path, " %s", child->name);
    }
    return command;
}

int command_visit(const struct command *command, const char *path,
                  int (*each)(void *ctx, const struct command *command, const char *path),
                  void *ctx)
{
    int rc = each(ctx, command, path);

    for (int i = 0; rc == 0 && command->children && command->children[i]; i++) {
        struct str child = {0};

        if (command->children[i]->hidden)
            continue;
        str_addf(&child, "%s %s", path, command->children[i]->name);
        rc = command_visit(command->children[i], str_text(&child), each, ctx);
        str_fini(&child);
    }
    return rc;
}

int command_unknown(const struct command *group, const char *path, const char *word,
                    struct err *err)
{
    struct suggest nearest = {.typed = word};

    for (int i = 0; group->children && group->children[i]; i++)
        if (!group->children[i]->hidden)
            suggest_try(&nearest, group->children[i]->name);
    if (nearest.best)
        return err_set(err, ERR_USAGE, "unknown command '%.60s' (did you mean '%s %s'?)",
                       word, path, nearest.best);
    return err_set(err, ERR_USAGE, "unknown command '%.60s'", word);
}

static int check_operands(const struct command *command, int count, char **operands,
                          struct err *err)
{
    int least = 0, most = 0;

    if (command->operands_free)
        return 0;
    for (const char *word = command->operands; word && *word;
         word += strcspn(word, " "), word += *word == ' ') {
        least += *word != '[';
        most++;
    }
    if (command->operands && strstr(command->operands, "..."))
        most = count;
    if (count < least)
        return err_set(err, ERR_USAGE, "%s is missing", command->operands);
    if (count > most)
        return err_set(err, ERR_USAGE, "unexpected argument '%.80s'", operands[most]);
    return 0;
}

static int print_help(const struct command *command, const char *path)
{
    struct str text = {0};

    command_help_text(&text, command, path);
    fputs(str_text(&text), stdout);
    str_fini(&text);
    return EXIT_DONE;
}

/* argv[0] stands for the command itself. */
static int run_leaf(struct command_call *call, int argc, char **argv)
{
    const struct command *command = call->command;
    struct err err = {0};
    bool help = false;
    int first, status;

    call->args = mem_zeroed(1, command->args_size ? command->args_size : 1);
    options_defaults(command->options, call->args);
    first = options_parse(command->options, command->options_lead, call->args, argc, argv,
                          &help, &err);
    if (help) {
        status = print_help(command, call->path);
    } else if (first < 0 ||
               check_operands(command, argc - first, argv + first, &err) < 0) {
        status = say_wrong_use(call->path, err.text);
    } else {
        call->operand_count = argc - first;
        call->operands = argv + first;
        call->dashes =
            command->options_lead && first > 1 && !strcmp(argv[first - 1], "--");
        call->word_count = argc;
        call->words = argv;
        status = command->run(call);
    }
    free(call->args);
    return status;
}

static int run_group(const struct command_call *call, int argc, char **argv)
{
    const struct command *group = call->command;
    bool is_root = group == call->root;
    struct err err = {0};

    if (argc == 1 && is_root)
        return print_help(group, call->path);
    if (argc == 1)
        return say_wrong_use(call->path, "a command is missing");
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print_help(group, call->path);
    if (argv[1][0] == '-')
        err_set(&err, ERR_USAGE, "unknown option '%.60s'", argv[1]);
    else
        command_unknown(group, call->path, argv[1], &err);
    return say_wrong_use(call->path, err.text);
}

/* A full disk shows only when the last bytes leave, so an exit status of 0 waits for
 * that. */
static int close_output(const char *name, int status)
{
    int failed = ferror(stdout);

    if (fflush(stdout) == 0 && !failed)
        return status;
    fprintf(stderr, "%s: cannot write the output: %m\n", name);
    return status ? status : EXIT_FAILED;
}

/* Text is UTF-8 whatever the locale says; numbers keep their point. */
static void use_utf8(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* Of a program that is one command: its man page and its completion, for the build.  A
 * tree of commands has commands for that. */
static bool print_for_build(const struct command *root, const char *word)
{
    struct str text = {0};
    struct err err = {0};
    char shell[8];

    if (!root->run)
        return false;
    if (!strcmp(word, "--man-page"))
        command_man_page(&text, root, root->name);
    else if (!str_ends(word, "-completion") || sscanf(word, "--%7[a-z]", shell) != 1 ||
             command_completion_script(&text, root, shell, &err) < 0)
        return false;
    fputs(str_text(&text), stdout);
    str_fini(&text);
    return true;
}

int command_main(const struct command *root, int argc, char **argv)
{
    struct command_call call = {.root = root};
    struct str path = {0};
    int used = 0, status;

    use_utf8();
    if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
        printf("%s %s\n", root->name, CORGI_VERSION);
        return close_output(root->name, EXIT_DONE);
    }
    if (argc == 2 && print_for_build(root, argv[1]))
        return close_output(root->name, EXIT_DONE);
    call.command = command_find(root, argc - 1, argv + 1, &used, &path);
    call.path = str_text(&path);
    if (call.command->run)
        status = run_leaf(&call, argc - used, argv + used);
    else
        status = run_group(&call, argc - used, argv + used);
    status = close_output(root->name, status);
    str_fini(&path);
    return status;
}
