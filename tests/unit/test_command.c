/* test_command.c - a small tree of commands: running it and what is generated from it */
#include "base/command.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct herd_args {
    int sheep;
    const char *map;
    int dog;
};

static int seen_sheep, seen_operands;

static int run_herd(struct command_call *call)
{
    const struct herd_args *args = call->args;

    seen_sheep = args->sheep;
    seen_operands = call->operand_count;
    return args->sheep == 13 ? 1 : 0;
}

static const char *const dogs[] = {"cardigan", "pembroke", NULL};

static const struct option_spec options[] = {
    {.name = "sheep",
     .letter = 's',
     .type = OPTION_INT,
     .argument = "N",
     .default_text = "3",
     .offset = offsetof(struct herd_args, sheep),
     .help = "how many"},
    {.name = "map",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct herd_args, map),
     .help = "where"},
    {.name = "dog",
     .type = OPTION_CHOICE,
     .choices = dogs,
     .offset = offsetof(struct herd_args, dog),
     .help = "which dog"},
    {0},
};

static const struct command herd = {
    .name = "herd",
    .summary = "bring the flock home",
    .help = "First paragraph.\n\n.Second one begins with a dot.",
    .operands = "FIELD [FIELD]",
    .options = options,
    .args_size = sizeof(struct herd_args),
    .run = run_herd,
};
static const struct command secret = {
    .name = "secret", .summary = "hide", .run = run_herd, .hidden = true};
static const struct command *const day_commands[] = {&herd, &secret, NULL};
static const struct command day = {
    .name = "day", .summary = "by day", .children = day_commands};
static const struct command *const farm_commands[] = {&day, NULL};
static const struct command farm = {
    .name = "farm", .summary = "run a farm", .children = farm_commands};

static int run_words(char *a, char *b, char *c, char *d)
{
    char name[] = "farm";
    char *argv[6] = {name, a, b, c, d, NULL};
    int argc = 1;

    while (argv[argc])
        argc++;
    seen_sheep = seen_operands = 0;
    return command_main(&farm, argc, argv);
}

CASE(runs_the_leaf_with_its_arguments)
{
    char word_day[] = "day", word_herd[] = "herd", field[] = "hill", s[] = "-s9";

    assert_int_equal(run_words(word_day, word_herd, field, s), 0);
    assert_int_equal(seen_sheep, 9);
    assert_int_equal(seen_operands, 1);
    assert_int_equal(run_words(word_day, word_herd, field, NULL), 0);
    assert_int_equal(seen_sheep, 3);
}

CASE(returns_the_status_of_the_leaf)
{
    char word_day[] = "day", word_herd[] = "herd", field[] = "hill", s[] = "-s13";

    assert_int_equal(run_words(word_day, word_herd, field, s), 1);
}

CASE(wrong_use_ends_with_2_and_does_not_run)
{
    char word_day[] = "day", word_herd[] = "herd", wrong[] = "hrd", s[] = "--seep";

    assert_int_equal(run_words(word_day, wrong, NULL, NULL), 2);
    assert_int_equal(run_words(word_day, NULL, NULL, NULL), 2);
    assert_int_equal(run_words(word_day, word_herd, NULL, NULL), 2);
    assert_int_equal(run_words(word_day, word_herd, wrong, s), 2);
    assert_int_equal(seen_operands, 0);
}

CASE(unknown_command_suggests_the_nearest_but_not_a_hidden_one)
{
    struct err err = {0};

    assert_int_equal(command_unknown(&day, "farm day", "hred", &err), -1);
    assert_string_equal(err.text,
                        "unknown command 'hred' (did you mean 'farm day herd'?)");
    command_unknown(&day, "farm day", "secrte", &err);
    assert_string_equal(err.text, "unknown command 'secrte'");
}

