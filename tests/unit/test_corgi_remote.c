/* test_corgi_remote.c - the commands that talk to a daemon, against a small server
 *
 * The server answers every route of the API with an example that satisfies the OpenAPI
 * file, and notes what it was asked.  The commands run as real processes. */
#include "support/http_case.h"
#include "support/openapi.h"

#include "http/api.h"
#include "http/sse.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define JOB                                                                              \
    "{\"id\":7,\"name\":\"train\",\"user\":\"ada\",\"uid\":1000,\"kind\":\"training\","  \
    "\"state\":\"running\",\"reason\":null,\"need\":{\"kind\":\"rate\",\"rate\":40,"     \
    "\"confidence\":0.9},\"required_rate\":40,\"promised_rate\":41,\"rate\":41.5,"       \
    "\"rate_ratio\":1.0375,\"total_steps\":1000000,\"steps_done\":1000,\"gpus\":1,"      \
    "\"priority\":0,\"submitted_s\":1000,\"started_s\":1010,\"ended_s\":null,"           \
    "\"devices\":[{\"device\":3,\"name\":\"n1:3\",\"node\":\"n1\",\"type\":\"v100\"}],"  \
    "\"neighbours\":[{\"job\":3,\"name\":\"bert\"}],\"joules\":7200,\"joules_low\":"     \
    "7000,"                                                                              \
    "\"joules_high\":7500,\"watts\":120,\"moves\":0,\"restarts\":0,"                     \
    "\"command\":[\"python\",\"train.py\"],\"directory\":\"/home/ada\",\"quote\":" QUOTE \
    "}"
#define QUOTE                                                                            \
    "{\"verdict\":\"accepted\",\"reason\":\"it fits\",\"promised_rate\":41,"             \
    "\"confidence\":0.9,\"rate\":{\"value\":43,\"low\":41,\"high\":46,"                  \
    "\"source\":\"measured\",\"observations\":4},\"watts\":null,\"joules\":{\"value\":"  \
    "3600000,\"low\":3000000,\"high\":4000000},\"type\":\"v100\",\"node\":\"n1\","       \
    "\"neighbour\":{\"job\":3,\"name\":\"bert\"},\"start_s\":1000,\"end_s\":26000,"      \
    "\"counter_offers\":[]}"
#define COUNTER                                                                          \
    "{\"verdict\":\"counter\",\"reason\":\"no type is that fast\",\"confidence\":0.9,"   \
    "\"promised_rate\":null,\"counter_offers\":[{\"kind\":\"lower_rate\","               \
    "\"text\":\"30 steps/s on v100 at once\",\"rate\":30}]}"
#define DEVICE                                                                           \
    "{\"id\":3,\"name\":\"n1:3\",\"node\":\"n1\",\"type\":\"v100\",\"state\":\"busy\","  \
    "\"cap_watts\":150,\"watts\":140,\"modelled\":true,\"jobs\":[{\"job\":7,"            \
    "\"name\":\"train\"}]}"
#define NODE                                                                             \
    "{\"name\":\"n1\",\"state\":\"awake\",\"drained\":true,\"reason\":\"new fan\","      \
    "\"devices\":[" DEVICE "]}"

#define POLICY                                                                           \
    "{\"share\":2,\"sleep\":true,\"caps\":true,\"moves\":true,\"confidence\":0.8,"       \
    "\"power_limit_watts\":20000,\"power_limit_hours\":[{\"from_minute\":450,"           \
    "\"to_minute\":1200,\"watts\":12000}],\"power_limit_now_watts\":12000,"              \
    "\"changed_s\":1000,\"changed_by\":\"ada\"}"

