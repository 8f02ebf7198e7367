/* test_yaml.c - the tree of a YAML file and what is refused */
#include "base/mem.h"
#include "base/str.h"
#include "base/yaml.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct err err;

static struct yaml_node *parse(const char *text)
{
    struct yaml_node *root = NULL;

    err = (struct err){0};
    yaml_parse(&root, "f.yaml", text, strlen(text), &err);
    return root;
}

static void assert_refused(const char *text, enum err_code code, const char *begin)
{
    assert_null(parse(text));
    assert_int_equal(err.code, code);
    if (!str_starts(err.text, begin))
        fail_msg("'%s' does not begin with '%s'", err.text, begin);
}

CASE(keeps_order_text_and_positions)
{
    struct yaml_node *root = parse("a: 1\nlist:\n  - x: 'two'\n  -   three\n");
    const struct yaml_node *list, *x;

    assert_non_null(root);
    assert_int_equal(root->child_count, 2);
    assert_string_equal(yaml_get(root, "a")->text, "1");
    list = yaml_get(root, "list");
    assert_int_equal(list->kind, YAML_LIST);
    assert_int_equal(list->child_count, 2);
    x = yaml_get(&list->children[0], "x");
    assert_string_equal(x->text, "two");
    assert_true(x->quoted);
    assert_int_equal(x->line, 3);
    assert_int_equal(x->column, 8);
    assert_int_equal(x->key_column, 5);
    assert_string_equal(list->children[1].text, "three");
    assert_null(yaml_get(root, "nothing"));
    yaml_destroy(root);
}

CASE(an_empty_file_is_an_empty_mapping)
{
    struct yaml_node *root = parse("# only a comment\n");

    assert_non_null(root);
    assert_int_equal(root->kind, YAML_MAPPING);
    assert_int_equal(root->child_count, 0);
    yaml_destroy(root);
}

CASE(names_the_line_of_a_syntax_error)
{
    assert_refused("a: 1\nb: [1, 2\n", ERR_FORMAT, "f.yaml:3:1: ");
    assert_refused("a: 1\n b: 2\n", ERR_FORMAT, "f.yaml:2:3: ");
    assert_refused("\xff\xfe\xff", ERR_FORMAT, "f.yaml");
    assert_refused("a: \"cut short", ERR_FORMAT, "f.yaml:");
}

CASE(refuses_a_key_that_is_there_twice)
{
    assert_refused("a: 1\nb: 2\na: 3\n", ERR_FORMAT,
                   "f.yaml:3:1: the key 'a' is there twice (first in line 1)");
}

CASE(refuses_what_a_config_does_not_need)
{
    assert_refused("a: &x 1\nb: *x\n", ERR_UNSUPPORTED, "f.yaml:1:4: ");
    assert_refused("a: *x\n", ERR_UNSUPPORTED, "f.yaml:1:4: aliases");
    assert_refused("a: !!python/object x\n", ERR_UNSUPPORTED, "f.yaml:1:4: tags");
    assert_refused("a: &l [1]\n", ERR_UNSUPPORTED, "f.yaml:1:4: tags");
    assert_refused("a: &m {b: 1}\n", ERR_UNSUPPORTED, "f.yaml:1:4: tags");
    assert_refused("a: 1\n---\nb: 2\n", ERR_UNSUPPORTED, "f.yaml:2:1: ");
    assert_refused("? [a, b]\n: 1\n", ERR_FORMAT, "f.yaml:1:3: a key");
    assert_refused("a: \"\\0\"\n", ERR_FORMAT, "f.yaml:1:4: the value holds a NUL");
}

CASE(refuses_what_is_too_deep_too_long_or_too_large)
{
    size_t large = YAML_MAX_BYTES + 1;
    char *text = mem_array(char, large + 1);
    struct yaml_node *root = NULL;

    memset(text, '[', 1000000);
    assert_refused(text, ERR_LIMIT, "f.yaml:1:33: nested too deeply");
    memset(text, 'x', YAML_MAX_TEXT + 1);
    text[YAML_MAX_TEXT + 1] = '\0';
    assert_refused(text, ERR_LIMIT, "f.yaml:1:1: the value is too long");
    memset(text, '#', large);
    assert_int_equal(yaml_parse(&root, "f.yaml", text, large, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    free(text);
}

CASE(refuses_a_mapping_of_thousands_of_keys)
{
    struct str text = {0};

    for (int i = 0; i < 5000; i++)
        str_addf(&text, "k%d: 1\n", i);
    assert_refused(str_text(&text), ERR_LIMIT, "f.yaml:1001:1: too many keys");
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_text_and_positions),
        cmocka_unit_test(an_empty_file_is_an_empty_mapping),
        cmocka_unit_test(names_the_line_of_a_syntax_error),
        cmocka_unit_test(refuses_a_key_that_is_there_twice),
        cmocka_unit_test(refuses_what_a_config_does_not_need),
        cmocka_unit_test(refuses_what_is_too_deep_too_long_or_too_large),
        cmocka_unit_test(refuses_a_mapping_of_thousands_of_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
