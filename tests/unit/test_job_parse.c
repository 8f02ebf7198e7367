/* test_job_parse.c - a job as asked for in JSON, made into one of ours */
#include "loop_fixture.h"

#include "base/intern.h"
#include "base/json.h"
#include "service/job_parse.h"

#include <stdio.h>

struct reading {
    struct cluster *cluster;
    struct intern *classes;
    struct job_parse_context context;
    struct auth_identity who;
    struct json_doc *doc;
    struct parsed_job parsed;
    char field[SCHEMA_PATH_SIZE];
    struct err err;
};

static void begin(struct reading *x)
{
    *x = (struct reading){.cluster = fixture_cluster(),
                          .classes = intern_create(),
                          .who = {.role = AUTH_USER, .uid = AUTH_NO_ID, .name = "ada"}};
    x->context = (struct job_parse_context){.cluster = x->cluster,
                                            .classes = x->classes,
                                            .classes_max = 2,
                                            .priority_max = 10,
                                            .stop_grace_max_s = 300,
                                            .now_s = 1000};
}

static void forget(struct reading *x)
{
    job_parse_fini(&x->parsed);
    json_doc_destroy(x->doc);
    x->doc = NULL;
}

static void end(struct reading *x)
{
    forget(x);
    cluster_destroy(x->cluster);
    intern_destroy(x->classes);
}

static int parse(struct reading *x, const char *json)
{
    forget(x);
    assert_int_equal(json_doc_parse(&x->doc, json, strlen(json), "body", NULL), 0);
    return job_parse(&x->context, &x->who, json_doc_root(x->doc), &x->parsed, x->field,
                     &x->err);
}

static const struct job *job_of(const struct reading *x)
{
    return &x->parsed.job.request.job;
}

/* The request is refused, and the field that is wrong is named. */
static void assert_wrong(struct reading *x, const char *json, const char *field)
{
    assert_int_equal(parse(x, json), -1);
    assert_string_equal(x->field, field);
    assert_int_equal(x->err.code, ERR_INVALID);
}

static void what_is_left_out_is_filled_in(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(parse(&x, "{}"), 0);
    assert_string_equal(job_of(&x)->name, "job");
    assert_int_equal(job_of(&x)->devices, 1);
    assert_int_equal(job_of(&x)->kind, JOB_TRAINING);
    assert_int_equal(job_of(&x)->need.kind, NEED_BEST_EFFORT);
    assert_true(job_of(&x)->may_share && job_of(&x)->may_move);
    assert_true(job_of(&x)->submitted_s == 1000);
    assert_string_equal(x.parsed.job.request.user, "ada");
    assert_string_equal(x.parsed.job.request.directory, "/");
    assert_string_equal(job_of(&x)->descriptor.family, "ada:job");
    assert_false(x.parsed.job.progress.held);
    assert_int_equal(x.parsed.replicas.max, 1);
    end(&x);
}

static void members_of_the_body_are_taken_over(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(
        parse(&x, "{\"name\": \"n\", \"gpus\": 4, \"total_steps\": 500, \"hold\": true,"
                  " \"memory_gb\": 3, \"priority\": 7, \"share\": false, \"move\": false,"
                  " \"types\": [\"fast\", \"slow\"], \"environment\": {\"A\": \"b c\"},"
                  " \"command\": [\"python3\", \"-u\", \"dir/train-12.py\", \"--x\"],"
                  " \"need\": {\"kind\": \"rate\", \"rate\": 2.5}}"),
        0);
    assert_int_equal(job_of(&x)->devices, 4);
    assert_true(job_of(&x)->total_steps == 500 && job_of(&x)->memory_gb == 3);
    assert_int_equal(job_of(&x)->priority, 7);
    assert_false(job_of(&x)->may_share || job_of(&x)->may_move);
    assert_true(job_of(&x)->types_allowed == (1u << SLOW | 1u << FAST));
    assert_string_equal(x.parsed.job.request.types, "fast,slow");
    assert_string_equal(x.parsed.job.request.env[0], "A=b c");
    assert_string_equal(x.parsed.job.request.argv[2], "dir/train-12.py");
    assert_null(x.parsed.job.request.argv[4]);
    assert_int_equal(job_of(&x)->need.kind, NEED_RATE);
    assert_true(job_of(&x)->need.rate == 2.5);
    assert_true(x.parsed.job.progress.held);
    end(&x);
}

