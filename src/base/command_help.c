/* command_help.c - --help of a command, from its tables */
#include "base/command.h"

#include <string.h>

#define WIDTH       80
#define HELP_COLUMN 26

/* Fill lines from column `at` on, words never split, the next lines indented. */
static void wrap(struct str *out, const char *text, size_t indent, size_t at)
{
    while (*text) {
        size_t word = strcspn(text, " \n");
        bool paragraph = text[0] == '\n' && text[1] == '\n';

        if (paragraph) {
            str_addf(out, "\n\n%*s", (int)indent, "");
            at = indent;
            text += 2;
            continue;
        }
        if (word == 0) {
            text++;
            continue;
        }
        if (at > indent && at + 1 + word > WIDTH) {
            str_addf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            str_add(out, " ");
            at++;
        }
        str_add_bytes(out, text, word);
        at += word;
        text += word;
    }
    str_add(out, "\n");
}

/* "  left          right text, wrapped" */
static void add_entry(struct str *out, const char *left, const char *right)
{
    size_t length = strlen(left);

    str_addf(out, "  %s", left);
    if (length + 4 > HELP_COLUMN)
        str_addf(out, "\n%*s", HELP_COLUMN, "");
    else
        str_addf(out, "%*s", (int)(HELP_COLUMN - 2 - length), "");
    wrap(out, right, HELP_COLUMN, HELP_COLUMN);
}

static void add_option(struct str *out, const struct option_spec *spec)
{
    struct str left = {0}, right = {0};

    if (spec->letter)
        str_addf(&left, "-%c, ", spec->letter);
    else
        str_add(&left, "    ");
    str_addf(&left, "--%s", spec->name);
    if (spec->type != OPTION_FLAG)
        str_addf(&left, " %s", spec->argument ? spec->argument : "VALUE");
    str_add(&right, spec->help);
    if (spec->type == OPTION_CHOICE) {
        str_add(&right, ":");
        for (const char *const *choice = spec->choices; *choice; choice++)
            str_addf(&right, "%s %s", choice == spec->choices ? "" : ",", *choice);
    }
    if (spec->default_text && spec->type != OPTION_FLAG)
        str_addf(&right, " (default %s)", spec->default_text);
    add_entry(out, str_text(&left), str_text(&right));
    str_fini(&left);
    str_fini(&right);
}

static void add_commands(struct str *out, const struct command *group)
{
    str_add(out, "\nCommands:\n");
    for (int i = 0; group->children[i]; i++)
        if (!group->children[i]->hidden)
            add_entry(out, group->children[i]->name, group->children[i]->summary);
}

static void add_examples(struct str *out, const char *examples)
{
    str_add(out, "\nExamples:\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n");

        str_add(out, "  ");
        str_add_bytes(out, examples, length);
        str_add(out, "\n");
        examples += length + (examples[length] == '\n');
    }
}

void command_help_text(struct str *out, const struct command *command, const char *path)
{
    str_addf(out, "Usage: %s", path);
    if (command->children)
        str_add(out, " COMMAND ...");
    else
        str_add(out, " [OPTION]...");
    if (command->operands)
        str_addf(out, " %s", command->operands);
    str_add(out, "\n\n");
    wrap(out, command->help ? command->help : command->summary, 0, 0);
    if (command->children)
        add_commands(out, command);
    str_add(out, "\nOptions:\n");
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        add_option(out, spec);
    add_entry(out, "-h, --help", "show this help");
    if (command->children && !strchr(path, ' '))
        add_entry(out, "-V, --version", "show the version");
    if (command->examples)
        add_examples(out, command->examples);
    if (command->children)
        str_addf(out, "\nSee '%s COMMAND --help' for a command's options.\n", path);
}
