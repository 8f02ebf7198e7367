/* command_bash.c - bash completion of a whole program, from its tables
 *
 * The script needs nothing but bash: it walks the typed words to the command they name
 * and looks up, by that command's path, what may follow. */
#include "base/command.h"

#include <string.h>

/* Add a line for the command and for all below it: path "corgi bench" leads to "corgi
 * bench optimize". */
static void visit(struct str *out, const struct command *command, const char *path,
                  void (*each)(struct str *, const struct command *, const char *))
{
    each(out, command, path);
    for (int i = 0; command->children && command->children[i]; i++) {
        struct str child = {0};

        if (command->children[i]->hidden)
            continue;
        str_addf(&child, "%s %s", path, command->children[i]->name);
        visit(out, command->children[i], str_text(&child), each);
        str_fini(&child);
    }
}

static void add_children(struct str *out, const struct command *command, const char *path)
{
    if (!command->children)
        return;
    str_addf(out, "    '%s') commands='", path);
    for (int i = 0; command->children[i]; i++)
        if (!command->children[i]->hidden)
            str_addf(out, "%s ", command->children[i]->name);
    str_add(out, "' ;;\n");
}

static void add_options(struct str *out, const struct command *command, const char *path)
{
    str_addf(out, "    '%s') options='", path);
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        str_addf(out, "--%s ", spec->name);
    str_add(out, "--help");
    if (command->children && !strchr(path, ' '))
        str_add(out, " --version");
    str_add(out, "' ;;\n");
}

static void add_value(struct str *out, const struct option_spec *spec, const char *path)
{
    const char *argument = spec->argument ? spec->argument : "";

    str_addf(out, "    '%s --%s'", path, spec->name);
    if (spec->letter)
        str_addf(out, "|'%s -%c'", path, spec->letter);
    if (spec->type == OPTION_CHOICE) {
        str_add(out, ") values='");
        for (const char *const *choice = spec->choices; *choice; choice++)
            str_addf(out, "%s ", *choice);
        str_add(out, "' ;;\n");
    } else if (strstr(argument, "FILE")) {
        str_add(out, ") kind=file ;;\n");
    } else if (strstr(argument, "DIR")) {
        str_add(out, ") kind=directory ;;\n");
    } else {
        str_add(out, ") kind=other ;;\n");
    }
}

static void add_values(struct str *out, const struct command *command, const char *path)
{
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
        if (spec->type != OPTION_FLAG)
            add_value(out, spec, path);
}

static const char *const lookup_end = "    esac\n";

/* %s is the program's name in both. */
static const char *const walk_words =
    "_%s() {\n"
    "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev='' path='%s' word='' i\n"
    "    local commands='' options='' values='' kind=''\n"
    "    COMPREPLY=()\n"
    "    (( COMP_CWORD > 0 )) && prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
    "    # --option=value comes as three words.\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == '=' ]] && (( COMP_CWORD > 1 )); then\n"
    "        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
    "    fi\n";

static const char *const find_command =
    "    for (( i = 1; i < COMP_CWORD; i++ )); do\n"
    "        word=\"${COMP_WORDS[i]}\"\n"
    "        _%s_commands \"$path\"\n"
    "        [[ \" $commands \" == *\" $word \"* ]] || break\n"
    "        path+=\" $word\"\n"
    "    done\n"
    "    _%s_commands \"$path\"\n"
    "    [[ $path == '%s help' ]] && _%s_commands '%s'\n";

static const char *const reply =
    "    if [[ -n $values ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
    "    elif [[ $kind == file ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    elif [[ $kind == directory ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "    elif [[ -n $kind ]]; then\n"
    "        return\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
    "    elif [[ -n $commands ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    fi\n"
    "}\n";

/* The templates hold %s only; format strings must be literals, so fill them by hand. */
static void add_template(struct str *out, const char *text, const char *name)
{
    const char *mark;

    while ((mark = strstr(text, "%s"))) {
        str_add_bytes(out, text, (size_t)(mark - text));
        str_add(out, name);
        text = mark + 2;
    }
    str_add(out, text);
}

void command_bash_script(struct str *out, const struct command *root)
{
    const char *name = root->name;

    str_addf(out, "# bash completion for %s %s\n", name, CORGI_VERSION);
    str_addf(out, "_%s_commands() {\n    commands=''\n    case $1 in\n", name);
    visit(out, root, name, add_children);
    str_addf(out, "%s}\n", lookup_end);
    add_template(out, walk_words, name);
    add_template(out, find_command, name);
    str_add(out, "    case $path in\n");
    visit(out, root, name, add_options);
    str_addf(out, "%s    case \"$path $prev\" in\n", lookup_end);
    visit(out, root, name, add_values);
    str_addf(out, "    *) ;;\n%s", lookup_end);
    str_add(out, reply);
    str_addf(out, "complete -F _%s %s\n", name, name);
}
