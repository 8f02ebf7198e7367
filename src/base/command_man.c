/* command_man.c - a man page of a command, from its tables; the build writes them */
#include "base/command.h"

#include <ctype.h>
#include <string.h>

/* Text to roff: a plain '-' would be set as a hyphen that cannot be pasted, and a dot or
 * quote at the start of a line would be a request. */
static void add_bytes(struct str *out, const char *text, size_t count)
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

static void add_text(struct str *out, const char *text)
{
    add_bytes(out, text, strlen(text));
}

static void add_paragraphs(struct str *out, const char *text)
{
    const char *gap;

    while ((gap = strstr(text, "\n\n"))) {
        add_bytes(out, text, (size_t)(gap - text));
        str_add(out, "\n.PP\n");
        text = gap + 2;
    }
    add_text(out, text);
    str_add(out, "\n");
}

/* "corgi bench optimize" -> "corgi-bench-optimize" */
static void add_page_name(struct str *out, const char *path, bool upper)
{
    struct str name = {0};

    for (const char *c = path; *c; c++) {
        char letter = *c == ' ' ? '-' : upper ? (char)toupper((unsigned char)*c) : *c;

        str_add_bytes(&name, &letter, 1);
    }
    add_text(out, str_text(&name));
    str_fini(&name);
}

static void add_option(struct str *out, const struct option_spec *spec)
{
    str_add(out, ".TP\n");
    if (spec->letter)
        str_addf(out, "\\fB\\-%c\\fR, ", spec->letter);
    str_add(out, "\\fB\\-\\-");
    add_text(out, spec->name);
    str_add(out, "\\fR");
    if (spec->type != OPTION_FLAG)
        str_addf(out, " \\fI%s\\fR", spec->argument ? spec->argument : "VALUE");
    str_add(out, "\n");
    add_text(out, spec->help);
    if (spec->type == OPTION_CHOICE) {
        str_add(out, ":");
        for (const char *const *choice = spec->choices; *choice; choice++) {
            str_add(out, choice == spec->choices ? " " : ", ");
            add_text(out, *choice);
        }
    }
    if (spec->default_text && spec->type != OPTION_FLAG) {
        str_add(out, " (default ");
        add_text(out, spec->default_text);
        str_add(out, ")");
    }
    str_add(out, ".\n");
}

static void add_options(struct str *out, const struct command *command, bool is_root)
{
    str_add(out, ".SH OPTIONS\n");
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        add_option(out, spec);
    str_add(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow a short help.\n");
    if (is_root && command->children)
        str_add(out, ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nShow the version.\n");
}

static void add_commands(struct str *out, const struct command *group, const char *path)
{
    str_add(out, ".SH COMMANDS\n");
    for (int i = 0; group->children[i]; i++) {
        const struct command *child = group->children[i];

        if (child->hidden)
            continue;
        str_add(out, ".TP\n\\fB");
        add_page_name(out, path, false);
        str_add(out, "\\-");
        add_text(out, child->name);
        str_add(out, "\\fR(1)\n");
        add_text(out, child->summary);
        str_add(out, "\n");
    }
}

static void add_examples(struct str *out, const char *examples)
{
    str_add(out, ".SH EXAMPLES\n.nf\n");
    add_text(out, examples);
    if (!str_ends(examples, "\n"))
        str_add(out, "\n");
    str_add(out, ".fi\n");
}

static void add_synopsis(struct str *out, const struct command *command, const char *path)
{
    str_add(out, ".SH SYNOPSIS\n\\fB");
    add_text(out, path);
    str_add(out,
            command->children ? "\\fR \\fICOMMAND\\fR ..." : "\\fR [\\fIOPTION\\fR]...");
    if (command->operands) {
        str_add(out, " \\fI");
        add_text(out, command->operands);
        str_add(out, "\\fR");
    }
    str_add(out, "\n");
}

void command_man_page(struct str *out, const struct command *command, const char *path)
{
    const char *space = strchr(path, ' ');
    size_t program = space ? (size_t)(space - path) : strlen(path);

    str_add(out, ".TH \"");
    add_page_name(out, path, true);
    str_addf(out, "\" 1 \"\" \"%.*s %s\" \"User Commands\"\n.SH NAME\n", (int)program,
             path, CORGI_VERSION);
    add_page_name(out, path, false);
    str_add(out, " \\- ");
    add_text(out, command->summary);
    str_add(out, "\n");
    add_synopsis(out, command, path);
    str_add(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, command->help ? command->help : command->summary);
    if (command->children)
        add_commands(out, command, path);
    add_options(out, command, !space);
    if (command->examples)
        add_examples(out, command->examples);
    str_add(out, ".SH EXIT STATUS\n0: done.  1: refused or failed.  2: wrong use.\n");
    if (space)
        str_addf(out, ".SH SEE ALSO\n\\fB%.*s\\fR(1)\n", (int)program, path);
}