static void a_user_asks_for_no_more_priority_than_allowed(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_wrong(&x, "{\"priority\": 11}", "priority");
    assert_non_null(strstr(x.err.text, "above 10"));
    assert_int_equal(parse(&x, "{\"priority\": 10}"), 0);
    assert_int_equal(parse(&x, "{\"priority\": -500}"), 0);
    assert_int_equal(job_of(&x)->priority, -500);
    x.context.priority_max = -3; /* then nobody begins above it either */
    assert_int_equal(parse(&x, "{}"), 0);
    assert_int_equal(job_of(&x)->priority, -3);
    end(&x);
}

static void a_change_raises_no_priority_above_the_limit(void **state)
{
    static const char raise[] = "{\"priority\": 11}", rename[] = "{\"name\": \"b\"}";
    struct parsed_job old = {.job.request.job = {.priority = 99}}; /* by an operator */
    struct json_doc *doc;
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(json_doc_parse(&doc, raise, strlen(raise), "change", NULL), 0);
    assert_int_equal(
        job_parse_change(&x.context, json_doc_root(doc), &old, x.field, &x.err), -1);
    assert_string_equal(x.field, "priority");
    json_doc_destroy(doc);
    assert_int_equal(json_doc_parse(&doc, rename, strlen(rename), "change", NULL), 0);
    assert_int_equal(
        job_parse_change(&x.context, json_doc_root(doc), &old, x.field, &x.err), 0);
    assert_int_equal(old.job.request.job.priority, 99);
    json_doc_destroy(doc);
    end(&x);
}

static void the_time_to_stop_is_bounded(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_wrong(&x, "{\"stop_grace_s\": 301}", "stop_grace_s");
    assert_int_equal(parse(&x, "{\"stop_grace_s\": 300}"), 0);
    assert_int_equal(parse(&x, "{}"), 0);
    assert_true(x.parsed.job.request.stop_grace_s == 30);
    x.context.stop_grace_max_s = 5; /* less than what goes without saying */
    assert_int_equal(parse(&x, "{}"), 0);
    assert_true(x.parsed.job.request.stop_grace_s == 5);
    end(&x);
}

static void real_programs_need_an_account(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    x.context.account_needed = true;
    x.who.uid = 0;
    assert_int_equal(parse(&x, "{}"), 0);
    x.who.uid = 2000000321;
    assert_wrong(&x, "{}", "");
    assert_non_null(strstr(x.err.text, "no account"));
    x.who.uid = AUTH_NO_ID;
    assert_wrong(&x, "{}", "");
    end(&x);
}

/* What the command with these words, as JSON, is taken for. */
static const char *family_of(struct reading *x, const char *words)
{
    char json[200];

    snprintf(json, sizeof(json), "{\"command\": [%s]}", words);
    assert_int_equal(parse(x, json), 0);
    return job_of(x)->descriptor.family;
}

static void user_program_and_arguments_tell_what_is_alike(void **state)
{
    struct reading x;
    char one[DESCRIPTOR_FAMILY_SIZE];

    (void)state;
    begin(&x);
    /* The script counts, not its interpreter or where it is. */
    assert_string_equal(family_of(&x, "\"python3\", \"dir/train-12.py\""),
                        "ada:train-12.py");
    str_copy(one, sizeof(one), family_of(&x, "\"python3\", \"a/t.py\", \"--bert\""));
    assert_memory_equal(one, "ada:t.py#", 9);
    assert_string_equal(family_of(&x, "\"python\", \"b/t.py\", \"--bert\""), one);
    assert_string_not_equal(family_of(&x, "\"python\", \"t.py\", \"--lstm\""), one);
    assert_string_not_equal(family_of(&x, "\"t.py\", \"--bert\", \"-v\""), one);
    str_copy(one, sizeof(one), family_of(&x, "\"a\", \"bc\", \"d\""));
    assert_string_not_equal(family_of(&x, "\"a\", \"b\", \"cd\""), one);
    end(&x);
}