static const struct example {
    const char *operation;
    const char *schema; /* NULL: has none of its own */
    const char *json;
} examples[] = {
    {"health", "Status", "{\"status\":\"ok\"}"},
    {"ready", "Status", "{\"status\":\"ready\"}"},
    {"version", "Version", "{\"version\":\"0.1.0\",\"api\":\"v1\",\"now_s\":1100}"},
    {"whoami", "Identity", "{\"user\":\"ada\",\"role\":\"user\",\"local\":true}"},
    {"list_jobs", "JobList", "{\"jobs\":[" JOB "],\"next\":null,\"total\":1}"},
    {"show_job", "Job", JOB},
    {"cancel_job", "Job", JOB},
    {"hold_job", "Job", JOB},
    {"release_job", "Job", JOB},
    {"requeue_job", "Job", JOB},
    {"submit_job", "Submission", "{\"job\":" JOB ",\"quote\":" QUOTE "}"},
    {"job_history", "History",
     "{\"events\":[{\"id\":1,\"at_s\":1000,\"kind\":\"submitted\",\"from\":null,"
     "\"to\":\"waiting\",\"by\":\"ada\",\"text\":null}],\"next\":null}"},
    {"job_output", "Output",
     "{\"job\":7,\"attempt\":1,\"attempts\":1,\"state\":\"failed\",\"ended\":true,"
     "\"all_attempts\":false,\"file\":\"/var/7/output\",\"size\":18,\"offset\":0,"
     "\"next\":18,\"text\":\"epoch 3\\nloss 0.25\\n\",\"missing\":false,"
     "\"note\":null}"},
    {"quote", "QuoteAnswer",
     "{\"quote\":" QUOTE ",\"what_if\":[{\"change\":{\"gpus\":2},\"quote\":" COUNTER
     "}]}"},
    {"list_nodes", NULL, "{\"nodes\":[" NODE "]}"},
    {"show_node", "Node", NODE},
    {"drain_node", "Node", NODE},
    {"resume_node", "Node", NODE},
    {"drain_device", "Device", DEVICE},
    {"resume_device", "Device", DEVICE},
    {"estimates", "Estimates",
     "{\"cells\":[{\"job\":7,\"name\":\"train\",\"type\":\"v100\",\"beside\":[],\"rate\":"
     "{"
     "\"value\":43,\"low\":41,\"high\":46,\"source\":\"measured\",\"observations\":4},"
     "\"watts\":null,\"fits\":1,\"meets\":true}],\"truncated\":false}"},
    {"list_decisions", "DecisionList",
     "{\"decisions\":[{\"id\":11,\"at_s\":1010,\"kind\":\"start\",\"job\":7,\"devices\":["
     "{"
     "\"device\":3,\"name\":\"n1:3\",\"node\":\"n1\",\"type\":\"v100\"}],\"reason\":"
     "\"least energy that keeps 40 "
     "steps/s\",\"rate\":{\"value\":43,\"low\":41,\"high\":46,"
     "\"source\":\"measured\"},\"watts\":120,\"joules\":3600000,\"measured_rate\":41.5,"
     "\"alternatives\":[{\"type\":\"p100\",\"beside\":null,\"verdict\":\"too_slow\","
     "\"more_watts\":null},{\"type\":\"a100\",\"beside\":3,\"verdict\":\"possible\","
     "\"more_watts\":40,\"more_joules\":900000,\"rate\":90}]}],\"next\":null}"},
    {"energy", "Energy",
     "{\"by\":\"user\",\"from_s\":0,\"to_s\":1100,\"joules\":7200,\"rows\":[{\"key\":"
     "\"ada\",\"joules\":7200,\"gpu_s\":3600,\"modelled_share\":0.5,\"steps\":100}]}"},
    {"make_token", "NewToken",
     "{\"id\":\"0123456789abcdef\",\"token\":\"corgi-0123456789abcdef-x\",\"user\":"
     "\"ada\",\"role\":\"user\"}"},
    {"list_tokens", NULL,
     "{\"tokens\":[{\"id\":\"0123456789abcdef\",\"user\":\"ada\",\"role\":\"user\","
     "\"created_s\":0,\"expires_s\":null,\"note\":\"laptop\"}]}"},
    {"list_quotas", NULL,
     "{\"quotas\":[{\"user\":\"ada\",\"max_jobs\":20,\"max_running\":null,\"jobs\":3,"
     "\"running\":2,\"gpus\":2}]}"},
    {"set_quota", "Quota", "{\"user\":\"ada\",\"max_jobs\":20}"},
    {"show_policy", "Policy", POLICY},
    {"update_policy", "Policy", POLICY},
    {0},
};

static struct http_case c;
static struct sse_hub *hub;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next three */
static struct str asked;                                 /* path, key and body of all */
static bool counter;    /* the next submission is refused */
static atomic_int lose; /* so many answers to submissions get lost */
static char last_key[64];

static bool take_flag(bool *flag)
{
    bool was;

    pthread_mutex_lock(&lock);
    was = *flag;
    *flag = false;
    pthread_mutex_unlock(&lock);
    return was;
}

