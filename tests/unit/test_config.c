/* test_config.c - a config with every type of key */
#include "base/config.h"
#include "support/test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct node {
    char *name;
    char *gpu;
    int gpus;
    int line;
};

struct config {
    bool enabled;
    char *title;
    int jobs;
    uint64_t seed;
    double load;
    double round_s;
    int mode;
    struct {
        double budget_watts;
        int caps;
    } power;
    struct config_list nodes;
    struct config_list users;
};

static int check_gpu(const void *value, struct err *err)
{
    const char *name = *(char *const *)value;

    if (strcmp(name, "v100") != 0)
        return err_set(err, ERR_NOT_FOUND, "nobody knows the GPU '%s'", name);
    return 0;
}

static const char *const modes[] = {"advise", "control", NULL};

#define IN_NODE(field) .offset = offsetof(struct node, field)
#define IN(field)      .offset = offsetof(struct config, field)

static const struct config_key node_keys[] = {
    {.name = "name",
     .type = CONFIG_STRING,
     .required = true,
     .help = "the node's name",
     IN_NODE(name)},
    {.name = "gpu",
     .type = CONFIG_STRING,
     .check = check_gpu,
     .help = "its type",
     IN_NODE(gpu)},
    {.name = "gpus",
     .type = CONFIG_INT,
     .min = 1,
     .max = 64,
     .default_text = "4",
     .help = "how many",
     IN_NODE(gpus)},
    {.name = "line", .type = CONFIG_LINE, IN_NODE(line)},
    {0},
};
static const struct config_key power_keys[] = {
    {.name = "budget",
     .type = CONFIG_WATTS,
     .default_text = "20kW",
     .help = "at most",
     IN(power.budget_watts) - offsetof(struct config, power)},
    {.name = "caps",
     .type = CONFIG_INT,
     .help = "how many caps to try",
     IN(power.caps) - offsetof(struct config, power)},
    {0},
};
static const struct config_key keys[] = {
    {.name = "enabled",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .help = "run at all",
     IN(enabled)},
    {.name = "title",
     .type = CONFIG_STRING,
     .default_text = "it's: here",
     .help = "a name",
     IN(title)},
    {.name = "jobs",
     .type = CONFIG_INT,
     .min = 1,
     .max = 100,
     .default_text = "10",
     .help = "jobs a round",
     IN(jobs)},
    {.name = "seed", .type = CONFIG_U64, .help = "of the draws", IN(seed)},
    {.name = "load",
     .type = CONFIG_DOUBLE,
     .min = 0.1,
     .max = 2,
     .default_text = "0.5",
     .help = "share of the capacity",
     IN(load)},
    {.name = "round",
     .type = CONFIG_SECONDS,
     .default_text = "6m",
     .help = "time of a round",
     IN(round_s)},
    {.name = "mode",
     .type = CONFIG_CHOICE,
     .choices = modes,
     .default_text = "advise",
     .help = "what to do",
     IN(mode)},
    {.name = "power",
     .type = CONFIG_GROUP,
     .keys = power_keys,
     .help = "the power side",
     IN(power)},
    {.name = "nodes",
     .type = CONFIG_LIST,
     .keys = node_keys,
     .item_size = sizeof(struct node),
     .max = 3,
     .help = "the machines",
     IN(nodes)},
    {.name = "users", .type = CONFIG_STRINGS, .help = "who may", IN(users)},
    {0},
};

static struct err err;

static int parse(struct config *config, const char *text)
{
    err = (struct err){0};
    return config_parse(keys, config, sizeof(*config), "f.yaml", text, strlen(text),
                        &err);
}

static void assert_refused(const char *text, const char *sentence)
{
    struct config config = {.jobs = 77};

    assert_int_equal(parse(&config, text), -1);
    assert_string_equal(err.text, sentence);
    assert_int_equal(config.jobs, 77); /* untouched */
    assert_null(config.title);
}

