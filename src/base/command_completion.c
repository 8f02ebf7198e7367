/* command_completion.c - scripts with which bash, zsh and fish complete commands
 *
 * The tables of the commands say what there is.  Each shell has a script completion.SHELL
 * in which @word@ is filled in here.  Those of bash and zsh walk the typed words to the
 * command they name and look up, by that command's path, what may follow; fish is told
 * one line an option.  corgi/cmd_help.c prints them, and command.c for a program that is
 * one command; the build writes them to files. */
#include "base/command.h"

#include "base/embed.h"

#include <string.h>

EMBED(completion_bash, CORGI_COMPLETION ".bash");
EMBED(completion_zsh, CORGI_COMPLETION ".zsh");
EMBED(completion_fish, CORGI_COMPLETION ".fish");

/* Inside single quotes, of a shell or of fish. */
static void add_quoted(struct str *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            str_add(out, "'\\''");
        else
            str_add_bytes(out, text, 1);
    }
}

static bool is_root_group(const struct command *command, const char *path)
{
    return command->children && !strchr(path, ' ');
}

/* ---- what values and operands are ---------------------------------------------------
 */

/* What a value or an operand of this name is: "[JOB]...", "TYPE,...", "bash|zsh|fish". Of
 * NODE:INDEX the first part. */
struct kind {
    char name[32]; /* "file", "directory", or in capitals what `complete` knows; or "" */
    struct str words;
};

static void kind_of_argument(struct kind *kind, const char *argument)
{
    size_t start = strcspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    size_t length = strspn(argument + start, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (strstr(argument, "FILE") || strstr(argument, "SCRIPT") ||
        strstr(argument, "STORE") || strstr(argument, "COMMAND"))
        strcpy(kind->name, "file");
    else if (strstr(argument, "DIR"))
        strcpy(kind->name, "directory");
    else if (strstr(argument, "NODE:INDEX"))
        strcpy(kind->name, "DEVICE");
    else if (length > 0 && length < sizeof(kind->name))
        memcpy(kind->name, argument + start, length);
    else
        for (; *argument; argument++)
            str_add_bytes(&kind->words, *argument == '|' ? " " : argument, 1);
}

static void kind_of_option(struct kind *kind, const struct option_spec *spec)
{
    struct str words = {0};

    if (spec->type == OPTION_CHOICE) {
        for (const char *const *choice = spec->choices; *choice; choice++)
            str_addf(&kind->words, "%s ", *choice);
    } else if (spec->words) {
        spec->words(&words);
        for (const char *c = str_text(&words); *c; c++)
            str_add_bytes(&kind->words, *c == ',' ? " " : c, 1);
    } else {
        kind_of_argument(kind, spec->argument ? spec->argument : "VALUE");
    }
    str_fini(&words);
}

/* Does the command have operands that can be completed? */
static bool has_operands(const struct command *command)
{
    return !command->children && command->operands &&
           !strstr(command->operands, "COMMAND]");
}

/* Does the program know words of its own? */
static bool has_complete(const struct command *root)
{
    for (int i = 0; root->children && root->children[i]; i++)
        if (!strcmp(root->children[i]->name, "complete"))
            return true;
    return false;
}

/* ---- bash and zsh: branches of a case ------------------------------------------------
 */

static int bash_children(void *out, const struct command *command, const char *path)
{
    if (!command->children)
        return 0;
    str_addf(out, "    '%s') commands='", path);
    for (int i = 0; command->children[i]; i++)
        if (!command->children[i]->hidden)
            str_addf(out, "%s ", command->children[i]->name);
    str_add(out, "' ;;\n");
    return 0;
}

static int bash_options(void *out, const struct command *command, const char *path)
{
    str_addf(out, "    '%s') options='", path);
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        str_addf(out, "--%s ", spec->name);
    str_add(out, "--help");
    if (is_root_group(command, path))
        str_add(out, " --version");
    str_add(out, "' ;;\n");
    return 0;
}

/* " 'name:meaning'" */
static void zsh_item(struct str *out, const char *dashes, const char *name,
                     const char *meaning)
{
    str_addf(out, " '%s%s:", dashes, name);
    add_quoted(out, meaning);
    str_add(out, "'");
}

static int zsh_children(void *out, const struct command *command, const char *path)
{
    if (!command->children)
        return 0;
    str_addf(out, "    '%s') commands=(", path);
    for (int i = 0; command->children[i]; i++)
        if (!command->children[i]->hidden)
            zsh_item(out, "", command->children[i]->name, command->children[i]->summary);
    str_add(out, ") ;;\n");
    return 0;
}

static int zsh_options(void *out, const struct command *command, const char *path)
{
    str_addf(out, "    '%s') options=(", path);
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        zsh_item(out, "--", spec->name, spec->help);
    zsh_item(out, "--", "help", "show this help");
    if (is_root_group(command, path))
        zsh_item(out, "--", "version", "show the version");
    str_add(out, ") ;;\n");
    return 0;
}

static void case_kind(struct str *out, struct kind *kind)
{
    if (*kind->name)
        str_addf(out, ") kind=%s ;;\n", kind->name);
    else
        str_addf(out, ") values='%s' ;;\n", str_text(&kind->words));
    str_fini(&kind->words);
}

static int case_operands(void *out, const struct command *command, const char *path)
{
    struct kind kind = {0};

    if (!has_operands(command))
        return 0;
    str_addf(out, "    '%s'", path);
    kind_of_argument(&kind, command->operands);
    case_kind(out, &kind);
    return 0;
}

static int case_values(void *out, const struct command *command, const char *path)
{
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
        struct kind kind = {0};

        if (spec->type == OPTION_FLAG)
            continue;
        str_addf(out, "    '%s --%s'", path, spec->name);
        if (spec->letter)
            str_addf(out, "|'%s -%c'", path, spec->letter);
        kind_of_option(&kind, spec);
        case_kind(out, &kind);
    }
    return 0;
}

