/* options.c - command.c has the words of a command line read here, by its table
 *
 * getopt_long does the walking; we name what is wrong and say what would be right. */
#include "base/options.h"

#include "base/str.h"
#include "base/suggest.h"
#include "base/parse.h"
#include "base/vec.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

/* getopt's values for the long options: index + this, out of the way of letters. */
#define LONG_BASE  1000
#define HELP_VALUE 999

static struct value_rule rule_of(const struct option_spec *spec)
{
    return (struct value_rule){.type = (enum value_type)spec->type,
                               .min = spec->min,
                               .max = spec->max,
                               .choices = spec->choices};
}

static int refuse_value(const struct option_spec *spec, const char *text, struct err *err)
{
    const struct value_rule rule = rule_of(spec);
    struct str wanted = {0};

    value_describe(&rule, &wanted);
    err_set(err, ERR_USAGE, "option --%s takes %s, not '%.80s'", spec->name,
            str_text(&wanted), text);
    str_fini(&wanted);
    return -1;
}

static bool set_value(const struct option_spec *spec, const char *text, void *args)
{
    const struct value_rule rule = rule_of(spec);

    return value_parse(&rule, text, (char *)args + spec->offset);
}

void options_defaults(const struct option_spec *specs, void *args)
{
    for (const struct option_spec *spec = specs; spec && spec->name; spec++) {
        bool fits = !spec->default_text || set_value(spec, spec->default_text, args);

        assert(fits);
        (void)fits;
    }
}

static int refuse_unknown(const struct option_spec *specs, const char *typed,
                          struct err *err)
{
    char name[80];
    struct suggest nearest = {.typed = name};

    str_copy(name, sizeof(name), typed + strlen("--"));
    name[strcspn(name, "=")] = '\0';
    suggest_try(&nearest, "help");
    for (const struct option_spec *spec = specs; spec && spec->name; spec++)
        suggest_try(&nearest, spec->name);
    if (nearest.best)
        return err_set(err, ERR_USAGE, "unknown option '--%s' (did you mean '--%s'?)",
                       name, nearest.best);
    return err_set(err, ERR_USAGE, "unknown option '--%s'", name);
}

/* The word of the command line that getopt has just read as a long option. */
static const char *typed_option(char **argv)
{
    return optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
}

/* getopt takes any beginning of a long option that fits only one; scripts that rely on it
 * break when a second is added, so only the whole name will do. */
static bool written_out(const char *typed, const char *name)
{
    size_t length = strlen(name);

    typed += strlen("--");
    return !strncmp(typed, name, length) &&
           (typed[length] == '\0' || typed[length] == '=');
}

struct options_walk {
    vec_of(struct option) longs;
    struct str letters;
};

static void walk_prepare(struct options_walk *walk, const struct option_spec *specs,
                         bool leading)
{
    /* '+' ends at the first operand; ':' makes getopt tell missing from unknown */
    str_add(&walk->letters, leading ? "+:h" : ":h");
    vec_push(&walk->longs, (struct option){"help", no_argument, NULL, HELP_VALUE});
    for (int i = 0; specs && specs[i].name; i++) {
        bool flag = specs[i].type == OPTION_FLAG;

        vec_push(&walk->longs,
                 (struct option){specs[i].name, flag ? no_argument : required_argument,
                                 NULL, LONG_BASE + i});
        if (specs[i].letter)
            str_addf(&walk->letters, "%c%s", specs[i].letter, flag ? "" : ":");
    }
    vec_push(&walk->longs, (struct option){0});
}

static const struct option_spec *spec_of(const struct option_spec *specs, int value)
{
    if (value >= LONG_BASE)
        return &specs[value - LONG_BASE];
    for (const struct option_spec *spec = specs; spec && spec->name; spec++)
        if (spec->letter && spec->letter == value)
            return spec;
    return NULL;
}

/* What getopt could not take: '?' for an unknown option or a value too many. */
static int refuse_option(const struct option_spec *specs, int value, char **argv,
                         struct err *err)
{
    const struct option_spec *spec = spec_of(specs, optopt);

    if (value == ':' && spec)
        return err_set(err, ERR_USAGE, "option --%s needs a value (%s)", spec->name,
                       spec->argument ? spec->argument : "VALUE");
    if (optopt >= HELP_VALUE)
        return err_set(err, ERR_USAGE, "option --%s takes no value",
                       spec ? spec->name : "help");
    if (optopt)
        return err_set(err, ERR_USAGE, "unknown option '-%c'", optopt);
    return refuse_unknown(specs, argv[optind - 1], err);
}

/* One option found by getopt; 0 to go on, 1 at --help, -1 when it is wrong. */
static int take_option(const struct option_spec *specs, int value, char **argv,
                       void *args, struct err *err)
{
    const struct option_spec *spec = spec_of(specs, value);

    if (value == ':' || value == '?')
        return refuse_option(specs, value, argv, err);
    if (value >= HELP_VALUE &&
        !written_out(typed_option(argv), spec ? spec->name : "help"))
        return refuse_unknown(specs, typed_option(argv), err);
    if (!spec)
        return 1; /* -h or --help: the only ones outside the table */
    if (spec->type == OPTION_FLAG)
        *(bool *)((char *)args + spec->offset) = true;
    else if (!set_value(spec, optarg, args))
        return refuse_value(spec, optarg, err);
    return 0;
}

int options_parse(const struct option_spec *specs, bool leading, void *args, int argc,
                  char **argv, bool *help, struct err *err)
{
    struct options_walk walk = {0};
    int value, rc = 0;

    walk_prepare(&walk, specs, leading);
    opterr = 0;
    optind = 0; /* glibc: start afresh */
    while (rc == 0 && (value = getopt_long(argc, argv, str_text(&walk.letters),
                                           walk.longs.items, NULL)) != -1)
        rc = take_option(specs, value, argv, args, err);
    *help = rc == 1;
    vec_free(&walk.longs);
    str_fini(&walk.letters);
    return rc < 0 ? -1 : optind;
}
