/* command.h - a tree of commands over options.h
 *
 * A program is a root command; `corgi bench plan` walks two children down.  A leaf
 * has run(), which gets its parsed arguments and returns the exit status: 0 done, 1
 * refused or failed, 2 wrong use.
 *
 *     static int run(struct command_call *call)
 *     {
 *         const struct sim_args *args = call->args;
 *         struct err err = {0};
 *
 *         if (args->trace && args->workload)
 *             return command_wrong_use(call, "--trace and --workload exclude each
 * other"); return simulate(args, &err) < 0 ? command_failed(call, &err) : 0;
 *     }
 *     const struct command cmd_sim = {.name = "sim", .summary = "...", .run = run,
 *                                     .options = options,
 *                                     .args_size = sizeof(struct sim_args)};
 */
#pragma once

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct command_call;

struct command {
    const char *name;
    const char *summary;  /* one line, lower case, no full stop */
    const char *help;     /* paragraphs with a blank line between; NULL: the summary says
                             it */
    const char *examples; /* one command line a line; NULL: none */
    /* As in the synopsis, "STORE [FILE...]": those without [ must be there, ... stands
     * for any number; NULL: takes none. */
    const char *operands;
    bool operands_free; /* run() knows how many there may be */
    bool options_lead;  /* options end at the first operand; what follows is its own */
    const struct option_spec *options;     /* ends with {0}; NULL: only --help */
    size_t args_size;                      /* of the struct the options fill */
    const struct command *const *children; /* ends with NULL; a group has no run() */
    bool hidden;                           /* not in help, completion or man pages */
    int (*run)(struct command_call *call);
    const void *about; /* for a run() that several commands share */
};

struct command_call {
    const struct command *root;
    const struct command *command;
    const char *path; /* "corgi sim" */
    void *args;       /* the command's struct, zeroed, then defaults, then options */
    int operand_count;
    char **operands; /* ends with NULL */
    bool dashes;     /* "--" stood before the operands; known when options lead */
    int word_count;  /* the command and its words, as options_parse() takes them, for */
    char **words;    /* those who read them again over other defaults */
};

/* The whole of main(): find the command, parse, run, and check that standard output was
 * really written.  Also answers --help, -h, --version and -V of the root, and for a root
 * that is a leaf --man-page and --bash-completion, --zsh-completion and
 * --fish-completion, which the build uses. */
int command_main(const struct command *root, int argc, char **argv);

/* Say on stderr in one sentence what is wrong, and return the exit status: 2 for wrong
 * use (with a pointer to --help), 1 for a failure. */
int command_wrong_use(const struct command_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int command_failed(const struct command_call *call, const struct err *err);

/* Walk the words down from root as far as they name commands; *used counts them and path
 * gets "corgi bench plan". */
const struct command *command_find(const struct command *root, int word_count,
                                   char *const *words, int *used, struct str *path);

/* Call each() for the command and for all below it that are not hidden, path "corgi
 * bench" leading to "corgi bench plan"; ends with what it returns unless that is 0.
 */
int command_visit(const struct command *command, const char *path,
                  int (*each)(void *ctx, const struct command *command, const char *path),
                  void *ctx);

/* Fill err with "unknown command" and the nearest name; returns -1. */
int command_unknown(const struct command *group, const char *path, const char *word,
                    struct err *err);

/* ---- texts from the tables --------------------------------------------------------- */

/* What `corgi sim --help` prints; path is "corgi sim". */
void command_help_text(struct str *out, const struct command *command, const char *path);

/* The man page in roff, section 1; path "corgi sim" makes the page corgi-sim(1). */
void command_man_page(struct str *out, const struct command *command, const char *path);

/* A script for bash, zsh or fish that completes commands, options, choices and paths;
 * ERR_USAGE for another shell. */
int command_completion_script(struct str *out, const struct command *root,
                              const char *shell, struct err *err);
