/* test_options.c - a table of every type of option */
#include "base/options.h"
#include "support/test.h"

#include <stdint.h>
#include <string.h>

struct args {
    bool json;
    const char *out;
    int jobs;
    uint64_t seed;
    double load;
    double span_s;
    double budget_watts;
    int mode;
};

static const char *const modes[] = {"fast", "exact", NULL};

#define AT(field) .offset = offsetof(struct args, field)
static const struct option_spec specs[] = {
    {.name = "json", .type = OPTION_FLAG, AT(json), .help = "print JSON"},
    {.name = "out", .letter = 'o', .type = OPTION_STRING, .argument = "DIR", AT(out)},
    {.name = "jobs", .letter = 'j', .type = OPTION_INT, .min = 1, .max = 100, AT(jobs)},
    {.name = "seed", .type = OPTION_U64, .default_text = "7", AT(seed)},
    {.name = "load", .type = OPTION_DOUBLE, .max = 2, AT(load)},
    {.name = "span", .type = OPTION_SECONDS, .default_text = "2h", AT(span_s)},
    {.name = "budget", .type = OPTION_WATTS, AT(budget_watts)},
    {.name = "mode",
     .type = OPTION_CHOICE,
     .choices = modes,
     .default_text = "exact",
     AT(mode)},
    {0},
};

static struct err err;
static bool help;

/* Parse up to six words after the program's name. */
static int parse(struct args *args, char *a, char *b, char *c, char *d, char *e, char *f)
{
    static char name[] = "corgi";
    static char *argv[8];
    int argc = 0;

    memset(argv, 0, sizeof(argv));
    argv[argc++] = name;
    for (char **word = (char *[]){a, b, c, d, e, f, NULL}; *word; word++)
        argv[argc++] = *word;
    *args = (struct args){0};
    err = (struct err){0};
    options_defaults(specs, args);
    return options_parse(specs, false, args, argc, argv, &help, &err);
}

#define PARSE1(args, a)    parse((args), (char[]){a}, 0, 0, 0, 0, 0)
#define PARSE2(args, a, b) parse((args), (char[]){a}, (char[]){b}, 0, 0, 0, 0)
#define PARSE4(args, a, b, c, d)                                                         \
    parse((args), (char[]){a}, (char[]){b}, (char[]){c}, (char[]){d}, 0, 0)

CASE(starts_from_the_defaults)
{
    struct args args;

    assert_int_equal(parse(&args, 0, 0, 0, 0, 0, 0), 1);
    assert_int_equal(args.seed, 7);
    assert_true(args.span_s == 7200);
    assert_int_equal(args.mode, 1);
    assert_false(args.json);
    assert_null(args.out);
}

CASE(reads_every_type)
{
    struct args args;

    assert_true(PARSE4(&args, "--json", "-o", "there", "--jobs=12") > 0);
    assert_true(args.json);
    assert_string_equal(args.out, "there");
    assert_int_equal(args.jobs, 12);
    assert_true(PARSE4(&args, "--seed", "18446744073709551615", "--load", "0.5") > 0);
    assert_true(args.seed == UINT64_MAX);
    assert_true(args.load == 0.5);
    assert_true(PARSE4(&args, "--span=10m", "--budget=20kW", "--mode", "fast") > 0);
    assert_true(args.span_s == 600);
    assert_true(args.budget_watts == 20000);
    assert_int_equal(args.mode, 0);
}

CASE(leaves_operands_for_the_command)
{
    struct args args;

    assert_int_equal(PARSE4(&args, "trace.csv", "--json", "--", "--jobs"), 3);
    assert_true(args.json);
    assert_int_equal(args.jobs, 0);
}

static void assert_refused(int rc, const char *sentence)
{
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_string_equal(err.text, sentence);
}

CASE(names_the_unknown_option_and_the_nearest)
{
    struct args args;

    assert_refused(PARSE1(&args, "--sede=4"),
                   "unknown option '--sede' (did you mean '--seed'?)");
    assert_refused(PARSE1(&args, "--frobnicate"), "unknown option '--frobnicate'");
    assert_refused(PARSE1(&args, "-x"), "unknown option '-x'");
    assert_refused(PARSE1(&args, "-xj4"), "unknown option '-x'");
}

CASE(refuses_a_shortened_option)
{
    struct args args;

    assert_refused(PARSE2(&args, "--see", "4"),
                   "unknown option '--see' (did you mean '--seed'?)");
    assert_refused(PARSE2(&args, "--seed=3", "--see=4"),
                   "unknown option '--see' (did you mean '--seed'?)");
    assert_refused(PARSE1(&args, "--hel"),
                   "unknown option '--hel' (did you mean '--help'?)");
}

CASE(refuses_a_missing_or_superfluous_value)
{
    struct args args;

    assert_refused(PARSE1(&args, "--out"), "option --out needs a value (DIR)");
    assert_refused(PARSE1(&args, "-o"), "option --out needs a value (DIR)");
    assert_refused(PARSE1(&args, "--json=yes"), "option --json takes no value");
    assert_refused(PARSE1(&args, "--help=x"), "option --help takes no value");
}

CASE(refuses_values_outside_type_or_range)
{
    struct args args;

    assert_refused(PARSE1(&args, "--jobs=101"),
                   "option --jobs takes a whole number from 1 to 100, not '101'");
    assert_refused(PARSE1(&args, "--jobs=2x"),
                   "option --jobs takes a whole number from 1 to 100, not '2x'");
    assert_refused(PARSE1(&args, "--load=-1"),
                   "option --load takes a number from 0 to 2, not '-1'");
    assert_refused(PARSE1(&args, "--load=nan"),
                   "option --load takes a number from 0 to 2, not 'nan'");
    assert_refused(PARSE1(&args, "--span=-5m"),
                   "option --span takes a time such as 50ms, 90s, 10m or 2h, not '-5m'");
    assert_refused(PARSE1(&args, "--budget=5V"),
                   "option --budget takes a power such as 250W or 20kW, not '5V'");
    assert_refused(PARSE1(&args, "--mode=slow"),
                   "option --mode takes one of fast, exact, not 'slow'");
    assert_refused(PARSE1(&args, "--out="),
                   "option --out takes a text that is not empty, not ''");
}

CASE(stops_at_help)
{
    struct args args;

    assert_true(PARSE2(&args, "--help", "--nonsense") > 0);
    assert_true(help);
    assert_true(PARSE1(&args, "-h") > 0);
    assert_true(help);
    assert_true(PARSE1(&args, "--json") > 0);
    assert_false(help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_from_the_defaults),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(leaves_operands_for_the_command),
        cmocka_unit_test(names_the_unknown_option_and_the_nearest),
        cmocka_unit_test(refuses_a_shortened_option),
        cmocka_unit_test(refuses_a_missing_or_superfluous_value),
        cmocka_unit_test(refuses_values_outside_type_or_range),
        cmocka_unit_test(stops_at_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