static void users_without_a_number_are_told_apart(void **state)
{
    struct reading x;
    int ada;

    (void)state;
    begin(&x);
    assert_int_equal(parse(&x, "{}"), 0);
    ada = job_of(&x)->owner;
    str_copy(x.who.name, sizeof(x.who.name), "bob");
    assert_int_equal(parse(&x, "{}"), 0);
    assert_int_not_equal(job_of(&x)->owner, ada);
    assert_true(ada < 0 && job_of(&x)->owner < 0); /* and apart from those with one */
    end(&x);
}

static void numbers_at_the_end_of_a_name_do_not_make_another_kind(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(parse(&x, "{\"name\": \"sweep-3_17\"}"), 0);
    assert_string_equal(job_of(&x)->descriptor.family, "ada:sweep");
    assert_int_equal(parse(&x, "{\"descriptor\": {\"family\": \"mine-2\"}}"), 0);
    assert_string_equal(job_of(&x)->descriptor.family, "mine-2");
    end(&x);
}

static void what_is_wrong_is_named_by_field(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_wrong(&x, "{\"types\": [\"slow\", \"none\"]}", "types[1]");
    assert_wrong(&x, "{\"need\": {\"kind\": \"rate\"}}", "need.rate");
    assert_wrong(&x, "{\"need\": {\"kind\": \"service\", \"rate\": 1}}", "need.kind");
    assert_wrong(&x, "{\"total_steps\": 1, \"need\": {\"kind\": \"deadline\"}}",
                 "need.deadline_s");
    assert_wrong(&x,
                 "{\"total_steps\": 1, \"need\": {\"kind\": \"deadline\","
                 " \"deadline_s\": 2000, \"within_s\": 5}}",
                 "need.deadline_s");
    assert_wrong(&x,
                 "{\"total_steps\": 1, \"need\": {\"kind\": \"deadline\","
                 " \"deadline_s\": 999}}",
                 "need.deadline_s");
    assert_wrong(&x, "{\"need\": {\"kind\": \"deadline\", \"within_s\": 5}}",
                 "total_steps");
    assert_wrong(&x, "{\"max_replicas\": 2}", "max_replicas");
    assert_wrong(&x, "{\"scale_to_zero\": true}", "scale_to_zero");
    assert_wrong(&x, "{\"directory\": \"here\"}", "directory");
    assert_wrong(&x, "{\"command\": [\"\"]}", "command[0]");
    assert_wrong(&x, "{\"environment\": {\"A=B\": \"c\"}}", "environment");
    x.context.command_needed = true;
    assert_wrong(&x, "{}", "command");
    end(&x);
}

static void a_time_until_the_deadline_counts_from_now(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(parse(&x, "{\"total_steps\": 10, \"need\": {\"kind\": \"deadline\","
                               " \"within_s\": 60, \"rate\": 3}}"),
                     0);
    assert_true(job_of(&x)->need.deadline_s == 1060);
    assert_true(job_of(&x)->need.rate == 0); /* it follows from the deadline */
    end(&x);
}

static void replicas_of_a_service_are_read(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(
        parse(&x, "{\"kind\": \"inference\", \"max_replicas\": 3, \"scale_to_zero\": "
                  "true, \"need\": {\"kind\": \"service\", \"rate\": 9}}"),
        0);
    assert_true(x.parsed.replicas.scale_to_zero);
    assert_int_equal(x.parsed.replicas.max, 3);
    end(&x);
}