static void note(struct request *r)
{
    const char *key = head_field(&r->head, "idempotency-key");
    const struct json_value *body = r->body;
    const struct json_value *job =
        json_value_get(body, "job") ? json_value_get(body, "job") : body;
    const struct json_value *words = json_value_get(job, "command");
    double rate = -1;

    json_value_number(json_value_get(json_value_get(job, "need"), "rate"), &rate);
    pthread_mutex_lock(&lock);
    str_addf(&asked, "%s %s", http_method_names[r->head.method], r->path);
    str_addf(&asked, " rate=%g command=", rate);
    for (size_t i = 0; i < json_value_count(words); i++)
        str_addf(&asked, "[%s]", json_value_string(json_value_item(words, i)));
    if (json_value_string(json_value_get(job, "name")))
        str_addf(&asked, " name=%s", json_value_string(json_value_get(job, "name")));
    if (json_value_string(json_value_get(json_value_get(job, "environment"), "CORGI_X")))
        str_add(&asked, " exported");
    if (json_value_get(json_value_get(job, "environment"), "CORGI_TOKEN"))
        str_add(&asked, " LEAKED");
    if (json_value_string(json_value_get(body, "reason")))
        str_addf(&asked, " reason=%s", json_value_string(json_value_get(body, "reason")));
    if (uri_query_get(&r->query, "state"))
        str_addf(&asked, " state=%s", uri_query_get(&r->query, "state"));
    if (uri_query_get(&r->query, "user"))
        str_addf(&asked, " user=%s", uri_query_get(&r->query, "user"));
    if (key) {
        str_addf(&asked, " %s", strcmp(key, last_key) ? "newkey" : "samekey");
        str_copy(last_key, sizeof(last_key), key);
    }
    str_add(&asked, "\n");
    pthread_mutex_unlock(&lock);
}

static void answer_example(struct request *r)
{
    if (r->head.method == HTTP_DELETE) {
        request_answer_bytes(r, 204, NULL, "", 0);
        return;
    }
    for (const struct example *e = examples; e->operation; e++) {
        if (!strcmp(e->operation, r->match.route->operation)) {
            request_answer_bytes(r, !strcmp(e->operation, "submit_job") ? 201 : 200,
                                 "application/json", e->json, strlen(e->json));
            return;
        }
    }
    request_answer_error(r, 501, "unsupported", NULL, "the test has no example");
}

