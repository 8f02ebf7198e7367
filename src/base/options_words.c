/* options_words.c - parsed options as they would be typed, for results that name their
 * command */
#include "base/options_words.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void quote(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=.,:/@%";

    if (*word && word[strspn(word, plain)] == '\0') {
        str_add(out, word);
        return;
    }
    str_add(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            str_add(out, "'\\''");
        else
            str_add_bytes(out, word, 1);
    }
    str_add(out, "'");
}

/* The shortest digits that read back as the same number. */
static void add_double(struct str *out, double value)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    str_add(out, text);
}

static void add_value(const struct option_spec *spec, const void *at, struct str *out)
{
    const char *text;
    double number;
    uint64_t whole;
    int small;

    switch (spec->type) {
    case OPTION_FLAG:
        str_add(out, *(const bool *)at ? "true" : "");
        break;
    case OPTION_STRING:
        memcpy(&text, at, sizeof(text));
        if (text)
            quote(out, text);
        break;
    case OPTION_INT:
        memcpy(&small, at, sizeof(small));
        str_addf(out, "%d", small);
        break;
    case OPTION_U64:
        memcpy(&whole, at, sizeof(whole));
        str_addf(out, "%" PRIu64, whole);
        break;
    case OPTION_DOUBLE:
    case OPTION_SECONDS:
    case OPTION_WATTS:
        memcpy(&number, at, sizeof(number));
        add_double(out, number);
        break;
    case OPTION_CHOICE:
        memcpy(&small, at, sizeof(small));
        str_add(out, spec->choices[small]);
        break;
    }
}

static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

void options_words(const struct option_spec *specs, const void *args, size_t args_size,
                   const char *const *except, struct str *out)
{
    char *defaults = mem_zeroed(1, args_size);

    options_defaults(specs, defaults);
    for (const struct option_spec *spec = specs; spec->name; spec++) {
        struct str value = {0}, usual = {0};

        add_value(spec, (const char *)args + spec->offset, &value);
        add_value(spec, defaults + spec->offset, &usual);
        if (!listed(except, spec->name) &&
            strcmp(str_text(&value), str_text(&usual)) != 0) {
            str_addf(out, " --%s", spec->name);
            if (spec->type != OPTION_FLAG)
                str_addf(out, " %s", str_text(&value));
        }
        str_fini(&value);
        str_fini(&usual);
    }
    free(defaults);
}