static void assert_defaults(const struct config *config)
{
    assert_true(config->enabled);
    assert_string_equal(config->title, "it's: here");
    assert_int_equal(config->jobs, 10);
    assert_true(config->load == 0.5);
    assert_true(config->round_s == 360);
    assert_int_equal(config->mode, 0);
    assert_true(config->power.budget_watts == 20000);
    assert_int_equal(config->nodes.count, 0);
}

CASE(an_empty_file_gives_the_defaults)
{
    struct config config;

    assert_int_equal(parse(&config, ""), 0);
    assert_defaults(&config);
    config_fini(keys, &config);
}

CASE(the_documented_defaults_are_the_defaults)
{
    struct str text = {0};
    struct config config;

    config_document(keys, &text);
    assert_non_null(strstr(str_text(&text),
                           "# jobs a round; a whole number from 1 to 100\n"
                           "jobs: 10\n"));
    assert_non_null(strstr(str_text(&text), "#     # the node's name; required\n"));
    assert_int_equal(parse(&config, str_text(&text)), 0);
    assert_defaults(&config);
    config_fini(keys, &config);
    str_fini(&text);
}

CASE(reads_every_type)
{
    struct config config;
    const struct node *nodes;

    assert_int_equal(parse(&config, "enabled: no\n"
                                    "title: 12\n"
                                    "jobs: 5\n"
                                    "seed: 18446744073709551615\n"
                                    "load: 1.5\n"
                                    "round: \"90s\"\n"
                                    "mode: control\n"
                                    "power: {budget: 3kW}\n"
                                    "nodes:\n"
                                    "  - {name: one, gpu: v100}\n"
                                    "  - name: two\n"
                                    "    gpus: 8\n"
                                    "users: [ann, 'bob']\n"),
                     0);
    assert_false(config.enabled);
    assert_string_equal(config.title, "12");
    assert_int_equal(config.jobs, 5);
    assert_true(config.seed == UINT64_MAX);
    assert_true(config.load == 1.5);
    assert_true(config.round_s == 90);
    assert_int_equal(config.mode, 1);
    assert_true(config.power.budget_watts == 3000);
    assert_int_equal(config.nodes.count, 2);
    nodes = config.nodes.items;
    assert_string_equal(nodes[0].name, "one");
    assert_string_equal(nodes[0].gpu, "v100");
    assert_int_equal(nodes[0].gpus, 4);
    assert_int_equal(nodes[1].gpus, 8);
    assert_int_equal(nodes[1].line, 11);
    assert_string_equal(((char **)config.users.items)[1], "bob");
    config_fini(keys, &config);
    assert_null(config.title);
}

CASE(refuses_unknown_keys_with_the_nearest)
{
    assert_refused("jobs: 5\npower:\n  budgte: 5kW\n",
                   "f.yaml:3:3: unknown key 'budgte', did you mean 'budget'?");
    assert_refused("power: {volts: 12}\n",
                   "f.yaml:1:9: unknown key 'volts', known are budget, caps");
    assert_refused("nodes:\n  - name: a\n    line: 3\n",
                   "f.yaml:3:5: unknown key 'line', known are name, gpu, gpus");
}

