/* test_openapi.c - the routes and schemas in C and docs/openapi.yaml say the same */
#include "support/openapi.h"

#include "http/api.h"
#include "support/test.h"

#define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__)},

static const struct route routes[] = {API_ROUTES(ROUTE){0}};

static struct yaml_node *root;

static int load(void **state)
{
    (void)state;
    root = openapi_load();
    return 0;
}

static int unload(void **state)
{
    (void)state;
    yaml_destroy(root);
    return 0;
}

/* ---- routes ------------------------------------------------------------------------ */

static const struct route *route_of(const char *method, const char *pattern)
{
    for (const struct route *r = routes; r->operation; r++)
        if (!strcasecmp(http_method_names[r->method], method) &&
            !strcmp(r->pattern, pattern))
            return r;
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; at && (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

static int count_words(const char *words)
{
    int count = 0;

    for (; words && *words; words += strspn(words, " ")) {
        words += strcspn(words, " ");
        count++;
    }
    return count;
}

/* Query parameters are in the table; parameters of the path are in the pattern. */
static int check_parameters(const struct yaml_node *list, const struct route *r,
                            int *in_path)
{
    int in_query = 0;

    for (size_t i = 0; list && i < list->child_count; i++) {
        const struct yaml_node *p = openapi_resolve(root, &list->children[i]);
        const char *name = openapi_text(p, "name"), *in = openapi_text(p, "in");
        char braces[100];

        if (!strcmp(in, "query")) {
            in_query++;
            if (!has_word(r->query, name))
                fail_msg("%s: query parameter %s is not in the table", r->operation,
                         name);
        } else if (!strcmp(in, "path")) {
            ++*in_path;
            snprintf(braces, sizeof(braces), "{%s}", name);
            if (!strstr(r->pattern, braces))
                fail_msg("%s: %s is not in the path", r->operation, name);
        }
    }
    return in_query;
}

static void check_body(const struct yaml_node *operation, const struct route *r)
{
    const struct yaml_node *body = openapi_get(operation, "requestBody");
    const struct yaml_node *schema;
    const char *ref;

    if (!body) {
        assert_null(r->body);
        return;
    }
    body = openapi_resolve(root, body);
    schema = openapi_get(openapi_get(openapi_get(body, "content"), "application/json"),
                         "schema");
    ref = openapi_text(schema, "$ref");
    assert_non_null(ref);
    if (!r->body || strcmp(strrchr(ref, '/') + 1, r->body->name) != 0)
        fail_msg("%s: the body is %s", r->operation, ref);
    assert_int_equal(openapi_flag(body, "required"), !r->body->optional);
}

static void check_operation(const struct yaml_node *path,
                            const struct yaml_node *operation)
{
    const struct route *r = route_of(operation->key, path->key);
    int in_path = 0, in_query = 0, braces = 0;

    if (!r)
        fail_msg("%s %s is not in the table", operation->key, path->key);
    assert_string_equal(openapi_text(operation, "operationId"), r->operation);
    assert_string_equal(openapi_text(operation, "x-corgi-role"), auth_role_name(r->role));
    check_parameters(openapi_get(path, "parameters"), r, &in_path);
    in_query = check_parameters(openapi_get(operation, "parameters"), r, &in_path);
    for (const char *c = r->pattern; *c; c++)
        braces += *c == '{';
    assert_int_equal(in_path, braces);
    if (in_query != count_words(r->query))
        fail_msg("%s: the table has other query parameters: %s", r->operation, r->query);
    check_body(operation, r);
    /* Whatever changes something is audited, save measurements and reports, which come by
     * the thousand, and quotes, which change nothing. */
    if (r->method != HTTP_GET && strcmp(r->operation, "quote") != 0 &&
        strcmp(r->operation, "report") != 0 &&
        strcmp(r->operation, "report_measurements") != 0)
        assert_true(r->audit);
    assert_non_null(openapi_get(operation, "responses"));
    assert_non_null(openapi_text(operation, "summary"));
}

CASE(the_route_table_and_the_file_agree)
{
    const struct yaml_node *paths = openapi_get(root, "paths");
    size_t described = 0, counted = 0;

    for (size_t i = 0; i < paths->child_count; i++) {
        const struct yaml_node *path = &paths->children[i];

        for (size_t k = 0; k < path->child_count; k++) {
            if (!strcmp(path->children[k].key, "parameters"))
                continue;
            check_operation(path, &path->children[k]);
            described++;
        }
    }
    for (const struct route *r = routes; r->operation; r++)
        counted++;
    assert_int_equal(described, counted); /* each was found, none is there twice */
}

CASE(the_route_table_is_sound)
{
    for (const struct route *r = routes; r->operation; r++) {
        int params = 0, segments = 0;

        for (const char *c = r->pattern; *c; c++) {
            params += *c == '{';
            segments += *c == '/';
        }
        assert_true(r->pattern[0] == '/');
        assert_in_range(params, 0, ROUTE_MAX_PARAMS);
        assert_in_range(segments, 1, ROUTE_MAX_SEGMENTS);
        assert_true(!r->body || (r->method != HTTP_GET && r->method != HTTP_DELETE));
        for (const struct route *other = routes; other < r; other++) {
            assert_string_not_equal(other->operation, r->operation);
            if (other->method == r->method)
                assert_string_not_equal(other->pattern, r->pattern);
        }
    }
}

static void follow_refs(const struct yaml_node *node)
{
    if (openapi_text(node, "$ref"))
        assert_non_null(openapi_resolve(root, node));
    for (size_t i = 0; i < node->child_count; i++)
        follow_refs(&node->children[i]);
}

CASE(every_reference_leads_somewhere)
{
    follow_refs(root);
}

/* ---- schemas ----------------------------------------------------------------------- */

static void compare_schema(const struct schema *schema);

static void compare_field(const struct schema_field *f, const struct yaml_node *node,
                          const char *where)
{
    static const char *const types[] = {"boolean", "number", "integer", "string",
                                        "object",  "array",  "object"};
    const struct yaml_node *given = node, *choices;
    const char *ref = openapi_text(given, "$ref");

    node = openapi_resolve(root, given);
    if (strcmp(openapi_text(node, "type"), types[f->type]) != 0)
        fail_msg("%s: type %s", where, openapi_text(node, "type"));
    assert_int_equal(openapi_flag(node, "nullable"), f->nullable);
    if (f->type == SCHEMA_NUMBER || f->type == SCHEMA_INTEGER) {
        if (openapi_number(node, "minimum", NAN) != f->min ||
            openapi_number(node, "maximum", NAN) != f->max)
            fail_msg("%s: range", where);
        assert_int_equal(openapi_flag(node, "exclusiveMinimum"), f->above_min);
    }
    if (f->type == SCHEMA_STRING && !f->choices &&
        (openapi_number(node, "minLength", 0) != f->min ||
         openapi_number(node, "maxLength", NAN) != f->max))
        fail_msg("%s: length", where);
    if (f->type == SCHEMA_ARRAY && (openapi_number(node, "minItems", 0) != f->min ||
                                    openapi_number(node, "maxItems", NAN) != f->max))
        fail_msg("%s: count", where);
    choices = openapi_get(node, "enum");
    for (size_t i = 0; choices && i < choices->child_count; i++)
        assert_string_equal(choices->children[i].text, f->choices[i]);
    if (f->choices)
        assert_null(f->choices[choices ? choices->child_count : 0]);
    if (f->type == SCHEMA_OBJECT) {
        assert_string_equal(strrchr(ref, '/') + 1, f->schema->name);
        compare_schema(f->schema);
    }
    if (f->type == SCHEMA_ARRAY)
        compare_field(f->item, openapi_get(node, "items"), where);
    if (f->type == SCHEMA_MAP)
        compare_field(f->item, openapi_get(node, "additionalProperties"), where);
}

static void compare_schema(const struct schema *schema)
{
    const struct yaml_node *node = openapi_schema(root, schema->name);
    const struct yaml_node *properties = openapi_get(node, "properties");
    const struct yaml_node *required = openapi_get(node, "required");
    size_t count = 0, needed = 0;

    assert_string_equal(openapi_text(node, "additionalProperties"), "false");
    assert_int_equal((int)openapi_number(node, "minProperties", 0), schema->one_at_least);
    for (const struct schema_field *f = schema->fields; f->name; f++) {
        const struct yaml_node *property = openapi_get(properties, f->name);
        char where[160];

        snprintf(where, sizeof(where), "%s.%s", schema->name, f->name);
        if (!property)
            fail_msg("%s is not in the file", where);
        compare_field(f, property, where);
        assert_int_equal(openapi_listed(required, f->name), f->required);
        needed += f->required;
        count++;
    }
    assert_int_equal(properties->child_count, count);
    assert_int_equal(required ? required->child_count : 0, needed);
}

CASE(the_schemas_and_the_file_agree)
{
    for (const struct route *r = routes; r->operation; r++)
        if (r->body)
            compare_schema(r->body);
}

/* ---- bodies ------------------------------------------------------------------------ */

static bool ours_takes(const struct schema *schema, const struct json_value *value)
{
    char field[SCHEMA_PATH_SIZE];
    struct err err = {0};

    return schema_check(schema, value, field, &err) == 0;
}

/* Both must say the same of this body; returns what they say. */
static bool both_take(const struct schema *schema, const char *text)
{
    struct json_doc *doc = NULL;
    struct err err = {0};
    bool ours, theirs;

    if (json_doc_parse(&doc, text, strlen(text), "body", &err) < 0)
        fail_msg("%s: %s", text, err.text);
    ours = ours_takes(schema, json_doc_root(doc));
    theirs = openapi_valid(root, openapi_schema(root, schema->name), json_doc_root(doc));
    json_doc_destroy(doc);
    if (ours != theirs)
        fail_msg("%s: the table %s and the file %s\n%s", schema->name,
                 ours ? "takes" : "refuses", theirs ? "takes" : "refuses", text);
    return ours;
}

static const struct {
    const struct schema *schema;
    const char *body;
} good[] = {
    {&api_job_request, "{}"},
    {&api_job_request,
     "{\"name\":\"train\",\"kind\":\"training\",\"descriptor\":{\"family\":\"ResNet-50\","
     "\"model\":\"conv\",\"batch\":64},\"need\":{\"kind\":\"rate\",\"rate\":40,"
     "\"confidence\":0.9},\"total_steps\":1e6,\"gpus\":2,\"memory_gb\":10.5,"
     "\"priority\":-5,\"types\":[\"v100\",\"p100\"],\"share\":false,\"move\":true,"
     "\"command\":[\"python\",\"train.py\",\"\"],\"directory\":\"/home/ada\","
     "\"environment\":{\"A\":\"b\",\"C\":\"\"},\"stop_grace_s\":30}"},
    {&api_job_update, "{\"priority\":3}"},
    {&api_quote_request,
     "{\"job\":{\"gpus\":1},\"what_if\":[{\"gpus\":2},{\"share\":false}]}"},
    {&api_reason, "{}"},
    {&api_reason, "{\"reason\":\"because\"}"},
    {&api_node_power, "{\"state\":\"asleep\"}"},
    {&api_device_power, "{\"cap_watts\":150}"},
    {&api_device_power, "{\"cap_watts\":null}"},
    {&api_measurements, "{\"job\":7,\"attempt\":1,\"samples\":[{\"at_s\":1.7e9,\"window_"
                        "s\":10,\"rate\":41.5,"
                        "\"source\":\"heartbeat\",\"confidence\":1}]}"},
    {&api_policy_update, "{\"share\":2,\"confidence\":0.8}"},
    {&api_sim_advance, "{\"to_s\":12.5}"},
    {&api_quota, "{\"max_jobs\":10,\"max_gpus\":null}"},
    {&api_token_request, "{\"user\":\"ada\",\"role\":\"user\",\"expires_in_s\":null}"},
};

CASE(good_bodies_are_taken_by_both)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!both_take(good[i].schema, good[i].body))
            fail_msg("refused: %s", good[i].body);
}