static void send_events(void *ctx)
{
    (void)ctx;
    sse_hub_send(hub, &(struct sse_event){.id = 5,
                                          .type = "job",
                                          .data = "{\"id\":7,\"state\":\"running\"}",
                                          .job = 7,
                                          .owner = SSE_EVERYBODY});
    sse_hub_send(hub, &(struct sse_event){.id = 6,
                                          .type = "job",
                                          .data = "{\"id\":7,\"state\":\"failed\","
                                                  "\"reason\":\"exit status 3\"}",
                                          .job = 7,
                                          .owner = SSE_EVERYBODY});
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static const struct streaming_reply_events nothing = {ignore, ignore};

static void handle(void *ctx, struct request *r)
{
    const char *operation = r->match.route->operation;

    (void)ctx;
    note(r);
    if (!strcmp(operation, "events")) {
        sse_hub_join(hub, r, &(struct sse_subscription){.owner = SSE_EVERYBODY}, 4);
        reactor_post(c.reactor, send_events, NULL);
    } else if (!strcmp(operation, "show_job") && !strcmp(request_param(r, "id"), "404")) {
        request_answer_error(r, 404, "not_found", NULL, "there is no job 404");
    } else if (!strcmp(operation, "cancel_job") && !strcmp(request_param(r, "id"), "8")) {
        request_answer_error(r, 403, "forbidden", NULL, "job 8 is bob's");
    } else if (!strcmp(operation, "submit_job") && take_flag(&counter)) {
        const char *text = "{\"error\":{\"code\":\"infeasible\",\"message\":\"40 steps/s "
                           "cannot be promised\",\"quote\":" COUNTER "}}";

        request_answer_bytes(r, 422, "application/json", text, strlen(text));
    } else if (!strcmp(operation, "submit_job") && lose > 0) {
        lose--;
        /* The job is taken, but the answer is cut off. */
        streaming_reply_end(streaming_reply_begin(
            r, "application/json\r\nContent-Length: 9999", &nothing, NULL, 0));
    } else {
        answer_example(r);
    }
}

#define ROUTE(op, verb, path, least, names, schema, audited)                             \
    {API_ROUTE(op, verb, path, NOBODY, names, schema, false), .handle = handle},

static const struct route routes[] = {API_ROUTES(ROUTE){0}};

/* ---- running the program ----------------------------------------------------------- */

static char program[400];

static bool find_program(void)
{
    const char *folder = getenv("CORGI_BIN");
    char self[300] = "";

    if (folder) {
        snprintf(program, sizeof(program), "%s/corgi", folder);
    } else {
        if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
            return false;
        *strrchr(self, '/') = '\0';
        snprintf(program, sizeof(program), "%s/../bin/corgi", self);
    }
    return access(program, X_OK) == 0;
}

/* Run `corgi ARGS` and return what it printed, both streams; the caller frees. */
static char *corgi(const char *args, int want)
{
    struct str command = {0}, out = {0};
    char bytes[4096];
    size_t count;
    FILE *pipe;
    int status;

    pthread_mutex_lock(&lock);
    str_clear(&asked);
    pthread_mutex_unlock(&lock);
    str_addf(&command,
             "cd %s && NO_COLOR=1 TZ=UTC CORGI_X=1 CORGI_TOKEN=secret "
             "CORGI_SOCKET=%s %s %s 2>&1",
             c.folder, c.socket, program, args);
    pipe = popen(str_text(&command), "r");
    assert_non_null(pipe);
    while ((count = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
        str_add_bytes(&out, bytes, count);
    status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
        fail_msg("corgi %s: status %d, want %d\n%s", args, WEXITSTATUS(status), want,
                 str_text(&out));
    str_fini(&command);
    return out.text ? str_take(&out) : mem_strdup("");
}

/* The same, and each of the texts must be in what it printed. */
static void expect(const char *args, int want, const char *first, const char *second)
{
    char *out = corgi(args, want);

    if (!strstr(out, first) || (second && !strstr(out, second)))
        fail_msg("corgi %s\nwant: %s, %s\ngot: %s", args, first, second ? second : "",
                 out);
    free(out);
}

static void expect_asked(const char *text)
{
    pthread_mutex_lock(&lock);
    if (!strstr(str_text(&asked), text)) {
        pthread_mutex_unlock(&lock);
        fail_msg("want %s\nasked %s", text, str_text(&asked));
    }
    pthread_mutex_unlock(&lock);
}

static void write_script(const char *name, const char *text)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", c.folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* ---- tests ------------------------------------------------------------------------- */

CASE(the_examples_satisfy_the_openapi_file)
{
    struct yaml_node *root = openapi_load();

    for (const struct example *e = examples; e->operation; e++) {
        struct json_doc *doc = NULL;
        struct err err = {0};

        if (json_doc_parse(&doc, e->json, strlen(e->json), e->operation, &err) < 0)
            fail_msg("%s", err.text);
        if (e->schema &&
            !openapi_valid(root, openapi_schema(root, e->schema), json_doc_root(doc)))
            fail_msg("%s is not a %s", e->operation, e->schema);
        json_doc_destroy(doc);
    }
    yaml_destroy(root);
}

CASE(submit_sends_commands_and_prints_the_promise)
{
    expect("submit --min-rate 40 -- python train.py --epochs 3", 0, "Submitted job 7",
           "promised  41 steps/s at 90 % confidence");
    expect_asked("POST /v1/jobs rate=40 command=[python][train.py][--epochs][3] "
                 "name=python exported newkey");
    expect("submit --export NONE --json -- true", 0, "{\"job\":{\"id\":7", NULL);
    expect_asked("command=[true] name=true newkey");
    expect("submit --parsable -- true", 0, "7\n", NULL);
}

CASE(submit_reads_the_header_of_a_script)
{
    write_script("train.sh", "#!/bin/bash -e\n#CORGI --min-rate 40 --name 'my run'\n\n"
                             "# a comment\n#CORGI --gpus 2\necho\n#CORGI --bad\n");
    expect("submit train.sh --epochs 3", 0, "Submitted job 7", NULL);
    expect_asked("rate=40 command=[/bin/bash][-e]");
    expect_asked("train.sh][--epochs][3] name=my run");
    expect("submit --min-rate 50 train.sh", 0, "Submitted job 7", NULL);
    expect_asked("rate=50 "); /* the command line wins */
    write_script("bad.sh", "#!/bin/sh\n#CORGI --min-rat 40\n");
    expect("submit bad.sh", 2, "bad.sh line 2: unknown option '--min-rat'",
           "did you mean");
    write_script("quote.sh", "#!/bin/sh\n#CORGI --name 'x\n");
    expect("submit quote.sh", 1, "quote.sh line 2: a quote is not closed", NULL);
    write_script("data.txt", "hello\n");
    expect("submit data.txt", 1, "does not begin with #!", NULL);
    expect("submit python", 1, "there is no script 'python'", "submit -- python");
    expect("submit", 2, "a script, or a command behind --, is missing", NULL);
}

CASE(submit_refuses_contradictions_before_asking)
{
    expect("submit --min-rate 40 --within 8h --steps 5 -- x", 2, "one need", NULL);
    expect("submit --within 8h -- x", 2, "a deadline needs --steps", NULL);
    expect("submit --requests 5 -- x", 2, "--kind inference", NULL);
    expect("submit --steps 5 --deadline tomorrow -- x", 2, "2026-03-01T18:00", NULL);
    expect("submit --min-rate fast -- x", 2, "takes a number", NULL);
}

CASE(submit_shows_counter_offers)
{
    pthread_mutex_lock(&lock);
    counter = true;
    pthread_mutex_unlock(&lock);
    expect("submit --min-rate 40 -- x", 1, "40 steps/s cannot be promised",
           "30 steps/s on v100 at once");
}

CASE(submit_tries_again_with_the_same_key)
{
    lose = 2;
    expect("submit -- x", 0, "Submitted job 7", NULL);
    expect_asked("newkey\nPOST /v1/jobs rate=-1 command=[x] name=x exported samekey\n"
                 "POST /v1/jobs rate=-1 command=[x] name=x exported samekey\n");
}

CASE(submit_can_wait_for_the_end)
{
    expect("submit --wait -- x", 1, "job 7 is failed",
           "('corgi logs 7' shows all):\nepoch 3\nloss 0.25\n");
}

CASE(quote_compares_what_if)
{
    expect("quote --min-rate 40 --family ResNet-50", 0, "accepted", "energy    1 kWh");
    expect("quote --min-rate 40 --what-if gpus=2", 0, "gpus=2", "counter");
    expect("quote --what-if gpus=two", 2, "option --what-if takes", NULL);
}

CASE(queue_lists_and_filters)
{
    expect("queue", 0,
           "JOBID  NAME   USER  STATE    TIME  GPUS  RATE/NEED  ENERGY  WHERE(REASON)",
           "    7  train  ada   running  1:30     1    41.5/40    2 Wh  n1:3 v100");
    expect_asked("GET /v1/jobs rate=-1 command= state=active");
    expect("queue --parsable --me --state running", 0,
           "7|train|ada|running|1:30|1|41.5/40|2 Wh|n1:3 v100", NULL);
    expect_asked("state=running user=ada");
    expect("queue --json", 0, "{\"jobs\":[{\"id\":7", NULL);
    expect("queue --me --user bob", 2, "exclude each other", NULL);
}

CASE(the_others_print_what_they_are_told)
{
    expect(
        "nodes", 0, "n1    awake+drained  1 v100   1/1",
        "together 1 node, 0 asleep; 1 GPU (1 v100): 1 busy, 0 free, 0 asleep; 1 job; ");
    expect("nodes --devices", 0, "awake+drained", "7:train");
    expect("nodes --parsable n1", 0,
           "n1|awake+drained|n1:3|v100|busy|140 W*|150 W|7:train", NULL);
    expect("show 7", 0, "state           running", "command         python train.py");
    expect("show 7", 0, "progress        1,000 of 1,000,000 steps",
           "runs            1 GPU, ");
    expect("show abc", 2, "'abc' is not a job number", "corgi queue --all");
    expect("logs 7", 0, "epoch 3\nloss 0.25\n", NULL);
    expect("show 7 --parsable", 0, "name|train", "gpus|1");
    expect("show 7 --history", 0, "submitted", "waiting");
    expect("show 404", 1, "there is no job 404", NULL);
    expect("why 7", 0, "least energy that keeps 40 steps/s", "too_slow");
    expect("estimates 7", 0, "measured", "100%");
    expect("energy --by user", 0, "100.0%", "together 2 Wh");
    expect("energy --last 7d --parsable", 0, "ada|-|2 Wh", NULL);
}

CASE(control_commands_go_through_all)
{
    expect("cancel 7 8 9 --reason enough", 1, "corgi cancel: 8: job 8 is bob's",
           "9 is running");
    expect_asked("POST /v1/jobs/7/cancel rate=-1 command= reason=enough");
    expect_asked("POST /v1/jobs/9/cancel");
    expect("hold 7", 0, "7 is running", NULL);
    expect("release 7", 0, "7 is", NULL);
    expect("requeue 7", 0, "7 is", NULL);
    expect("cancel seven", 2, "'seven' is not a job number", NULL);
    expect("drain n1 n1:3", 0, "n1 is awake and drained", "n1:3 is busy");
    expect_asked("POST /v1/devices/n1%3A3/drain");
    expect("resume n1", 0, "n1 is", NULL);
}

CASE(operators_have_their_commands)
{
    expect("token make ada --expires 90d", 0, "corgi-0123456789abcdef-x\n", NULL);
    expect("token list --parsable", 0,
           "0123456789abcdef|ada|user|1970-01-01T00:00:00Z|-|-|laptop", NULL);
    expect("token revoke 0123456789abcdef", 0, "is revoked", NULL);
    expect("quota set ada --jobs 20 --gpus none", 0, "the quota of ada is set", NULL);
    expect("quota set ada", 2, "say what to limit", NULL);
    expect("quota set ada --jobs some", 2, "a number from 0 to 1000000, or none", NULL);
    expect("quota list --parsable", 0, "ada|3/20|2/-|2/-", NULL);
    expect("policy show", 0, "confidence         0.8", NULL);
    expect("policy set share=2 sleep=no", 0, "sleep              true", NULL);
    expect("policy set share=9", 1, "share is 9, want 1 to 2", NULL);
    expect("policy set shar=2", 1, "did you mean 'share'", NULL);
    expect("policy set nonsense", 2, "is not KEY=VALUE", NULL);
    expect("policy set power_limit=much", 2, "power_limit=3kW", NULL);
    expect("policy set power_limit=07:00-20:00", 2, "07:00-20:00 12kW", NULL);
    expect("policy show", 0, "power_limit        20 kW",
           "changed            1970-01-01T00:16:40Z");
    expect("policy show", 0, "07:30-20:00 UTC  12 kW", "  now              12 kW");
}

CASE(watch_ends_with_the_job)
{
    expect("watch 7", 1, "job         job 7 train running\n",
           "job         job 7 train failed: exit status 3\n");
    expect("watch --count 1 --json", 0,
           "{\"id\":5,\"type\":\"job\",\"data\":{\"id\":7,\"state\":\"running\"}}", NULL);
    expect("watch seven", 2, "'seven' is not a job number", NULL);
    expect("watch 404", 1, "there is no job 404", NULL);
}

CASE(no_daemon_is_said_with_what_to_do)
{
    expect("queue --socket /nonexistent/s.sock", 1,
           "no daemon listens on the Unix socket /nonexistent/s.sock; start one with "
           "'corgid --config FILE'",
           NULL);
    expect("watch --socket /nonexistent/s.sock", 1, "no daemon listens", NULL);
    expect("queue --url http://127.0.0.1:1", 1, "no daemon listens on http://127.0.0.1:1",
           NULL);
    expect("queue --url nonsense", 1, "is not a URL", NULL);
    expect("queue --url http://x --socket y", 2, "exclude each other", NULL);
}

static int start(void **state)
{
    static const struct server_config config = {.routes = routes};
    const struct sse_config events = {0};

    (void)state;
    http_case_make(&c, &config);
    hub = sse_hub_create(c.reactor, &events);
    http_case_start(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    http_case_stop(&c);
    sse_hub_destroy(hub);
    http_case_end(&c);
    str_fini(&asked);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_satisfy_the_openapi_file),
        cmocka_unit_test(submit_sends_commands_and_prints_the_promise),
        cmocka_unit_test(submit_reads_the_header_of_a_script),
        cmocka_unit_test(submit_refuses_contradictions_before_asking),
        cmocka_unit_test(submit_shows_counter_offers),
        cmocka_unit_test(submit_tries_again_with_the_same_key),
        cmocka_unit_test(submit_can_wait_for_the_end),
        cmocka_unit_test(quote_compares_what_if),
        cmocka_unit_test(queue_lists_and_filters),
        cmocka_unit_test(the_others_print_what_they_are_told),
        cmocka_unit_test(control_commands_go_through_all),
        cmocka_unit_test(operators_have_their_commands),
        cmocka_unit_test(watch_ends_with_the_job),
        cmocka_unit_test(no_daemon_is_said_with_what_to_do),
    };

    if (!find_program()) {
        printf("skipped: the program corgi is not built\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, start, stop);
}