/* ---- fish: a line an option, a command, an operand -----------------------------------
 */

/* "complete -c corgi -n '__corgi_at "corgi sim"'" */
static void fish_line(struct str *out, const char *path)
{
    int program = (int)strcspn(path, " ");

    str_addf(out, "complete -c %.*s -n '__%.*s_at \"%s\"'", program, path, program, path,
             path);
}

static void fish_kind(struct str *out, struct kind *kind, const char *path)
{
    int program = (int)strcspn(path, " ");

    if (!strcmp(kind->name, "file"))
        str_add(out, " -F");
    else if (!strcmp(kind->name, "directory"))
        str_add(out, " -f -a '(__fish_complete_directories)'");
    else if (*kind->name)
        str_addf(out, " -f -a '(__%.*s_words %s)'", program, path, kind->name);
    else
        str_addf(out, " -f -a '(__%.*s_list %s)'", program, path, str_text(&kind->words));
    str_fini(&kind->words);
}

static void fish_option(struct str *out, const struct option_spec *spec, const char *path)
{
    struct kind kind = {0};

    fish_line(out, path);
    str_addf(out, " -l %s", spec->name);
    if (spec->letter)
        str_addf(out, " -s %c", spec->letter);
    if (spec->type != OPTION_FLAG) {
        str_add(out, " -r");
        kind_of_option(&kind, spec);
        fish_kind(out, &kind, path);
    }
    str_add(out, " -d '");
    add_quoted(out, spec->help);
    str_add(out, "'\n");
}

static int fish_lines(void *out, const struct command *command, const char *path)
{
    struct kind kind = {0};

    for (int i = 0; command->children && command->children[i]; i++) {
        if (command->children[i]->hidden)
            continue;
        fish_line(out, path);
        str_addf(out, " -f -a %s -d '", command->children[i]->name);
        add_quoted(out, command->children[i]->summary);
        str_add(out, "'\n");
    }
    if (has_operands(command)) {
        fish_line(out, path);
        kind_of_argument(&kind, command->operands);
        fish_kind(out, &kind, path);
        str_add(out, "\n");
    }
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        fish_option(out, spec, path);
    fish_line(out, path);
    str_add(out, " -l help -s h -d 'show this help'\n");
    if (is_root_group(command, path)) {
        fish_line(out, path);
        str_add(out, " -l version -s V -d 'show the version'\n");
    }
    return 0;
}

/* "'corgi bench'" and what is below it: the groups whose children are words of a path. */
static int fish_groups(void *out, const struct command *command, const char *path)
{
    if (!command->children)
        return 0;
    str_addf(out, "        case '%s'\n            set names", path);
    for (int i = 0; command->children[i]; i++)
        if (!command->children[i]->hidden)
            str_addf(out, " %s", command->children[i]->name);
    str_add(out, "\n");
    return 0;
}

/* ---- the scripts ---------------------------------------------------------------------
 */

static void fill(struct str *out, const struct command *root, bool zsh, const char *word)
{
    const struct {
        const char *word, *text;
        int (*each)(void *out, const struct command *command, const char *path);
    } words[] = {{"@name@", root->name, NULL},
                 {"@version@", CORGI_VERSION, NULL},
                 {"@commands@", NULL, zsh ? zsh_children : bash_children},
                 {"@options@", NULL, zsh ? zsh_options : bash_options},
                 {"@values@", NULL, case_values},
                 {"@operands@", NULL, case_operands},
                 {"@groups@", NULL, fish_groups},
                 {"@lines@", NULL, fish_lines},
                 {"@complete@", has_complete(root) ? "yes" : "", NULL}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!str_starts(word, words[i].word))
            continue;
        if (words[i].text)
            str_add(out, words[i].text);
        else
            command_visit(root, root->name, words[i].each, out);
    }
}

int command_completion_script(struct str *out, const struct command *root,
                              const char *shell, struct err *err)
{
    const char *at = !strcmp(shell, "bash")   ? (const char *)completion_bash
                     : !strcmp(shell, "zsh")  ? (const char *)completion_zsh
                     : !strcmp(shell, "fish") ? (const char *)completion_fish
                                              : NULL;
    const char *word;

    if (!at)
        return err_set(err, ERR_USAGE,
                       "no completion for the shell '%.40s', only for bash, zsh and fish",
                       shell);
    for (; (word = strchr(at, '@')); at = strchr(word + 1, '@') + 1) {
        str_add_bytes(out, at, (size_t)(word - at));
        fill(out, root, !strcmp(shell, "zsh"), word);
    }
    str_add(out, at);
    return 0;
}