CASE(refuses_values_of_the_wrong_type_or_range)
{
    assert_refused("jobs: many\n",
                   "f.yaml:1:7: 'jobs' takes a whole number from 1 to 100, not 'many'");
    assert_refused(
        "jobs: \"5\"\n",
        "f.yaml:1:7: 'jobs' takes a whole number from 1 to 100, not the text '5'");
    assert_refused("jobs: [5]\n",
                   "f.yaml:1:7: 'jobs' takes a whole number from 1 to 100, not a list");
    assert_refused("jobs: 101\n",
                   "f.yaml:1:7: 'jobs' takes a whole number from 1 to 100, not '101'");
    assert_refused("load: .nan\n",
                   "f.yaml:1:7: 'load' takes a number from 0.1 to 2, not '.nan'");
    assert_refused("load: nan\n",
                   "f.yaml:1:7: 'load' takes a number from 0.1 to 2, not 'nan'");
    assert_refused("round: -5m\n", "f.yaml:1:8: 'round' takes a time such as 50ms, 90s, "
                                   "10m or 2h, not '-5m'");
    assert_refused("round: 99999999999d\n",
                   "f.yaml:1:8: 'round' takes a time such as 50ms, 90s, "
                   "10m or 2h, not '99999999999d'");
    assert_refused("enabled: 7\n", "f.yaml:1:10: 'enabled' takes true or false, not '7'");
    assert_refused("mode: contrl\n",
                   "f.yaml:1:7: 'mode' takes one of advise, control, not 'contrl'");
    assert_refused("title:\n",
                   "f.yaml:1:7: 'title' has no value, it takes a text that is not empty");
    assert_refused("power: 5kW\n",
                   "f.yaml:1:8: 'power' takes a mapping of keys, not '5kW'");
    assert_refused("- jobs\n", "f.yaml:1:1: a config is a mapping of keys");
}

CASE(refuses_bad_lists)
{
    assert_refused("nodes: {name: a}\n",
                   "f.yaml:1:8: 'nodes' takes a list of mappings, not a mapping");
    assert_refused("nodes: [a]\n",
                   "f.yaml:1:9: 'nodes' takes a list of mappings, not 'a'");
    assert_refused("nodes: [{name: a}, {name: b}, {name: c}, {name: d}]\n",
                   "f.yaml:1:8: 'nodes' takes 0 to 3 items, not 4");
    assert_refused("users: [{a: b}]\n",
                   "f.yaml:1:9: 'users' takes a list of texts, not a mapping");
    assert_refused("nodes: [{name: a}, {gpus: 2}]\n",
                   "f.yaml:1:20: the key 'name' (the node's name) is missing");
}

CASE(a_check_of_the_caller_gets_the_position)
{
    assert_refused("title: t\nnodes:\n- name: a\n  gpu: k9\n",
                   "f.yaml:4:8: nobody knows the GPU 'k9'");
}

CASE(all_mistakes_are_told_a_line_each)
{
    struct str text = {0};

    assert_refused(
        "jobs: many\npower: {budgte: 1kW}\nnodes: [{gpus: 2}, {name: b}, {name: []}]\n",
        "f.yaml:1:7: 'jobs' takes a whole number from 1 to 100, not 'many'\n"
        "f.yaml:2:9: unknown key 'budgte', did you mean 'budget'?\n"
        "f.yaml:3:9: the key 'name' (the node's name) is missing\n"
        "f.yaml:3:38: 'name' takes a text that is not empty, not a list");
    for (int i = 0; i < 200; i++)
        str_addf(&text, "unknown-%d: 1\n", i);
    assert_int_equal(parse(&(struct config){0}, str_text(&text)), -1);
    assert_non_null(strstr(err.text, "f.yaml:2:1: unknown key 'unknown-1'"));
    assert_non_null(strstr(err.text, "\nand 1"));
    assert_string_equal(err.text + strlen(err.text) - strlen(" more mistakes"),
                        " more mistakes");
    str_fini(&text);
}

CASE(a_missing_file_is_named)
{
    struct config config;

    assert_int_equal(config_read(keys, &config, sizeof(config), "/nowhere/f.yaml", &err),
                     -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/f.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_gives_the_defaults),
        cmocka_unit_test(the_documented_defaults_are_the_defaults),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(refuses_unknown_keys_with_the_nearest),
        cmocka_unit_test(refuses_values_of_the_wrong_type_or_range),
        cmocka_unit_test(refuses_bad_lists),
        cmocka_unit_test(a_check_of_the_caller_gets_the_position),
        cmocka_unit_test(all_mistakes_are_told_a_line_each),
        cmocka_unit_test(a_missing_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