CASE(malformed_bodies_are_refused_by_both)
{
    static const struct {
        const struct schema *schema;
        const char *body;
    } bad[] = {
        {&api_job_request, "[]"},
        {&api_job_request, "null"},
        {&api_job_request, "7"},
        {&api_job_request, "{\"nmae\":\"x\"}"},
        {&api_job_request, "{\"need\":{}}"},
        {&api_job_request, "{\"need\":{\"kind\":\"fast\"}}"},
        {&api_job_request, "{\"need\":{\"kind\":\"rate\",\"rate\":\"40\"}}"},
        {&api_job_request, "{\"need\":{\"kind\":\"rate\",\"rate\":-1}}"},
        {&api_job_request, "{\"need\":{\"kind\":\"rate\",\"rate\":1e300}}"},
        {&api_job_request, "{\"gpus\":0}"},
        {&api_job_request, "{\"gpus\":1.5}"},
        {&api_job_request, "{\"gpus\":65}"},
        {&api_job_request, "{\"name\":\"\"}"},
        {&api_job_request, "{\"command\":[]}"},
        {&api_job_request, "{\"command\":\"python\"}"},
        {&api_job_request, "{\"command\":[1]}"},
        {&api_job_request, "{\"environment\":{\"A\":1}}"},
        {&api_job_request, "{\"environment\":[]}"},
        {&api_job_request, "{\"share\":\"yes\"}"},
        {&api_job_request, "{\"priority\":null}"},
        {&api_job_request, "{\"descriptor\":{\"model\":\"magic\"}}"},
        {&api_job_update, "{}"},
        {&api_job_update, "{\"gpus\":2}"},
        {&api_quote_request, "{}"},
        {&api_quote_request, "{\"job\":{},\"what_if\":[{}]}"},
        {&api_reason, "{\"reason\":7}"},
        {&api_node_power, "{}"},
        {&api_node_power, "{\"state\":\"off\"}"},
        {&api_device_power, "{}"},
        {&api_device_power, "{\"cap_watts\":-1}"},
        {&api_measurements, "{\"job\":7,\"samples\":[]}"},
        {&api_measurements, "{\"job\":0,\"samples\":[{\"at_s\":1,\"window_s\":1}]}"},
        {&api_measurements, "{\"job\":7,\"samples\":[{\"at_s\":1,\"window_s\":0}]}"},
        {&api_measurements, "{\"job\":7,\"samples\":[{\"at_s\":1}]}"},
        {&api_policy_update, "{\"share\":3}"},
        {&api_sim_advance, "{}"},
        {&api_sim_advance, "{\"to_s\":-1}"},
        {&api_policy_update, "{\"confidence\":1}"},
        {&api_quota, "{\"max_jobs\":\"many\"}"},
        {&api_token_request, "{\"user\":\"ada\"}"},
        {&api_token_request, "{\"user\":\"ada\",\"role\":\"root\"}"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (both_take(bad[i].schema, bad[i].body))
            fail_msg("taken: %s", bad[i].body);
}

/* Each field of each schema with each of many values: never may one take what the other
 * refuses. */
CASE(any_value_in_any_field_gets_the_same_verdict)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1",
        "0.5",
        "2",
        "64",
        "65",
        "1e5",
        "1e9",
        "1e12",
        "1e16",
        "1e300",
        "-1e300",
        "\"\"",
        "\"x\"",
        "\"rate\"",
        "\"user\"",
        "\"awake\"",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaa"
        "aaaaaaaaaaaaaaaaaa\"",
        "[]",
        "[null]",
        "[\"x\"]",
        "[\"\"]",
        "[1]",
        "[{}]",
        "[[\"x\"]]",
        "{}",
        "{\"a\":\"b\"}",
        "{\"a\":1}",
        "{\"kind\":\"rate\"}",
        "{\"kind\":\"best_effort\",\"rate\":1}",
        "{\"batch\":1}",
        "[{\"gpus\":1}]",
        "[{\"at_s\":1,\"window_s\":1}]",
    };
    static const struct schema_field none = {0};
    struct str body = {0};
    int taken = 0, refused = 0;

    for (const struct route *r = routes; r->operation; r++) {
        for (const struct schema_field *f = r->body ? r->body->fields : &none; f->name;
             f++) {
            for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
                str_clear(&body);
                str_addf(&body, "{\"%s\":%s", f->name, values[v]);
                /* with what else is required, so that the field decides */
                for (const struct schema_field *o = r->body->fields; o->name; o++)
                    if (o->required && o != f)
                        str_addf(&body, ",\"%s\":%s", o->name,
                                 o->type == SCHEMA_OBJECT ? "{}"
                                 : o->type == SCHEMA_ARRAY
                                     ? "[{\"at_s\":1,\"window_s\":1}]"
                                 : o->type == SCHEMA_STRING ? "\"user\""
                                                            : "1");
                str_add(&body, "}");
                if (both_take(r->body, str_text(&body)))
                    taken++;
                else
                    refused++;
            }
        }
    }
    assert_true(taken > 100 && refused > 1000);
    str_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_route_table_and_the_file_agree),
        cmocka_unit_test(the_route_table_is_sound),
        cmocka_unit_test(every_reference_leads_somewhere),
        cmocka_unit_test(the_schemas_and_the_file_agree),
        cmocka_unit_test(good_bodies_are_taken_by_both),
        cmocka_unit_test(malformed_bodies_are_refused_by_both),
        cmocka_unit_test(any_value_in_any_field_gets_the_same_verdict),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