CASE(help_shows_options_with_defaults_and_choices)
{
    struct str text = {0};

    command_help_text(&text, &herd, "farm day herd");
    assert_string_equal(str_text(&text),
                        "Usage: farm day herd [OPTION]... FIELD [FIELD]\n"
                        "\n"
                        "First paragraph.\n"
                        "\n"
                        ".Second one begins with a dot.\n"
                        "\n"
                        "Options:\n"
                        "  -s, --sheep N           how many (default 3)\n"
                        "      --map FILE          where\n"
                        "      --dog VALUE         which dog: cardigan, pembroke\n"
                        "  -h, --help              show this help\n");
    str_fini(&text);
}

CASE(help_of_a_group_leaves_out_hidden_commands)
{
    struct str text = {0};

    command_help_text(&text, &day, "farm day");
    assert_non_null(strstr(str_text(&text), "  herd                    bring the flock"));
    assert_null(strstr(str_text(&text), "secret"));
    str_fini(&text);
}

CASE(help_keeps_lines_within_80_columns)
{
    static const struct command wordy = {
        .name = "w",
        .summary = "s",
        .help =
            "word word word word word word word word word word word word word word word "
            "word word word word word word word word word word word word word word",
    };
    struct str text = {0};

    command_help_text(&text, &wordy, "w");
    for (const char *line = str_text(&text); *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    str_fini(&text);
}

CASE(man_page_escapes_dashes_and_leading_dots)
{
    struct str page = {0};

    command_man_page(&page, &herd, "farm day herd");
    assert_non_null(strstr(str_text(&page), ".TH \"FARM\\-DAY\\-HERD\" 1"));
    assert_non_null(strstr(str_text(&page), "\\fB\\-\\-sheep\\fR \\fIN\\fR"));
    assert_non_null(strstr(str_text(&page), ".PP\n\\&.Second one"));
    assert_non_null(strstr(str_text(&page), "(default 3)"));
    str_fini(&page);
}

/* What bash offers after the typed words; the last word is the one under the cursor. */
static void complete(const char *words, char *offered, size_t size)
{
    struct str script = {0};
    struct err err = {0};
    FILE *pipe;
    size_t length;

    str_add(&script, "bash <<'END'\nset -u\n");
    assert_int_equal(command_completion_script(&script, &farm, "bash", &err), 0);
    str_addf(&script,
             "COMP_WORDS=(%s)\nCOMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n_farm\n"
             "echo \"${COMPREPLY[@]-}\"\nEND\n",
             words);
    pipe = popen(str_text(&script), "r");
    assert_non_null(pipe);
    length = fread(offered, 1, size - 1, pipe);
    offered[length] = '\0';
    pclose(pipe);
    str_fini(&script);
}

CASE(bash_completes_commands_options_and_choices)
{
    static const struct {
        const char *words, *offered;
    } cases[] = {
        {"farm ''", "day\n"},
        {"farm day h", "herd\n"},
        {"farm day herd --s", "--sheep\n"},
        {"farm day herd --", "--sheep --map --dog --help\n"},
        {"farm day herd --dog ''", "cardigan pembroke\n"},
        {"farm day herd --dog = p", "pembroke\n"},
        {"farm day herd --dog =", "cardigan pembroke\n"},
        {"farm day herd --map /et", "/etc\n"},
        {"farm day herd --sheep ''", "\n"},
        {"farm day herd --dog pembroke,c", "pembroke,cardigan\n"},
        {"farm -", "--help --version\n"},
    };
    char offered[4096];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        complete(cases[i].words, offered, sizeof(offered));
        assert_string_equal(offered, cases[i].offered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_the_leaf_with_its_arguments),
        cmocka_unit_test(returns_the_status_of_the_leaf),
        cmocka_unit_test(wrong_use_ends_with_2_and_does_not_run),
        cmocka_unit_test(unknown_command_suggests_the_nearest_but_not_a_hidden_one),
        cmocka_unit_test(help_shows_options_with_defaults_and_choices),
        cmocka_unit_test(help_of_a_group_leaves_out_hidden_commands),
        cmocka_unit_test(help_keeps_lines_within_80_columns),
        cmocka_unit_test(man_page_escapes_dashes_and_leading_dots),
        cmocka_unit_test(bash_completes_commands_options_and_choices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
