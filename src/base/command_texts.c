/* command_texts.c - what the tables of commands say: --help and man pages
 *
 * command.c prints these for a program that is one command, corgi/cmd_help.c those of
 * corgi; the build writes the man pages.  command_completion.c has the shells. */
#include "base/command.h"

#include <ctype.h>
#include <string.h>

/* What its value is called; "" for a flag. */
static const char *value_name(const struct option_spec *spec)
{
    return spec->type == OPTION_FLAG ? "" : spec->argument ? spec->argument : "VALUE";
}

/* What it is for, with its choices and its default. */
static void add_meaning(struct str *out, const struct option_spec *spec)
{
    str_add(out, spec->help);
    if (spec->type == OPTION_CHOICE) {
        str_add(out, ":");
        for (const char *const *choice = spec->choices; *choice; choice++)
            str_addf(out, "%s %s", choice == spec->choices ? "" : ",", *choice);
    }
    if (spec->default_text && spec->type != OPTION_FLAG)
        str_addf(out, " (default %s)", spec->default_text);
}

/* ---- --help ------------------------------------------------------------------------ */

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

static void help_option(struct str *out, const struct option_spec *spec)
{
    struct str left = {0}, right = {0};

    if (spec->letter)
        str_addf(&left, "-%c, ", spec->letter);
    else
        str_add(&left, "    ");
    str_addf(&left, "--%s%s%s", spec->name, *value_name(spec) ? " " : "",
             value_name(spec));
    add_meaning(&right, spec);
    add_entry(out, str_text(&left), str_text(&right));
    str_fini(&left);
    str_fini(&right);
}

static void help_commands(struct str *out, const struct command *group)
{
    str_add(out, "\nCommands:\n");
    for (int i = 0; group->children[i]; i++)
        if (!group->children[i]->hidden)
            add_entry(out, group->children[i]->name, group->children[i]->summary);
}

static void help_examples(struct str *out, const char *examples)
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
        help_commands(out, command);
    str_add(out, "\nOptions:\n");
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        help_option(out, spec);
    add_entry(out, "-h, --help", "show this help");
    if (command->children && !strchr(path, ' '))
        add_entry(out, "-V, --version", "show the version");
    if (command->examples)
        help_examples(out, command->examples);
    if (command->children)
        str_addf(out, "\nSee '%s COMMAND --help' for a command's options.\n", path);
}

/* ---- man pages --------------------------------------------------------------------- */

/* Text to roff: a plain '-' would be set as a hyphen that cannot be pasted, and a dot or
 * quote at the start of a line would be a request. */
static void man_bytes(struct str *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool line_start = out->length == 0 || out->text[out->length - 1] == '\n';

        if (text[i] == '-')
            str_add(out, "\\-");
        else if (text[i] == '\\')
            str_add(out, "\\e");
        else if (line_start && (text[i] == '.' || text[i] == '\''))
            str_addf(out, "\\&%c", text[i]);
        else
            str_add_bytes(out, &text[i], 1);
    }
}

static void man_text(struct str *out, const char *text)
{
    man_bytes(out, text, strlen(text));
}

static void man_paragraphs(struct str *out, const char *text)
{
    const char *gap;

    while ((gap = strstr(text, "\n\n"))) {
        man_bytes(out, text, (size_t)(gap - text));
        str_add(out, "\n.PP\n");
        text = gap + 2;
    }
    man_text(out, text);
    str_add(out, "\n");
}

/* "corgi bench plan" -> "corgi-bench-plan" */
static void man_page_name(struct str *out, const char *path, bool upper)
{
    struct str name = {0};

    for (const char *c = path; *c; c++) {
        char letter = *c == ' ' ? '-' : upper ? (char)toupper((unsigned char)*c) : *c;

        str_add_bytes(&name, &letter, 1);
    }
    man_text(out, str_text(&name));
    str_fini(&name);
}

static void man_option(struct str *out, const struct option_spec *spec)
{
    struct str meaning = {0};

    str_add(out, ".TP\n");
    if (spec->letter)
        str_addf(out, "\\fB\\-%c\\fR, ", spec->letter);
    str_add(out, "\\fB\\-\\-");
    man_text(out, spec->name);
    str_add(out, "\\fR");
    if (*value_name(spec))
        str_addf(out, " \\fI%s\\fR", value_name(spec));
    str_add(out, "\n");
    add_meaning(&meaning, spec);
    man_text(out, str_text(&meaning));
    str_fini(&meaning);
    str_add(out, ".\n");
}

static void man_options(struct str *out, const struct command *command, bool is_root)
{
    str_add(out, ".SH OPTIONS\n");
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        man_option(out, spec);
    str_add(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow a short help.\n");
    if (is_root && command->children)
        str_add(out, ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nShow the version.\n");
}

static void man_commands(struct str *out, const struct command *group, const char *path)
{
    str_add(out, ".SH COMMANDS\n");
    for (int i = 0; group->children[i]; i++) {
        const struct command *child = group->children[i];

        if (child->hidden)
            continue;
        str_add(out, ".TP\n\\fB");
        man_page_name(out, path, false);
        str_add(out, "\\-");
        man_text(out, child->name);
        str_add(out, "\\fR(1)\n");
        man_text(out, child->summary);
        str_add(out, "\n");
    }
}

static void man_examples(struct str *out, const char *examples)
{
    str_add(out, ".SH EXAMPLES\n.nf\n");
    man_text(out, examples);
    if (!str_ends(examples, "\n"))
        str_add(out, "\n");
    str_add(out, ".fi\n");
}

static void man_synopsis(struct str *out, const struct command *command, const char *path)
{
    str_add(out, ".SH SYNOPSIS\n\\fB");
    man_text(out, path);
    str_add(out,
            command->children ? "\\fR \\fICOMMAND\\fR ..." : "\\fR [\\fIOPTION\\fR]...");
    if (command->operands) {
        str_add(out, " \\fI");
        man_text(out, command->operands);
        str_add(out, "\\fR");
    }
    str_add(out, "\n");
}

void command_man_page(struct str *out, const struct command *command, const char *path)
{
    const char *space = strchr(path, ' ');
    size_t program = space ? (size_t)(space - path) : strlen(path);

    str_add(out, ".TH \"");
    man_page_name(out, path, true);
    str_addf(out, "\" 1 \"\" \"%.*s %s\" \"User Commands\"\n.SH NAME\n", (int)program,
             path, CORGI_VERSION);
    man_page_name(out, path, false);
    str_add(out, " \\- ");
    man_text(out, command->summary);
    str_add(out, "\n");
    man_synopsis(out, command, path);
    str_add(out, ".SH DESCRIPTION\n");
    man_paragraphs(out, command->help ? command->help : command->summary);
    if (command->children)
        man_commands(out, command, path);
    man_options(out, command, !space);
    if (command->examples)
        man_examples(out, command->examples);
    str_add(out, ".SH EXIT STATUS\n0: done.  1: refused or failed.  2: wrong use.\n");
    if (space)
        str_addf(out, ".SH SEE ALSO\n\\fB%.*s\\fR(1)\n", (int)program, path);
}