static void kinds_without_end_become_one_kind_of_their_user(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parse(&x, i ? "{\"name\": \"a\"}" : "{\"name\": \"b\"}"), 0);
        job_parse_know_class(x.classes, job_of(&x));
    }
    assert_int_equal(parse(&x, "{\"name\": \"c\"}"), 0);
    assert_string_equal(job_of(&x)->descriptor.family, "ada:other");
    assert_int_equal(parse(&x, "{\"name\": \"a\"}"), 0);
    assert_string_equal(job_of(&x)->descriptor.family, "ada:a");
    end(&x);
}

static void asking_makes_no_kind_known(void **state)
{
    struct reading x;

    (void)state;
    begin(&x);
    for (int i = 0; i < 10; i++) {
        char body[40];

        snprintf(body, sizeof(body), "{\"name\": \"%c\"}", 'a' + i);
        assert_int_equal(parse(&x, body), 0);
        assert_string_not_equal(job_of(&x)->descriptor.family, "ada:other");
    }
    assert_int_equal(intern_count(x.classes), 0);
    end(&x);
}

static void a_change_leaves_what_it_does_not_name(void **state)
{
    static const char change[] = "{\"priority\": 2, \"need\": {\"kind\": \"rate\", "
                                 "\"rate\": 1}}";
    struct json_doc *doc;
    struct reading x;

    (void)state;
    begin(&x);
    assert_int_equal(parse(&x, "{\"name\": \"n\", \"gpus\": 2, \"types\": [\"slow\"]}"),
                     0);
    assert_int_equal(json_doc_parse(&doc, change, strlen(change), "change", NULL), 0);
    assert_int_equal(
        job_parse_change(&x.context, json_doc_root(doc), &x.parsed, x.field, &x.err), 0);
    json_doc_destroy(doc);
    assert_string_equal(job_of(&x)->name, "n");
    assert_int_equal(job_of(&x)->devices, 2);
    assert_true(job_of(&x)->types_allowed == 1u << SLOW);
    assert_int_equal(job_of(&x)->priority, 2);
    assert_int_equal(job_of(&x)->need.kind, NEED_RATE);
    end(&x);
}

static void a_digest_does_not_depend_on_blanks(void **state)
{
    static const char *const texts[] = {"{\"a\":[1,2],\"b\":null}",
                                        "{ \"a\": [1, 2],\n \"b\": null }",
                                        "{\"a\":[1,3],\"b\":null}"};
    unsigned char digests[3][STORE_DIGEST_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct json_doc *doc;

        assert_int_equal(json_doc_parse(&doc, texts[i], strlen(texts[i]), "x", NULL), 0);
        job_parse_digest(json_doc_root(doc), digests[i]);
        json_doc_destroy(doc);
    }
    assert_memory_equal(digests[0], digests[1], STORE_DIGEST_BYTES);
    assert_memory_not_equal(digests[0], digests[2], STORE_DIGEST_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_filled_in),
        cmocka_unit_test(members_of_the_body_are_taken_over),
        cmocka_unit_test(a_user_asks_for_no_more_priority_than_allowed),
        cmocka_unit_test(a_change_raises_no_priority_above_the_limit),
        cmocka_unit_test(the_time_to_stop_is_bounded),
        cmocka_unit_test(real_programs_need_an_account),
        cmocka_unit_test(numbers_at_the_end_of_a_name_do_not_make_another_kind),
        cmocka_unit_test(what_is_wrong_is_named_by_field),
        cmocka_unit_test(a_time_until_the_deadline_counts_from_now),
        cmocka_unit_test(replicas_of_a_service_are_read),
        cmocka_unit_test(kinds_without_end_become_one_kind_of_their_user),
        cmocka_unit_test(user_program_and_arguments_tell_what_is_alike),
        cmocka_unit_test(users_without_a_number_are_told_apart),
        cmocka_unit_test(asking_makes_no_kind_known),
        cmocka_unit_test(a_change_leaves_what_it_does_not_name),
        cmocka_unit_test(a_digest_does_not_depend_on_blanks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
