/* test_options_words.c - parsed options as they would be typed */
#include "lab/commands/sim_args.h"
#include "support/test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct args {
    const char *file;
    const char *list;
    uint64_t seed;
    int count;
    double days;
    double wait_s;
    bool loud;
    int colour;
};

static const char *const colours[] = {"red", "blue", NULL};
static const char *const nothing[] = {NULL};

static const struct option_spec specs[] = {
    {.name = "file", .type = OPTION_STRING, .offset = offsetof(struct args, file)},
    {.name = "list",
     .type = OPTION_STRING,
     .default_text = "a,b",
     .offset = offsetof(struct args, list)},
    {.name = "seed",
     .type = OPTION_U64,
     .default_text = "1",
     .offset = offsetof(struct args, seed)},
    {.name = "count", .type = OPTION_INT, .offset = offsetof(struct args, count)},
    {.name = "days", .type = OPTION_DOUBLE, .offset = offsetof(struct args, days)},
    {.name = "wait",
     .type = OPTION_SECONDS,
     .default_text = "10m",
     .offset = offsetof(struct args, wait_s)},
    {.name = "loud", .type = OPTION_FLAG, .offset = offsetof(struct args, loud)},
    {.name = "colour",
     .type = OPTION_CHOICE,
     .choices = colours,
     .default_text = "red",
     .offset = offsetof(struct args, colour)},
    {0},
};

static struct args args;

static int set_up(void **state)
{
    (void)state;
    args = (struct args){0};
    options_defaults(specs, &args);
    return 0;
}

static void assert_words(const char *const *except, const char *wanted)
{
    struct str out = {0};

    options_words(specs, &args, sizeof(args), except, &out);
    assert_string_equal(str_text(&out), wanted);
    str_fini(&out);
}

CASE(defaults_need_no_words)
{
    assert_words(nothing, "");
    args.list = "a,b";
    assert_words(nothing, "");
}

CASE(what_differs_is_typed_in_order)
{
    args = (struct args){.file = "x.csv",
                         .list = "c",
                         .seed = UINT64_MAX,
                         .count = -3,
                         .days = 0.1,
                         .wait_s = 90,
                         .loud = true,
                         .colour = 1};
    assert_words(nothing, " --file x.csv --list c --seed 18446744073709551615 --count -3 "
                          "--days 0.1 --wait 90 --loud --colour blue");
}

CASE(exceptions_are_left_out)
{
    static const char *const except[] = {"file", "loud", NULL};

    args.file = "x";
    args.loud = true;
    args.count = 2;
    assert_words(except, " --count 2");
}

CASE(a_shell_reads_the_same_words)
{
    args.file = "it's $HOME & <more>";
    assert_words(nothing, " --file 'it'\\''s $HOME & <more>'");
    args.file = "";
    assert_words(nothing, " --file ''");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_need_no_words, set_up),
        cmocka_unit_test_setup(what_differs_is_typed_in_order, set_up),
        cmocka_unit_test_setup(exceptions_are_left_out, set_up),
        cmocka_unit_test_setup(a_shell_reads_the_same_words, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
