/* directives.h - options in the comments at the top of a script
 *
 *     #!/bin/bash
 *     #CORGI --min-rate 40 --name "my run"
 *     python train.py
 *
 * Lines count as long as they are comments or empty; the first other line ends it. */
#pragma once

#include "base/err.h"

#include <stddef.h>

#define DIRECTIVES_MAX_LINES 1000
#define DIRECTIVES_MAX_WORDS 64 /* of one line */

struct directives {
    size_t count;
    struct directive {
        int line;       /* of the script, from 1 */
        int word_count; /* words[0] is the mark itself, as argv[0] would be */
        char **words;   /* ends with NULL */
    } * items;
};

/* Find the lines that begin with the mark ("#CORGI") and split them into words as a shell
 * would: blanks between, '..' and "..", \ before a character.  ERR_FORMAT for a quote
 * that is not closed, with name and line. */
int directives_parse(struct directives *d, const char *mark, const char *text,
                     size_t length, const char *name, struct err *err);
void directives_fini(struct directives *d);
