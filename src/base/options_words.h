/* options_words.h - the other way round: parsed options as they would be typed */
#ifndef CORGI_BASE_OPTIONS_WORDS_H
#define CORGI_BASE_OPTIONS_WORDS_H

#include "base/options.h"
#include "base/str.h"

/* Add " --name value" for every option that is not at its default, in the order of the
 * table, save those named in `except` (ends with NULL).  Values are quoted for a shell
 * where they need to be.  args_size: of the struct the options fill. */
void options_words(const struct option_spec *specs, const void *args, size_t args_size,
                   const char *const *except, struct str *out);

#endif
